"""The places that a study's items get, in which order and of which arm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models.fields.json import KeyTextTransform

from annotator.core.allocation import group_order, seeded_order
from annotator.hit_types.arms import ARM_KEY, ARM_TITLES, explained_key
from annotator.models import Study


def control_arms_of(rules: Mapping[str, Any]) -> tuple[str, ...]:
    """The control arms of a snapshot. Those of a loaded study are its ``control_arms``; a turn doesn't load these settings.

    >>> control_arms_of({"redundancy": 3, "nothing_raters": 2})
    ('nothing',)
    """
    return tuple(arm for arm in ARM_TITLES if arm and rules.get(f"{arm}_raters"))


def places_planned(study: Study) -> list[tuple[int, int, int]]:
    """Each item's id, position in the study's order and number of raters, in the order of the ids.

    The arms of one item are neighbours, so that a study that is stopped early has nearly all of them.
    """
    items = study.items.filter(withdrawn_at__isnull=True).order_by("id")
    raters = study.raters_by_arm
    if len(raters) == 1:
        rows = list(items.values_list("id", "key"))
        positions = seeded_order([key for _, key in rows], seed=study.seed)
        return [(pk, position, study.redundancy) for (pk, _), position in zip(rows, positions, strict=True)]
    named = [
        (pk, key, arm or "")
        for pk, key, arm in items.values_list("id", "key", KeyTextTransform(ARM_KEY, "payload"))
    ]
    groups = [explained_key(key, arm) for _, key, arm in named]
    positions = group_order([key for _, key, _ in named], groups, seed=study.seed)
    return [
        (pk, position, raters.get(arm, 0)) for (pk, _, arm), position in zip(named, positions, strict=True)
    ]
