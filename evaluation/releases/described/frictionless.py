"""``datapackage.json``: the release as a Frictionless data package (version 1 of the specification)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evaluation.releases.described.description import Description
from evaluation.releases.described.kinds import encoding, what


def frictionless(facts: Description, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The document. ``files`` maps each file's name to its ``sha256`` and ``bytes``."""
    licence = facts.licence
    found: dict[str, Any] = {
        "profile": "data-package",
        "name": re.sub(r"[^a-z0-9._-]", "-", facts.name.lower()),
        "title": facts.title,
        "description": facts.abstract,
        "version": "1.0.0",
        "contributors": [
            {"title": shown_creator.full_name, "role": "author"} for shown_creator in facts.shown_creators
        ],
        "resources": [_resource(facts, name, known) for name, known in files.items()],
    }
    if licence.spdx or licence.url:
        found["licenses"] = [{"name": licence.spdx, "path": licence.url, "title": licence.said}]
        found["licenses"] = [{name: text for name, text in found["licenses"][0].items() if text}]
    return found


def _resource(facts: Description, name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": re.sub(r"[^a-z0-9._-]", "-", name.lower()),
        "path": name,
        "type": "file",
        "description": what(name),
        "mediatype": encoding(name),
        "encoding": "utf-8",
        "bytes": known["bytes"],
        "hash": f"sha256:{known['sha256']}",
    }
    if name == "ratings.csv":
        fields = [
            {"name": column, "type": "string", "description": text} for column, text in facts.columns.items()
        ]
        found |= {
            "profile": "tabular-data-resource",
            "type": "table",
            "format": "csv",
            "schema": {"fields": fields, "missingValues": [""]},
        }
    return found
