"""A report as JSON: the stored content, with its provenance in every number's cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: The rule of figures of single ratings (agreement, counts).
NOT_AGGREGATED = "not aggregated"


def render(content: Mapping[str, Any]) -> str:
    """The whole report; numbers aren't rounded, and undefined ones are null with a reason."""
    return json.dumps(with_provenance(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _with_rule(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell with its rule; cells of single ratings say so."""
    return {**cell, "rule": cell["rule"] or NOT_AGGREGATED}


def provenance(content: Mapping[str, Any]) -> dict[str, str]:
    """The provenance common to all cells of a report: exclusions on or off, the hash of the inputs, the software."""
    facts = dict(content["facts"])
    return {
        "exclusions": facts.get("Exclusions", ""),
        "inputs": facts.get("Inputs", ""),
        "software": facts.get("Software", ""),
    }


def with_provenance(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with ``exclusions``, ``inputs`` and ``software`` in each number's cell, so that a cell can be copied
    on its own."""
    same = provenance(content)

    def table(block: Mapping[str, Any]) -> dict[str, Any]:
        rows = [
            {
                **row,
                "cells": [
                    _with_rule(cell) | same if cell["kind"] == "number" else cell for cell in row["cells"]
                ],
            }
            for row in block["rows"]
        ]
        return {**block, "rows": rows}

    return {
        **content,
        "sections": [
            {**section, "blocks": [table(b) if b["kind"] == "table" else b for b in section["blocks"]]}
            for section in content["sections"]
        ],
    }
