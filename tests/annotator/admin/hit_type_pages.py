"""The pages of a workspace's HIT type, and the role in the workspace that each needs."""

from __future__ import annotations

#: page -> role, for GET.
PAGES = {"change/": "viewer", "versions/1/": "viewer", "delete/": "editor"}
#: The same for what is sent by POST.
SENT = {"change/": "editor", "copy/": "viewer", "delete/": "editor"}
