"""Researchers' pages of results: reports of a study, and their parts."""
