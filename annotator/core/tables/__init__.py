"""Files of rows: one reader for every format, with one class of errors."""
