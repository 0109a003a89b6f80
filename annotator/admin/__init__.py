"""The researchers' side. Importing this registers every page, and the page on which they log in."""

from annotator.accounts.login import install_admin_login
from annotator.admin import hit_types, people, records, study, workspaces
from annotator.admin.json_text import install_json_fields

install_json_fields()
install_admin_login()

__all__ = ["hit_types", "people", "records", "study", "workspaces"]
