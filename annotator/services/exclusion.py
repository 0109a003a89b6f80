"""Exclude raters, items and judgments from a study's statistics, and lift an exclusion. The rows stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.models import AuditAction, Exclusion, Item, Judgment, Rater, Study, User
from annotator.services.audit import audit_write


@transaction.atomic
def exclusion_make(
    *,
    study: Study,
    by: User | None,
    reason: str,
    rater: Rater | None = None,
    item: Item | None = None,
    judgment: Judgment | None = None,
) -> Exclusion:
    """Exclude a rater, an item or one judgment from the study's statistics.

    Raises ``ValidationError`` unless there is a reason, exactly one of them is given, it belongs to the study and
    it is not excluded yet.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    given = [thing for thing in (rater, item, judgment) if thing is not None]
    if len(given) != 1:
        raise ValidationError("Choose a rater, an item or a judgment: exactly one.")
    if not reason.strip():
        raise ValidationError({"reason": "Give a reason. It is kept and shown in reports."})
    if item is not None and item.study_id != study.pk:
        raise ValidationError({"item": "This item does not belong to this study."})
    if judgment is not None and judgment.study_id != study.pk:
        raise ValidationError({"judgment": "This judgment does not belong to this study."})
    if rater is not None and not _took_part(study, rater):
        raise ValidationError({"rater": "This rater has not taken part in this study."})
    target = {"rater": rater, "item": item, "judgment": judgment}
    if Exclusion.objects.filter(study=study, lifted_at__isnull=True, **target).exists():
        [kind] = [name for name, row in target.items() if row is not None]
        raise ValidationError(f"This {kind} is already excluded.")
    exclusion = Exclusion(study=study, created_by=by, reason=reason.strip(), **target)
    exclusion.full_clean()
    exclusion.save()
    audit_write(action=AuditAction.EXCLUDED, by=by, after={"reason": exclusion.reason}, **_about(exclusion))
    return exclusion


@transaction.atomic
def judgments_exclude(
    *, study: Study, by: User | None, reason: str, judgments: Sequence[Judgment]
) -> list[Exclusion]:
    """Exclude several judgments of the study, all or none; those that are excluded already are passed over.

    Raises ``ValidationError`` without a reason, or if one of them belongs to another study.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    excluded = set(
        Exclusion.objects.filter(study=study, lifted_at__isnull=True, judgment__in=judgments).values_list(
            "judgment", flat=True
        )
    )
    return [
        exclusion_make(study=study, by=by, reason=reason, judgment=judgment)
        for judgment in judgments
        if judgment.pk not in excluded
    ]


def _about(exclusion: Exclusion) -> dict[str, Any]:
    """What the audit trail records about an exclusion."""
    judgment, item = exclusion.judgment, exclusion.item
    target = f"judgment {judgment.pk}" if judgment else f"item {item.key}" if item else "rater"
    return {"study": exclusion.study, "target": target, "rater": exclusion.rater}


def _took_part(study: Study, rater: Rater) -> bool:
    return study.judgments.filter(rater=rater).exists() or study.participations.filter(rater=rater).exists()


@transaction.atomic
def exclusion_reason_set(*, exclusion: Exclusion, reason: str) -> Exclusion:
    """Correct the reason and nothing else, so that lifting it at the same time isn't undone."""
    stored = Exclusion.objects.select_for_update().get(pk=exclusion.pk)
    before, stored.reason = stored.reason, reason
    if before != reason:
        stored.save(update_fields=["reason"])
        audit_write(
            action=AuditAction.EXCLUSION_CHANGED,
            before={"reason": before},
            after={"reason": reason},
            **_about(stored),
        )
    return stored


@transaction.atomic
def exclusion_lift(*, exclusion: Exclusion) -> Exclusion:
    """Lift an exclusion, so that the judgments count again. Safe to call twice."""
    exclusion = Exclusion.objects.select_for_update().get(pk=exclusion.pk)
    if exclusion.lifted_at is None:
        exclusion.lifted_at = timezone.now()
        exclusion.save(update_fields=["lifted_at"])
        before = {"reason": exclusion.reason}
        audit_write(action=AuditAction.EXCLUSION_LIFTED, before=before, **_about(exclusion))
    return exclusion
