"""The places of a rehearsal: a copy of the study's places that only rehearsal raters use."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from annotator.models import (
    Assignment,
    Exclusion,
    Judgment,
    Message,
    Participation,
    Place,
    Rater,
    Rehearsal,
    Snapshot,
    Study,
    User,
)
from annotator.selectors.arms import places_planned
from annotator.services.study import exam_faults, snapshot_freeze

_PLACES = """
INSERT INTO annotator_place (study_id, item_id, number, position, freed, rehearsal)
SELECT %s, o.item, n, o.position, false, true
FROM unnest(%s::bigint[], %s::int[], %s::int[]) AS o(item, position, raters), generate_series(1, o.raters) AS n
ON CONFLICT DO NOTHING
"""


def rehearsal_faults(study: Study) -> list[str]:
    """Every reason why the study cannot be rehearsed yet."""
    if not study.items.filter(withdrawn_at__isnull=True).exists():
        return ["There are no items yet. Import material first."]
    return exam_faults(study)


@transaction.atomic
def rehearsal_prepare(*, study: Study) -> Study:
    """Create the rehearsal's missing places; a draft also gets the snapshot that judgments refer to.

    Returns the study as stored. Raises ``ValidationError`` with everything that is missing. Safe to call twice.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    faults = rehearsal_faults(study)
    if faults:
        raise ValidationError(faults)
    if study.state == Study.State.DRAFT:
        study.snapshot = snapshot_freeze(study=study, by=None)
        study.save(update_fields=["snapshot"])
    items, positions, raters = map(list, zip(*places_planned(study), strict=True))
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, [study.pk, items, positions, raters])
    return study


@transaction.atomic
def rehearsal_clear(*, study: Study) -> int:
    """Remove everything that rehearsals created in a study; returns how many judgments were removed.

    Participants, imported raters, simulators and the study's own places are untouched. Raises ``ValidationError``
    while a rehearsal is running. Safe to call twice.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.rehearsals.filter(state__in=[Rehearsal.State.QUEUED, Rehearsal.State.RUNNING]).exists():
        raise ValidationError("A rehearsal is running. Stop it first.")
    mine: dict[str, Any] = {"study": study, "rater__rehearsal": True}
    raters = set(Participation.objects.filter(**mine).values_list("rater_id", flat=True))
    judgments = Judgment.objects.filter(**mine)
    Exclusion.objects.filter(judgment__in=judgments).delete()
    Exclusion.objects.filter(**mine).delete()
    removed = judgments.count()
    judgments.delete()
    Place.objects.filter(study=study, rehearsal=True).delete()
    Assignment.objects.filter(participation__study=study, rater__rehearsal=True).delete()
    Message.objects.filter(**mine).delete()
    Participation.objects.filter(**mine).delete()
    _remove_raters(raters)
    study.rehearsals.all().delete()
    if study.state == Study.State.DRAFT:
        study.snapshot = None
        study.save(update_fields=["snapshot"])
        Snapshot.objects.filter(study=study, judgments__isnull=True).delete()
    return removed


def _remove_raters(raters: set[int]) -> None:
    """Delete rehearsal raters that no study uses any more, and their accounts."""
    unused = Rater.objects.filter(
        pk__in=raters,
        rehearsal=True,
        participations__isnull=True,
        judgments__isnull=True,
        ledger__isnull=True,
    )
    users = [pk for pk in unused.values_list("user_id", flat=True) if pk is not None]
    unused.delete()
    User.objects.filter(pk__in=users).delete()
