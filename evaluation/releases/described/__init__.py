"""What a release says of itself to other tools: Croissant, Frictionless, DataCite, RO-Crate, a citation, a methods paragraph, scripts."""
