"""With which code somebody's participation ends, wherever they stopped."""

from __future__ import annotations

from annotator.models import Assignment, Participation, Study
from annotator.recruitment.panel import (
    COMPLETED,
    DECLINED,
    NOTHING_LEFT,
    PARTLY,
    SCREENED_OUT,
    STOPPED,
    CompletionCode,
)
from annotator.selectors.places import places_for
from annotator.selectors.qualification import attempts_at, qualification_revoked, qualified
from annotator.selectors.snapshot import snapshot_content


def exit_of(participation: Participation, *, done: int) -> CompletionCode | None:
    """The code for a person who has submitted ``done`` tasks; None while they can continue.

    People who have done what they could get ``COMPLETED``. Everybody else with a submitted task gets
    ``PARTLY``, whatever ended their work; without one, the code says why there is none.
    """
    state, study = participation.state, participation.study
    if state == Participation.State.REMOVED:
        return PARTLY if done else STOPPED
    if state == Participation.State.LEFT:
        if done and done >= (study.max_items_per_rater or done + 1):
            return COMPLETED
        if done:
            return PARTLY
        return None if participation.panel_ended else DECLINED
    going_on = study.state == Study.State.LIVE or participation.rater.rehearsal
    if going_on and participation.assignments.filter(state=Assignment.State.LEASED).exists():
        return None
    if done and participation.finished_at is not None:
        return finished_as(participation, done=done)
    if screened_out(participation):
        return PARTLY if done else SCREENED_OUT
    if not going_on:
        if not done:
            return STOPPED
        return finished_as(participation, done=done) if places_for(participation).full else PARTLY
    if done or not places_for(participation).full:
        return None
    return nothing_left(participation)


def finished_as(participation: Participation, *, done: int) -> CompletionCode:
    """The code of somebody for whom nothing is left. Who skipped more than they did hasn't completed the study."""
    if done >= (participation.study.max_items_per_rater or done + 1):
        return COMPLETED
    skipped = participation.assignments.filter(state=Assignment.State.RETURNED).count()
    return PARTLY if skipped > done else COMPLETED


def nothing_left(participation: Participation) -> CompletionCode:
    """The code of somebody without a submitted task for whom none is left. Who was given one and didn't do it has
    not come in vain: they stopped."""
    return DECLINED if participation.assignments.exists() else NOTHING_LEFT


def screened_out(participation: Participation) -> bool:
    """Whether they can't qualify any more: no attempt at the exam is left, or their qualification was revoked."""
    rules = snapshot_content(participation.study.snapshot_id)
    if not rules.get("exam_required") or qualified(participation):
        return False
    if qualification_revoked(participation):
        return True
    used = [attempt for attempt in attempts_at(participation) if attempt.submitted_at is not None]
    return len(used) >= rules["exam_attempts"]
