"""Files that come in: readers, material, judgments."""
