"""The researcher's pages beside a study's home: imports, rows in words, raters, exclusions, exports, the API token."""
