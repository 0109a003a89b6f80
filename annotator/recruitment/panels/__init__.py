"""The recruitment panels, one file each. ``annotator.recruitment.registry`` finds them."""
