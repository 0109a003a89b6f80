"""The last answer of somebody, while it can still be undone."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from annotator.models import Assignment, Judgment, Participation


@dataclass(frozen=True)
class LastAnswer:
    """A submitted task that can be undone for this many seconds more."""

    assignment: Assignment
    seconds: int


def last_answer(participation: Participation) -> LastAnswer | None:
    """The person's last answer in the study if the time to undo it isn't over; ``judgment_undo`` has the other rules."""
    answers = Judgment.objects.filter(study_id=participation.study_id, rater_id=participation.rater_id)
    judgment = answers.select_related("assignment").order_by("-id").first()
    if judgment is None or judgment.assignment is None:
        return None
    passed = (timezone.now() - judgment.created_at).total_seconds()
    left = int(participation.study.undo_seconds - passed)
    return LastAnswer(judgment.assignment, left) if left > 0 else None
