"""The researchers' side. Importing this registers every page."""

from annotator.admin import hit_types, people, records, study, workspaces
from annotator.admin.json_text import install_json_fields

install_json_fields()

__all__ = ["hit_types", "people", "records", "study", "workspaces"]
