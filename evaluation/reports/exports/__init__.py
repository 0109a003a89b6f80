"""A stored report as a file: CSV, JSON, LaTeX, plain text, one self-contained HTML page."""
