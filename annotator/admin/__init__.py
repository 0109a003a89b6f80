"""The researchers' side. Importing this registers every page."""

from annotator.admin import people, records, study, workspaces

__all__ = ["people", "records", "study", "workspaces"]
