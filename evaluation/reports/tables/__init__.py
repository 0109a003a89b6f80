"""The papers' tables, one file each, named after paper and number."""
