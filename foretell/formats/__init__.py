"""How dates and times are written, for each language."""
