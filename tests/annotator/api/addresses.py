"""The addresses of the API, and the role that each needs."""

from __future__ import annotations

#: (name, method, needed role); every address of the API that belongs to a study is here.
OF_STUDY = [
    ("study-detail", "get", "viewer"),
    ("study-detail", "patch", "editor"),
    ("study-launch", "post", "editor"),
    ("study-pause", "post", "editor"),
    ("study-resume", "post", "editor"),
    ("study-close", "post", "editor"),
    ("study-progress", "get", "viewer"),
    ("study-items", "get", "viewer"),
    ("images", "get", "viewer"),
    ("images", "post", "editor"),
    ("material_import", "post", "editor"),
    ("uploads", "post", "editor"),
    ("upload_pieces", "put", "editor"),
    ("file_import", "get", "editor"),
    ("file_import_cancel", "post", "editor"),
    ("file_import_problems", "get", "editor"),
    ("judgments", "get", "viewer"),
    ("judgments_import", "post", "editor"),
    ("judgments_export", "get", "viewer"),
    ("exclusions", "get", "viewer"),
    ("exclusions", "post", "reviewer"),
    ("exports", "get", "viewer"),
    ("exports", "post", "viewer"),
    ("exclusion_lift", "post", "reviewer"),
]
OF_OWNER = [("export", "get"), ("export_file", "get")]
OPEN = {"schema", "docs", "hit_types", "study-list"}
