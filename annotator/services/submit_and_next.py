"""Submit an answer and give out the next task, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotator.core.errors import ConsentOutdated, Refused
from annotator.hit_types.base import JSON
from annotator.models import Assignment
from annotator.services.assignment import assignment_in_hand, assignment_lease
from annotator.services.assignment_lock import assignment_lock
from annotator.services.stage_submit import Submitted, stage_submit


@dataclass(frozen=True)
class Turn:
    """What was submitted, and what comes next: a task, a ``Refused`` error, or neither if nothing is left."""

    submitted: Submitted
    assignment: Assignment | None
    refusal: Refused | None = None


def turn_take(
    *,
    user_id: int,
    assignment_pk: int,
    stage: int,
    raw: Mapping[str, Any],
    signals: JSON | None = None,
    undone: int | None = None,
) -> Turn:
    """Submit one stage and give out the next: the next stage of the same task, or the next task. The participation
    stays locked from the submit to the next lease, so that two concurrent requests can't give one person two open
    tasks. Raises the same errors as ``stage_submit``; an answer that is refused because the consent text has changed is
    kept as the draft.
    """
    with _answer_kept(user_id=user_id, assignment_pk=assignment_pk), transaction.atomic():
        return _turn(
            user_id=user_id, assignment_pk=assignment_pk, stage=stage, raw=raw, signals=signals, undone=undone
        )


@contextmanager
def _answer_kept(*, user_id: int, assignment_pk: int) -> Iterator[None]:
    """Wraps the transaction of a submit: an answer refused because the consent text has changed is kept as the task's
    draft."""
    try:
        yield
    except ConsentOutdated as outdated:
        with transaction.atomic():
            assignment = assignment_lock(user_id=user_id, pk=assignment_pk)
            assignment.draft = outdated.answer
            assignment.draft_version += 1
            assignment.save(update_fields=["draft", "draft_version"])
        raise


def _turn(
    *,
    user_id: int,
    assignment_pk: int,
    stage: int,
    raw: Mapping[str, Any],
    signals: JSON | None,
    undone: int | None,
) -> Turn:
    submitted = stage_submit(
        user_id=user_id, assignment_pk=assignment_pk, stage=stage, raw=raw, signals=signals, undone=undone
    )
    if not submitted.finished:
        return Turn(submitted, submitted.assignment)
    participation = submitted.assignment.participation
    held = None
    # After an undo, another task is already open; after a repeated submit there may be one.
    if submitted.repeated or submitted.assignment.taken_back:
        held = assignment_in_hand(participation)
    try:
        return Turn(submitted, held or assignment_lease(participation))
    except Refused as refusal:
        return Turn(submitted, None, refusal)
