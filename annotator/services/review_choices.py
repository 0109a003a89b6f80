"""What the review desk decides besides pay: exclude people from the analysis, and revoke or grant their qualification again."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.errors import Refused
from annotator.models import Participation, Qualification, Rater, Study, User
from annotator.services.exam import qualification_grant, qualification_revoke
from annotator.services.exclusion import exclusion_make


@transaction.atomic
def people_exclude(
    *, study: Study, by: User | None, raters: Sequence[int], reason: str, collect_again: bool = False
) -> int:
    """Exclude participants from the study's statistics, all or none; whoever is excluded already is passed over. Pay doesn't change.
    Returns how many were. Raises ``ValidationError`` as ``exclusion_make`` does, and for somebody who doesn't take part."""
    found = _people(study, raters)
    covered = set(study.exclusions.filter(lifted_at=None, rater__in=found).values_list("rater", flat=True))
    for rater in found:
        if rater.pk not in covered:
            exclusion_make(study=study, by=by, reason=reason, rater=rater, collect_again=collect_again)
    return len(found) - len(covered)


@transaction.atomic
def qualification_toggle(
    *, study: Study, by: User | None, raters: Sequence[int], grant: bool, reason: str
) -> int:
    """Revoke the participants' qualifications for the study's HIT type in its workspace, or grant them again; all or none. Returns how
    many people it concerned. Without one they get no more tasks that need it. Raises ``ValidationError``."""
    if not reason.strip():
        raise ValidationError({"reason": "Give a reason. It is kept with the qualification."})
    found, changed = _people(study, raters), 0
    states = qualification_states(study=study, raters=[one.pk for one in found])
    for rater in found:
        if grant and states.get(rater.pk) == "revoked":
            qualification_grant(
                rater=rater, hit_type=study.hit_type, workspace=study.workspace, by=by, reason=reason.strip()
            )
            changed += 1
        if not grant and states.get(rater.pk) == "valid":
            held = Qualification.objects.filter(
                rater=rater, hit_type=study.hit_type, workspace=study.workspace_id, revoked_at=None
            )
            try:
                for one in held:
                    qualification_revoke(qualification=one, reason=reason, by=by)
            except Refused as refused:
                raise ValidationError(str(refused)) from None
            changed += 1
    if not changed:
        raise ValidationError(
            "None of them has a qualification that was revoked."
            if grant
            else "None of them holds a qualification for this study."
        )
    return changed


def qualification_states(*, study: Study, raters: Sequence[int]) -> dict[int, str]:
    """Rater -> ``valid`` or ``revoked``, for those who have a qualification of the study's HIT type in its workspace; one query."""
    rows = Qualification.objects.filter(
        rater__in=raters, hit_type=study.hit_type, workspace=study.workspace_id
    )
    found: dict[int, str] = {}
    for rater, revoked in rows.values_list("rater", "revoked_at"):
        found[rater] = "valid" if revoked is None or found.get(rater) == "valid" else "revoked"
    return found


def _people(study: Study, raters: Sequence[int]) -> list[Rater]:
    wanted = set(raters)
    if not wanted:
        raise ValidationError("Select at least one person.")
    taking_part = Participation.objects.filter(study=study, rater__rehearsal=False, rater__in=wanted)
    found = list(Rater.objects.filter(pk__in=taking_part.values("rater")).order_by("pk"))
    if len(found) < len(wanted):
        raise ValidationError("A selected person doesn't take part in this study.")
    return found
