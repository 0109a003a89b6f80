"""The researchers' side. Importing this registers every page."""

from annotator.admin import people, records, study, workspaces
from annotator.admin.json_text import install_json_fields

install_json_fields()

__all__ = ["people", "records", "study", "workspaces"]
