"""The Python client: alone, and against a running installation."""
