"""Which answers are free text: written by somebody, not chosen from a list."""

from __future__ import annotations

from typing import Any

from annotator.hit_types.base import HitType


def fields_by_kind(kind: HitType | None, payload: dict[str, Any]) -> dict[str, bool]:
    """The fields of an item -> whether they are answered in words; without those that its type doesn't know. Labels that were
    collected elsewhere have none."""
    if kind is None or kind.external:
        return {}
    return {field.name: field.kind == "text" for stage in kind.every_stage(payload) for field in stage.fields}
