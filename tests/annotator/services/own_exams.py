"""Studies with an exam of their own, and attempts at it."""

from __future__ import annotations

from typing import Any

from annotator.models import ExamAttempt, Participation, Study
from annotator.services.exam import exam_start, exam_submit
from tests.factories import make_study, simulation_payload

YES, NO = {"helpful": "yes", "answer": "yes"}, {"helpful": "yes", "answer": "no"}


def own(count: int = 4, *, pool: str = "") -> list[dict[str, Any]]:
    """Exam questions of a study's own."""
    return [
        {"key": f"mine-{pool}{n}", "payload": simulation_payload(f"{pool}{n}"), "gold": YES, "reason": f"Because {n}.", "pool": pool}
        for n in range(count)
    ]  # fmt: skip


def make_exam_study() -> Study:
    """A live study with four questions of its own, three of which must be right."""
    return make_study(
        items=3, exam_required=True, exam_own=own(4), exam_questions=4, pass_mark=3, exam_pay="1.50",
        exam_attempts=2, exam_wait_minutes=10, launched=True,
    )  # fmt: skip


def sit(person: Participation, *, right: int) -> ExamAttempt:
    """An attempt with this number of right answers."""
    attempt = exam_start(participation=person)
    answers = {key: YES if n < right else NO for n, key in enumerate(attempt.drawn)}
    return exam_submit(attempt=attempt, answers=answers)
