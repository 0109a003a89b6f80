"""A whole study with its people in one encrypted file, for another installation of the same lab or to be kept after archiving."""
