"""The papers' figures, one file each, named after paper and number."""
