"""The places that a study's items get, in which order and of which arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.fields.json import KeyTextTransform

from annotator.core.allocation import group_order, seeded_order, shared_draw, whole_order
from annotator.hit_types.arms import ARM_KEY, ARM_TITLES, explained_key
from annotator.models import Item, Study
from annotator.models.replacement import MOST_RATERS
from annotator.models.study_settings.allocation import WholeExplanations


def control_arms_of(rules: Mapping[str, Any]) -> tuple[str, ...]:
    """The control arms of a snapshot. Those of a loaded study are its ``control_arms``; a turn doesn't load these settings.

    >>> control_arms_of({"redundancy": 3, "nothing_raters": 2})
    ('nothing',)
    """
    return tuple(arm for arm in ARM_TITLES if arm and rules.get(f"{arm}_raters"))


def places_planned(study: Study) -> list[tuple[int, int, int]]:
    """Each item's id, position in the study's order and number of raters, in the order of the ids.

    The arms of one item are neighbours, so that a study that is stopped early has nearly all of them. With whole
    explanations, the items of one explanation are neighbours, too. Items that all raters get come before those that are
    divided; checks are for all raters, wherever they are.
    """
    items = study.items.filter(withdrawn_at__isnull=True).order_by("id")
    raters = study.raters_by_arm
    if study.whole_explanations != WholeExplanations.NO:
        return _whole(study, items)
    if len(raters) == 1:
        rows = list(items.values_list("id", "key"))
        positions = seeded_order([key for _, key in rows], seed=study.seed)
        if study.shared_items is not None:
            return _shared_first(study, [pk for pk, _ in rows], positions)
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


def _whole(study: Study, items: QuerySet[Item]) -> list[tuple[int, int, int]]:
    """As ``places_planned``. An explanation is known by the first of its items' keys; an item without one belongs to its
    instance. Items keep the position that they were given at the launch."""
    columns = ("id", "key", KeyTextTransform(ARM_KEY, "payload"), "explanation", "instance")
    rows = list(items.values_list(*columns))
    groups = [
        ("e", one) if one else ("i", instance) if instance else ("k", pk) for pk, _, _, one, instance in rows
    ]
    names: dict[Any, str] = {}
    for group, (_, key, arm, *_) in zip(groups, rows, strict=True):
        name = explained_key(key, arm or "")
        names[group] = min(names.get(group, name), name)
    arms = [arm or "" for _, _, arm, *_ in rows]
    positions = whole_order([row[1] for row in rows], [names[one] for one in groups], arms, seed=study.seed)
    given = dict(study.places.filter(rehearsal=False).values_list("item", "position"))
    raters = study.raters_by_arm
    return [
        (row[0], given.get(row[0], position), raters.get(arm, 0))
        for row, position, arm in zip(rows, positions, arms, strict=True)
    ]


def _shared_first(study: Study, items: Sequence[int], positions: Sequence[int]) -> list[tuple[int, int, int]]:
    rows = study.items.filter(role=Item.Role.ORDINARY).values_list(
        "id", "explanation_id", "condition", "explanation__system_id"
    )
    about = {
        pk: (explained or f"item {pk}", f"{condition} {system}") for pk, explained, condition, system in rows
    }
    shared = _shared_at_launch(study)
    if shared is None:
        ordinary = [index for index, pk in enumerate(items) if pk in about]
        drawn = shared_draw(
            [positions[index] for index in ordinary],
            [about[items[index]][0] for index in ordinary],
            [about[items[index]][1] for index in ordinary],
            count=study.shared_items or 0,
        )
        shared = {items[ordinary[index]] for index in drawn}
    order = sorted(range(len(items)), key=lambda index: (items[index] not in shared, positions[index]))
    place = {items[index]: position for position, index in enumerate(order)}
    return [(pk, place[pk], 1 if pk in about and pk not in shared else study.redundancy) for pk in items]


def _shared_at_launch(study: Study) -> set[int] | None:
    """The items that have several places already, None before the launch: a withdrawn item doesn't change which others all raters get."""
    own = study.places.filter(rehearsal=False, number__lte=MOST_RATERS).order_by()
    if not own.exists():
        return None
    return set(own.values_list("item_id", flat=True).annotate(n=Count("id")).filter(n__gt=1))
