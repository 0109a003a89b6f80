"""A workspace to its backup and back: time, memory and size."""
