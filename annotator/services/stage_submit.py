"""Submit the answer to one stage of a task; the last stage creates the judgment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import get_language, gettext

from annotator.core.behaviour import LONGEST, signals_clean, signals_total
from annotator.core.canonical import digest_of
from annotator.core.errors import Conflict, ConsentOutdated, Refused
from annotator.core.prepared import prepared_cursor
from annotator.hit_types.base import JSON
from annotator.hit_types.confidence import answer_of
from annotator.models import Assignment, Judgment, Participation, Place, StageCommit
from annotator.selectors.consent import consented
from annotator.selectors.instructions import instructions_known
from annotator.selectors.qualification import may_work
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type
from annotator.selectors.study_texts import consent_digests
from annotator.services.assignment_lock import assignment_lock
from annotator.services.budget import budget_admits, pay_for_item


@dataclass(frozen=True)
class Submitted:
    """The result of a submit: the assignment and, after the last stage, its judgment."""

    assignment: Assignment
    judgment: int | None
    standing: str = ""
    repeated: bool = False

    @property
    def finished(self) -> bool:
        return self.judgment is not None


def stage_submit(
    *,
    user_id: int,
    assignment_pk: int,
    stage: int,
    raw: Mapping[str, Any],
    signals: JSON | None = None,
    undone: int | None = None,
) -> Submitted:
    """Submit the answer to one stage of an assignment, within the caller's transaction; the last stage's answer creates the
    judgment. Sending the same answer again changes nothing and returns the same result; a different answer is a
    ``Conflict``. After the lease has ended, the judgment counts if the item has a free place, and otherwise is kept as
    surplus. ``undone`` says how often the task had been undone when its form was shown: a copy of a submit that arrives
    after the undo is a ``Conflict`` and doesn't bring the answer back.

    Raises ``Refused`` (not_found, removed, left, not_qualified, not_now) and ``FieldErrors``; then nothing is written. If the
    consent text has changed and the person hasn't agreed to the new one, raises ``ConsentOutdated``, which holds the
    answer.
    """
    assignment = assignment_lock(user_id=user_id, pk=assignment_pk)
    item = assignment.item
    kind = study_hit_type(assignment.participation.study)
    stages = kind.stage_names(item.payload, assignment.presentation)
    if not 0 <= stage < len(stages):
        raise Refused("not_now", gettext("This task has no such step. Open the task again."))
    if stage > assignment.stage:
        raise Refused("not_now", gettext("Answer the previous step first."))
    response = kind.parse_response(item.payload, raw, stage, assignment.presentation)
    if stage < assignment.stage or assignment.state == Assignment.State.SUBMITTED:
        return _repeated(assignment, stage, response)
    if undone is not None and undone != assignment.taken_back:
        raise Conflict(
            gettext("You undid this answer, so it wasn't saved again. Open the task to answer it.")
        )
    if assignment.participation.state == Participation.State.REMOVED:
        raise Refused("removed", gettext("The researchers have ended your participation in this study."))
    if assignment.participation.state == Participation.State.LEFT:
        raise Refused(
            "left",
            gettext(
                "You left this study before you submitted this answer, so it wasn't saved and doesn't count."
            ),
        )
    qualified = _still_qualified(assignment)
    if not qualified and assignment.participation.study.revoked_work == "refuse":
        raise Refused(
            "not_qualified",
            gettext("Your qualification for this study was revoked, so this task can't be submitted."),
        )
    if not _consent_holds(assignment):
        raise ConsentOutdated(
            gettext(
                "The consent text has changed. Your answer is saved, but not submitted: read the new text first, then"
                " submit the answer."
            ),
            answer=response,
        )

    if stage + 1 == len(stages):
        _late_within_cap(assignment)

    now = timezone.now()
    seconds = min(round((now - assignment.stage_opened_at).total_seconds(), 3), LONGEST)
    if stage + 1 < len(stages):
        StageCommit.objects.create(
            assignment=assignment,
            stage=stage,
            response=response,
            seconds=seconds,
            signals=signals_clean(signals),
        )
        assignment.stage += 1
        assignment.stage_opened_at = now
        assignment.draft = {}
        assignment.save(update_fields=["stage", "stage_opened_at", "draft"])
        return Submitted(assignment, None)

    whole: JSON = {}
    stage_seconds = {}
    pages = {}
    if stage:
        for commit in assignment.commits.all():
            whole |= commit.response
            stage_seconds[stages[commit.stage]] = commit.seconds
            pages[stages[commit.stage]] = commit.signals
    whole |= response
    stage_seconds[stages[stage]] = seconds
    pages[stages[stage]] = signals_clean(signals)
    measured: JSON = {"stages": stage_seconds} | signals_total(pages.values())
    if stage:
        measured["pages"] = pages
    digest = digest_of(answer_of(kind, whole))
    return _judge(assignment, whole, digest, measured, now, counts=qualified)


# Both in one statement, because every judgment passes through here.
_JUDGED = """
WITH closed AS (
    UPDATE annotator_assignment SET state = 'submitted', closed_at = %(now)s WHERE id = %(assignment)s
)
INSERT INTO annotator_judgment (study_id, item_id, rater_id, snapshot_id, instructions_seen_id, assignment_id, place_id, response,
    digest, standing, source, seconds, signals, language, created_at)
VALUES (%(study)s, %(item)s, %(rater)s, %(snapshot)s, %(instructions)s, %(assignment)s, %(place)s, %(response)s, %(digest)s,
    %(standing)s, %(source)s, %(seconds)s, %(signals)s, %(language)s, %(now)s)
RETURNING id
"""


def _late_within_cap(assignment: Assignment) -> None:
    """Refuse a late answer for which a capped study has nothing left. Open tasks are reserved, and lapsed ones for a day."""
    study = assignment.participation.study
    if assignment.state == Assignment.State.LEASED or assignment.rater.rehearsal:
        return
    pay = pay_for_item(study, assignment.snapshot_id)
    if not budget_admits(study=study, pay=pay, instead_of=assignment):
        raise Refused("lease_expired", gettext("Time ran out, and the task was given back."))


def _consent_holds(assignment: Assignment) -> bool:
    """Whether the person has agreed to the study's text; queries the database only if the text has changed since the
    lease."""
    participation = assignment.participation
    wanted = consent_digests(snapshot_content(participation.study.snapshot_id))
    if assignment.snapshot_id and consent_digests(snapshot_content(assignment.snapshot_id)) == wanted:
        return True
    return consented(participation)


def _still_qualified(assignment: Assignment) -> bool:
    """Whether the person may still do this task. A revocation ends the lease, so an assignment that is leased needs no
    query."""
    return assignment.state == Assignment.State.LEASED or may_work(assignment.participation)


def _judge(
    assignment: Assignment, response: JSON, digest: str, signals: JSON, now: datetime, *, counts: bool
) -> Submitted:
    place = (getattr(assignment, "place", None) or _place_reclaim(assignment)) if counts else None
    standing = Judgment.Standing.COUNTED if place else Judgment.Standing.SURPLUS
    study = assignment.participation.study
    snapshot = assignment.snapshot_id or study.snapshot_id
    assignment.state = Assignment.State.SUBMITTED
    assignment.closed_at = now
    with prepared_cursor() as cursor:
        cursor.execute(
            _JUDGED,
            {
                "study": study.pk,
                "item": assignment.item_id,
                "rater": assignment.rater_id,
                "snapshot": snapshot,
                "instructions": instructions_known(assignment.participation, snapshot),
                "assignment": assignment.pk,
                "place": place.pk if place else None,
                "response": json.dumps(response),
                "digest": digest,
                "standing": standing.value,
                "source": (
                    Judgment.Source.REHEARSAL if assignment.rater.rehearsal else Judgment.Source.WEB
                ).value,
                "seconds": min(round((now - assignment.leased_at).total_seconds(), 3), LONGEST),
                "signals": json.dumps(signals),
                "language": get_language() or "",
                "now": now,
            },
        )
        (pk,) = cursor.fetchone()
    return Submitted(assignment, pk, standing)


def _place_reclaim(assignment: Assignment) -> Place | None:
    """A free place of the item for an assignment that has lost its own, or None."""
    place = (
        Place.objects.select_for_update(skip_locked=True, no_key=True)
        .filter(item_id=assignment.item_id, assignment__isnull=True, rehearsal=assignment.rater.rehearsal)
        .order_by("number")
        .first()
    )
    if place is not None:
        place.assignment = assignment
        place.save(update_fields=["assignment"])
    return place


def _repeated(assignment: Assignment, stage: int, response: JSON) -> Submitted:
    """Handle a stage that is committed already: the same answer succeeds again, a different one is refused."""
    commit = assignment.commits.filter(stage=stage).first()
    judgment = Judgment.objects.filter(assignment=assignment).first()
    if commit is not None:
        same = commit.response == response
    else:
        same = judgment is not None and all(judgment.response.get(name) == v for name, v in response.items())
        asked = set(response)
        earlier = {name for c in assignment.commits.all() for name in c.response}
        same = same and judgment is not None and set(judgment.response) - earlier == asked - earlier
    if not same:
        raise Conflict(gettext("You already gave a different answer to this step."))
    return Submitted(
        assignment, judgment.pk if judgment else None, judgment.standing if judgment else "", True
    )
