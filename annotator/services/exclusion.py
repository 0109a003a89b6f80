"""Exclusions: what is left out of the statistics of a study, and why. Reversible; the rows stay."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.models import Exclusion, Item, Judgment, Rater, Study, User


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
    """Leave a rater, an item or one judgment out of the study's statistics.

    Raises ``ValidationError`` without a reason, for none or several of them, for what is not of this study, and
    where it is left out already.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    given = [thing for thing in (rater, item, judgment) if thing is not None]
    if len(given) != 1:
        raise ValidationError("Say what is excluded: a rater, an item or a judgment, exactly one.")
    if not reason.strip():
        raise ValidationError({"reason": "Say why: the reason is kept and shown in reports."})
    if item is not None and item.study_id != study.pk:
        raise ValidationError({"item": "This item is not of this study."})
    if judgment is not None and judgment.study_id != study.pk:
        raise ValidationError({"judgment": "This judgment is not of this study."})
    if rater is not None and not _took_part(study, rater):
        raise ValidationError({"rater": "This rater has no part in this study."})
    target = {"rater": rater, "item": item, "judgment": judgment}
    if Exclusion.objects.filter(study=study, lifted_at__isnull=True, **target).exists():
        raise ValidationError("It is excluded already.")
    exclusion = Exclusion(study=study, created_by=by, reason=reason.strip(), **target)
    exclusion.full_clean()
    exclusion.save()
    return exclusion


def _took_part(study: Study, rater: Rater) -> bool:
    return study.judgments.filter(rater=rater).exists() or study.participations.filter(rater=rater).exists()


@transaction.atomic
def exclusion_lift(*, exclusion: Exclusion) -> Exclusion:
    """Let it count again; lifting it twice changes nothing."""
    exclusion = Exclusion.objects.select_for_update().get(pk=exclusion.pk)
    if exclusion.lifted_at is None:
        exclusion.lifted_at = timezone.now()
        exclusion.save(update_fields=["lifted_at"])
    return exclusion
