"""Exclude raters, items and judgments from a study's statistics, and lift an exclusion. The rows stay.

An exclusion can open places, so that other people are asked instead: see ``annotator.services.collect_again``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.models import AuditAction, Exclusion, Item, Judgment, Rater, Study, User
from annotator.services.audit import audit_write, audit_write_rows
from annotator.services.collect_again import collected_write, collecting_fault, places_close, places_reopen

_NO_REASON = "Give a reason. It is kept and shown in reports."
_ITEM_AGAIN = "An excluded item isn't asked about again. Exclude a rater or a judgment, or correct the item."


@transaction.atomic
def exclusion_make(
    *,
    study: Study,
    by: User | None,
    reason: str,
    rater: Rater | None = None,
    item: Item | None = None,
    judgment: Judgment | None = None,
    collect_again: bool = False,
) -> Exclusion:
    """Exclude a rater, an item or one judgment from the study's statistics. With ``collect_again``, other people are asked
    instead: each item that this leaves with fewer than k raters gets a place.

    Raises ``ValidationError`` unless there is a reason, exactly one of them is given, it belongs to the study and
    it is not excluded yet; and if places are asked for an item or in a closed study.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    given = [thing for thing in (rater, item, judgment) if thing is not None]
    if len(given) != 1:
        raise ValidationError("Choose a rater, an item or a judgment: exactly one.")
    if not reason.strip():
        raise ValidationError({"reason": _NO_REASON})
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
    if collect_again and (fault := _ITEM_AGAIN if item is not None else collecting_fault(study)):
        raise ValidationError({"collect_again": fault})
    exclusion = Exclusion(study=study, created_by=by, reason=reason.strip(), collect_again=collect_again, **target)  # fmt: skip
    exclusion.full_clean()
    exclusion.save()
    audit_write(action=AuditAction.EXCLUDED, by=by, after={"reason": exclusion.reason}, **_about(exclusion))
    if collect_again:
        opened = places_reopen(exclusions=[exclusion])
        collected_write(study=study, by=by, exclusions=[exclusion], opened=opened)
    return exclusion


@transaction.atomic
def judgments_exclude(
    *,
    study: Study,
    by: User | None,
    reason: str,
    judgments: Sequence[Judgment],
    collect_again: bool = False,
) -> list[Exclusion]:
    """Exclude several judgments of the study, all or none; those that are excluded already are passed over. With
    ``collect_again``, other people are asked instead. The number of queries doesn't depend on theirs.

    Raises ``ValidationError`` without a reason, if one of them belongs to another study, or if places are asked for in a
    closed study.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if not reason.strip():
        raise ValidationError({"reason": _NO_REASON})
    if any(judgment.study_id != study.pk for judgment in judgments):
        raise ValidationError({"judgment": "This judgment does not belong to this study."})
    if collect_again and (fault := collecting_fault(study)):
        raise ValidationError({"collect_again": fault})
    excluded = set(
        Exclusion.objects.filter(study=study, lifted_at__isnull=True, judgment__in=judgments).values_list(
            "judgment", flat=True
        )
    )
    wanted = {judgment.pk: judgment for judgment in judgments if judgment.pk not in excluded}
    made = Exclusion.objects.bulk_create(
        Exclusion(
            study=study, created_by=by, reason=reason.strip(), judgment=one, collect_again=collect_again
        )
        for one in wanted.values()
    )
    after = {"reason": reason.strip()}
    audit_write_rows(
        action=AuditAction.EXCLUDED, study=study, by=by, rows=[(f"judgment {pk}", after) for pk in wanted]
    )
    if collect_again and made:
        opened = places_reopen(exclusions=made)
        collected_write(study=study, by=by, exclusions=made, opened=opened)
    return made


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
    """Lift an exclusion, so that the judgments count again. Safe to call twice.

    Judgments that others have made in their place, or are making, stay and count too; places that nobody has taken are closed.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=exclusion.study_id)
    exclusion = Exclusion.objects.select_for_update().get(pk=exclusion.pk)
    if exclusion.lifted_at is None:
        exclusion.lifted_at = timezone.now()
        exclusion.save(update_fields=["lifted_at"])
        closed = places_close(study=study) if exclusion.collect_again else 0
        audit_write(
            action=AuditAction.EXCLUSION_LIFTED,
            before={"reason": exclusion.reason},
            after={"places closed": closed} if exclusion.collect_again else None,
            **_about(exclusion),
        )
    return exclusion
