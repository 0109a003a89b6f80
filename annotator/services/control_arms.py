"""The items of a study's control arms, made from its items with the explanation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from annotator.core.words import plural
from annotator.hit_types.arms import ARM_KEY, ARM_TITLES, control_key
from annotator.hit_types.base import HitType
from annotator.models import Item, Judgment, Study
from annotator.selectors.study import declared_hit_type

#: What keys and conditions may have, so that the arm's name can be added.
MOST_KEY, MOST_CONDITION = 180, 80
_BATCH = 2_000
_COPIED = ("instance_id", "explanation_id", "follow_up_id", "parts", "attributes")
_UPDATED = ("payload", "condition", *_COPIED)
_JUDGED = "Clear the rehearsal, or delete the runs and imports that made them."


def control_items_make(*, study: Study) -> int:
    """Make the items of a draft's control arms, or bring them up to date; returns how many there are.

    The caller has locked the study. Checks (gold and attention items) aren't given out in control arms, and items have no correct answer there, since it is
    that to the item with the explanation. Items of arms that the study no longer has are deleted, and so are those made from
    a deleted item. Raises ``ValidationError`` if an item that would change has judgments.
    """
    kind, own = declared_hit_type(study), study.items.filter(payload__has_key=ARM_KEY)
    arms = [arm for arm in study.control_arms if arm in kind.control_arms]
    if not arms:
        _delete(own)
        return 0
    explained = study.items.exclude(payload__has_key=ARM_KEY).filter(
        role=Item.Role.ORDINARY, withdrawn_at__isnull=True
    )
    wanted = set[str]()
    for batch in _batches(explained.order_by("id").iterator(chunk_size=_BATCH)):
        made = [one for item in batch for arm in arms if (one := _control(kind, item, arm))]
        wanted.update(item.key for item in made)
        _store(study, made)
    stored = dict(own.values_list("key", "pk"))
    _delete(own.filter(pk__in=[pk for key, pk in stored.items() if key not in wanted]))
    return len(wanted)


def _control(kind: HitType, item: Item, arm: str) -> Item | None:
    """The item of a control arm; None if the item has no explanation that the arm could leave out."""
    payload = kind.control(item.payload, arm)
    if payload == {**item.payload, ARM_KEY: arm}:
        return None
    for name, value, most in (("key", item.key, MOST_KEY), ("condition", item.condition, MOST_CONDITION)):
        if len(value) > most:
            raise ValidationError(
                f"With control arms, a {name} can have at most {most} characters. Item {item.key[:60]} has {len(value)}."
            )
    title = kind.control_conditions.get(arm) or ", ".join(filter(None, [item.condition, ARM_TITLES[arm]]))
    copied = {name: getattr(item, name) for name in _COPIED}
    return Item(study_id=item.study_id, key=control_key(item.key, arm), payload=payload, condition=title, **copied)  # fmt: skip


def _store(study: Study, made: list[Item]) -> None:
    stored = {item.key: item for item in study.items.filter(key__in=[item.key for item in made])}
    changed = []
    for item in made:
        before = stored.get(item.key)
        if before and any(getattr(before, name) != getattr(item, name) for name in _UPDATED):
            item.pk = before.pk
            changed.append(item)
    judged = Judgment.objects.filter(item__in=[item.pk for item in changed]).values("item").distinct().count()
    if judged:
        raise ValidationError(
            f"{plural(judged, 'item')} of the control arms would change and {'has' if judged == 1 else 'have'} judgments. {_JUDGED}"
        )
    Item.objects.bulk_update(changed, _UPDATED)
    Item.objects.bulk_create([item for item in made if item.key not in stored])


def _delete(items: QuerySet[Item]) -> None:
    if judged := items.filter(judgments__isnull=False).distinct().count():
        raise ValidationError(
            f"{plural(judged, 'item')} of the control arms {'has' if judged == 1 else 'have'} judgments and can't be deleted. {_JUDGED}"
        )
    items.delete()


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, _BATCH)):
        yield batch
