"""The researcher's pages about one study: imports, items, judgments, raters, exclusions, exports; and the API token."""
