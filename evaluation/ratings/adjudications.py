"""Adjudicators' labels as the units of ratings tables have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotator.hit_types.base import HitType
from annotator.models import Adjudication
from annotator.selectors.adjudication import Labels, labels_of, settled
from evaluation.ratings.items import Items


@dataclass(frozen=True)
class AdjudicatedItem:
    """The labels that adjudicators gave to an item. ``item`` is its number; ``given`` has (adjudicator's number, seat, labels) in
    order of seat, and ``settled`` the labels that two of them gave, by (variable, unit suffix).
    """

    item: int
    given: tuple[tuple[int, int, Labels], ...]
    settled: Labels


def adjudications_load(items: Items, kind: HitType) -> tuple[AdjudicatedItem, ...]:
    """The adjudications of a study that weren't undone, in order of item; one query. An item's state is computed from its rows."""
    rows = Adjudication.objects.filter(study=items.study, undone_at__isnull=True).order_by("item", "seat")
    found = list(rows.values_list("item", "item__payload", "adjudicator", "seat", "response"))
    numbers = items.numbers(np.array([row[0] for row in found], dtype=np.int64)).tolist()
    by_item: dict[int, list[tuple[int, int, Labels]]] = {}
    for number, (_, payload, adjudicator, seat, response) in zip(numbers, found, strict=True):
        by_item.setdefault(number, []).append((adjudicator, seat, labels_of(kind, payload, response)))
    return tuple(
        AdjudicatedItem(number, tuple(given), settled(labels for _, _, labels in given))
        for number, given in sorted(by_item.items())
    )
