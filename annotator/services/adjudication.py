"""Record and undo adjudications: labels that settle what raters disagree on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotator.hit_types.base import JSON, FieldErrors, HitType
from annotator.hit_types.confidence import without_confidence
from annotator.models import Adjudication, AuditAction, Item, Membership, Study, User
from annotator.models.adjudication import MOST_ADJUDICATORS
from annotator.selectors.adjudication import (
    adjudicated_items,
    adjudicators_presentation,
    is_contested,
    labels_digest,
    may_adjudicate,
)
from annotator.selectors.study import ROLES, study_hit_type, study_role
from annotator.services.audit import audit_write
from annotator.services.study_copy import study_duplicate

#: A person can take their last label back for this long, and only until somebody else has labelled the item.
UNDO = timedelta(minutes=10)


@transaction.atomic
def adjudication_record(*, item: Item, by: User, raw: Mapping[str, Any]) -> Adjudication:
    """Record a person's labels of a contested item, all stages at once, and audit it; all or nothing.

    The first two people get seats 1 and 2, the person who settles their tie seat 3. Raises ``FieldErrors`` for an answer that
    the task's own parser refuses, and ``ValidationError`` if the person has no role as reviewer, judged or adjudicated the item
    before, or the item isn't contested or needs nobody else.
    """
    # One at a time in a study: seats and pseudonyms are numbered.
    study = Study.objects.select_for_update().get(pk=item.study_id)
    kind = study_hit_type(study)
    _check(study, kind, item, by)
    response = kind.parse_whole(item.payload, raw, adjudicators_presentation(study, kind, item))
    taken = Adjudication.objects.filter(item=item, undone_at__isnull=True).values_list("seat", flat=True)
    free = next(seat for seat in range(1, MOST_ADJUDICATORS + 1) if seat not in set(taken))
    made = Adjudication(
        study=study,
        item=item,
        by=by,
        adjudicator=_number(study, by),
        seat=free,
        response=response,
        digest=labels_digest(kind, item.payload, response),
    )
    made.full_clean()
    made.save()
    audit_write(
        action=AuditAction.ADJUDICATED,
        study=study,
        by=by,
        target=f"item {item.key}",
        after={"adjudication": made.pk, "round": made.round},
    )
    return made


def _check(study: Study, kind: HitType, item: Item, by: User) -> None:
    role = study_role(user=by, study=study)
    if role is None or ROLES.index(role) < ROLES.index(Membership.Role.REVIEWER):
        raise ValidationError("Adjudicating needs at least the role reviewer in this study.")
    if kind.external:
        raise ValidationError(
            "The labels of this study were collected elsewhere, so it has no task to adjudicate with."
        )
    if fault := may_adjudicate(item=item, user=by):
        raise ValidationError(fault)
    if not is_contested(item=item):
        raise ValidationError(
            "This item isn't contested: people gave it no two different answers that count."
        )


def _number(study: Study, by: User) -> int:
    """The person's number among the study's adjudicators, which they keep."""
    every = Adjudication.objects.filter(study=study)
    own = every.filter(by=by).values_list("adjudicator", flat=True).first()
    return own or (every.aggregate(last=Max("adjudicator"))["last"] or 0) + 1


@transaction.atomic
def adjudication_undo(*, adjudication: Adjudication, by: User) -> Adjudication:
    """Take one's own label back, so that the item can be labelled again; the row stays. Safe to call twice.

    Raises ``ValidationError`` if it is somebody else's, ``UNDO`` is over, or somebody has labelled the item since.
    """
    Study.objects.select_for_update().get(pk=adjudication.study_id)
    stored = (
        Adjudication.objects.select_for_update(of=("self",))
        .select_related("item", "study")
        .get(pk=adjudication.pk)
    )
    if stored.by_id != by.pk:
        raise ValidationError("You can only undo your own labels.")
    if stored.undone_at is not None:
        return stored
    if timezone.now() - stored.created_at > UNDO:
        raise ValidationError("It is too late to undo this label. It stays as it is.")
    if Adjudication.objects.filter(item=stored.item_id, undone_at__isnull=True, pk__gt=stored.pk).exists():
        raise ValidationError(
            "Another adjudicator has labelled this item since, so your label stays as it is."
        )
    stored.undone_at = timezone.now()
    stored.save(update_fields=["undone_at"])
    audit_write(
        action=AuditAction.ADJUDICATION_UNDONE,
        study=stored.study,
        by=by,
        target=f"item {stored.item.key}",
        before={"adjudication": stored.pk, "round": stored.round},
    )
    return stored


def last_undoable(*, study: Study, by: User) -> Adjudication | None:
    """The person's last label in the study, if they can still take it back."""
    last = Adjudication.objects.filter(study=study, by=by, undone_at__isnull=True).order_by("-id").first()
    if last is None or timezone.now() - last.created_at > UNDO:
        return None
    since = Adjudication.objects.filter(item=last.item_id, undone_at__isnull=True, pk__gt=last.pk)
    return None if since.exists() else last


@transaction.atomic
def adjudicated_to_gold(*, study: Study, by: User, slug: str, title: str) -> tuple[Study, int]:
    """A new draft with the study's settings and material, in which the decided items are gold items; returns it with their number.

    An item's gold is the answer that two adjudicators agree on, without texts in people's own words, which aren't graded. Raises
    ``ValidationError`` if no item is decided, or as ``study_duplicate`` does; then nothing is made.
    """
    kind = study_hit_type(study)
    gold = {}
    for adjudicated_item in adjudicated_items(study=study):
        answer = (
            gold_of(kind, adjudicated_item.item.payload, adjudicated_item.response)
            if adjudicated_item.response
            else {}
        )
        if answer:
            version = f".v{adjudicated_item.item.version}" if adjudicated_item.item.version > 1 else ""
            gold[adjudicated_item.item.key.removesuffix(version)] = answer
    if not gold:
        raise ValidationError(
            "No item is decided yet, so there is no gold to copy. Adjudicate contested items first."
        )
    copy = study_duplicate(study=study, by=by, slug=slug, title=title, material=True)
    items = list(copy.items.filter(key__in=gold))
    for item in items:
        item.role, item.gold = Item.Role.GOLD, gold[item.key]
    Item.objects.bulk_update(items, ["role", "gold"], batch_size=2_000)
    audit_write(
        action=AuditAction.ADJUDICATION_COPIED,
        study=copy,
        by=by,
        after={"from": study.slug, "items": len(items)},
    )
    return copy, len(items)


def gold_of(kind: HitType, payload: JSON, response: JSON) -> JSON:
    """The correct answer that a decided response makes: its chosen answers, without texts in people's own words; empty if it makes
    none, such as an answer to a question whose condition the two answered differently."""
    chosen = {
        field.name for stage in kind.every_stage(payload) for field in stage.fields if field.kind != "text"
    }
    kept = {name: value for name, value in response.items() if name in chosen}
    try:
        return without_confidence(kind).parse_gold(payload, kept) if kept else {}
    except FieldErrors:
        return {}
