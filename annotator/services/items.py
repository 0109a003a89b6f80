"""Change the items of a study: edit and delete in a draft; withdraw and correct once it is launched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import ProtectedError
from django.utils import timezone

from annotator.core.canonical import digest_of
from annotator.hit_types.arms import arm_of, explained_key
from annotator.hit_types.base import JSON, FieldErrors
from annotator.hit_types.images import image_columns, images_resolve
from annotator.hit_types.questions import payload_fault
from annotator.models import Assignment, AuditAction, Exclusion, Item, Message, Place, Study, User
from annotator.models.replacement import MOST_RATERS
from annotator.selectors.study import study_hit_type
from annotator.selectors.uploaded_images import images_of
from annotator.services.assignment_lock import tasks_and_places_lock
from annotator.services.audit import audit_write
from annotator.services.collect_again import corrected_places_open
from annotator.services.control_arms import control_items_make
from annotator.services.follow_up_correct import follow_up_corrected
from annotator.services.study import snapshot_freeze

_JUDGED = "It has judgments. Clear the rehearsal, or delete the runs and imports that made them."


@transaction.atomic
def item_edit(*, item: Item, payload: JSON, gold: Mapping[str, Any] | None) -> Item:
    """Change an item of a draft. Raises ``ValidationError`` with the error of ``payload`` or ``gold``."""
    study = _draft(item.study_id)
    item = study.items.select_for_update().get(pk=item.pk)
    _refuse_control(item)
    if item.judgments.exists():
        raise ValidationError(f"The item can't be changed. {_JUDGED}")
    before = {"payload": item.payload, "gold": item.gold}
    payload, gold = _content(study, payload, gold)
    item.follow_up = follow_up_corrected(kind=study_hit_type(study), item=item, payload=payload)
    item.payload, item.gold = payload, gold
    item.save(update_fields=["payload", "gold", "follow_up"])
    control_items_make(study=study)
    after = {"payload": item.payload, "gold": item.gold}
    audit_write(action=AuditAction.ITEM_CHANGED, study=study, target=item.key, before=before, after=after)
    return item


@transaction.atomic
def item_delete(*, item: Item) -> None:
    """Delete an item of a draft. Raises ``ValidationError`` if it has judgments."""
    study = _draft(item.study_id)
    _refuse_control(item)
    try:
        study.items.get(pk=item.pk).delete()
        control_items_make(study=study)
    except ProtectedError:
        raise ValidationError(f"The item can't be deleted. {_JUDGED}") from None
    audit_write(
        action=AuditAction.ITEM_DELETED,
        study=study,
        target=item.key,
        before={"payload": item.payload, "gold": item.gold},
    )


def _refuse_control(item: Item) -> None:
    if arm := arm_of(item.payload):
        raise ValidationError(
            f"This item of a control arm is made from item {explained_key(item.key, arm)}. Change that one."
        )


@transaction.atomic
def items_clear(*, study: Study) -> int:
    """Delete all items of a draft; returns how many. Raises ``ValidationError`` if some have judgments."""
    study = _draft(study.pk)
    removed = study.items.count()
    try:
        study.items.all().delete()
    except ProtectedError:
        raise ValidationError(f"The items can't be replaced. {_JUDGED}") from None
    audit_write(action=AuditAction.ITEMS_CLEARED, study=study, before={"items": removed})
    return removed


@transaction.atomic
def item_withdraw(*, item: Item, by: User | None, reason: str) -> Item:
    """Stop giving out an item. Its judgments are kept and paid, but excluded from statistics. People who have it open
    can still submit; those judgments are also kept and paid, but not counted. Withdrawing twice changes nothing.
    Raises ``ValidationError``.
    """
    study = _launched(item.study_id)
    item = study.items.get(pk=item.pk)
    if item.withdrawn_at is not None:
        return item
    reason = reason.strip()
    if not reason:
        raise ValidationError({"reason": "Give a reason. It is kept with the item and shown in reports."})
    _withdraw(study, item, by, reason)
    _new_version(study, by)
    audit_write(
        action=AuditAction.ITEM_WITHDRAWN, study=study, by=by, target=item.key, after={"reason": reason}
    )
    return item


def _withdraw(study: Study, item: Item, by: User | None, reason: str) -> None:
    leased, places = tasks_and_places_lock(item)
    now = timezone.now()
    Assignment.objects.filter(pk__in=leased).update(
        state=Assignment.State.EXPIRED, closed_at=now, reason="the item was withdrawn"
    )
    Place.objects.filter(pk__in=places, judgment__isnull=True).delete()
    item.withdrawn_at, item.withdrawn_by, item.withdrawn_reason = now, by, reason
    item.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_reason"])
    if not study.exclusions.filter(item=item, lifted_at__isnull=True).exists():
        Exclusion.objects.create(study=study, item=item, reason=f"withdrawn: {reason}", created_by=by)


@transaction.atomic
def item_correct(
    *, item: Item, by: User | None, reason: str, payload: JSON, gold: Mapping[str, Any] | None
) -> Item:
    """Replace an item of a launched study by a corrected version of it; returns the new version.

    The previous version is withdrawn and keeps its judgments. The new one has the same material, places for people who
    haven't had the item yet, and a key that ends in its version (``owl-3.v2``). Problems that annotators reported with the item are settled. Raises ``ValidationError``.
    """
    study = _launched(item.study_id)
    item = study.items.get(pk=item.pk)
    if Item.objects.filter(replaces=item).exists():
        raise ValidationError("A newer version replaces this item. Correct that one.")
    reason = reason.strip()
    if not reason:
        raise ValidationError(
            {"reason": "Say what was wrong. It is kept with the item and shown in reports."}
        )
    payload, gold = _content(study, payload, gold)
    if digest_of([payload, gold]) == digest_of([item.payload, item.gold]):
        raise ValidationError("Nothing was changed.")
    own = list(item.places.filter(rehearsal=False, number__lte=MOST_RATERS).order_by("number"))
    position = own[0].position if own else 0
    raters = len(own) if study.shared_items is not None else study.raters_by_arm.get(arm_of(payload), 0)
    if item.withdrawn_at is None:
        _withdraw(study, item, by, reason)
    version = item.version + 1
    corrected = Item(
        study=study, key=f"{item.key.removesuffix(f'.v{item.version}')}.v{version}", payload=payload, gold=gold,
        role=item.role, condition=item.condition, instance_id=item.instance_id, explanation_id=item.explanation_id,
        follow_up=follow_up_corrected(kind=study_hit_type(study), item=item, payload=payload), parts=item.parts, attributes=item.attributes, version=version, replaces=item,
    )  # fmt: skip
    corrected.full_clean(exclude=["payload", "gold", "parts"])
    corrected.save()
    corrected_places_open(study=study, old=item, new=corrected, position=position, raters=raters)
    item.messages.filter(kind=Message.Kind.FLAG, settled_at__isnull=True).update(settled_at=timezone.now())
    _new_version(study, by)
    audit_write(
        action=AuditAction.ITEM_CORRECTED,
        study=study,
        by=by,
        target=corrected.key,
        before={"payload": item.payload, "gold": item.gold},
        after={"payload": payload, "gold": gold, "reason": reason},
    )
    return corrected


def _content(study: Study, payload: JSON, gold: Mapping[str, Any] | None) -> tuple[JSON, JSON | None]:
    """Payload and gold as they are stored; raises ``ValidationError``."""
    kind = study_hit_type(study)
    if fault := payload_fault(kind, payload):
        raise ValidationError({"payload": f"The item {fault}."})
    if fault := kind.variant_fault(payload, study.variant):
        raise ValidationError({"payload": f"The item's {kind.variant_field} {fault}."})
    if image_columns(payload):
        payload, faults = images_resolve(payload, images_of(study=study))
        if faults:
            raise ValidationError({"payload": [f"{name}: {text}" for name, text in faults.items()]})
    if not gold:
        return payload, None
    try:
        return payload, kind.parse_gold(payload, gold)
    except FieldErrors as error:
        raise ValidationError({"gold": [f"{name}: {text}" for name, text in error.errors.items()]}) from None


def _draft(pk: int) -> Study:
    study = Study.objects.select_for_update().get(pk=pk)
    if study.state != Study.State.DRAFT:
        raise ValidationError(f"The study is {study.state}. Only items of a draft can be edited or deleted.")
    return study


def _launched(pk: int) -> Study:
    # NO KEY: an answer's foreign key to the study mustn't wait for us, who may be waiting for that answer's transaction.
    study = Study.objects.select_for_update(no_key=True).get(pk=pk)
    if study.state not in (Study.State.LIVE, Study.State.PAUSED):
        raise ValidationError(
            f"The study is {study.state}. Only items of a live or paused study can be withdrawn or corrected."
        )
    return study


def _new_version(study: Study, by: User | None) -> None:
    study.snapshot = snapshot_freeze(study=study, by=by)
    study.save(update_fields=["snapshot"])
