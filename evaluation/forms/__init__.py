"""Researchers' forms."""
