"""Sections that need several studies."""
