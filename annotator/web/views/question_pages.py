"""A practice or exam question as a page, and the feedback on an answer to it."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from annotator.hit_types.base import JSON, FieldErrors, HitType, Question
from annotator.models import Study
from annotator.web.task_page import TaskPage
from annotator.web.wording import stage_shown, wording_shown


def practice_feedback(
    kind: HitType, question: Question, raw: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The feedback on an answer to a practice question; or, for an invalid answer, None and its errors by field."""
    try:
        response = kind.parse_question(question.payload, question.gold, raw)
    except FieldErrors as error:
        return {}, error.errors
    return {
        "answered": True,
        "right": kind.grade(response, question.gold).passed,
        "given": kind.describe(question.payload, response, translate=gettext),
        "correct": kind.describe(question.payload, question.gold, translate=gettext),
        "reason": question.reason,
    }, {}


def question_page(
    mode: str,
    study: Study,
    question: Question,
    *,
    kind: HitType,
    raw: dict[str, Any],
    errors: dict[str, str],
    url: str,
) -> TaskPage:
    """A practice or exam question as a task page, with the fields of all stages in order."""
    stage = stage_shown(kind.question_stage(question.payload, question.gold))
    return TaskPage(
        mode=mode,
        study=study,
        stage=stage,
        stages=[],
        committed=[],
        response=raw,
        errors=errors,
        submit_url=url,
        task_title=wording_shown(kind.task_title),
        instructions_url=reverse("annotator:instructions_drawer", args=[study.slug]),
    )


def missed_question(kind: HitType, question: Question, response: JSON, number: int) -> dict[str, Any]:
    """A question that was answered wrongly, for the result page."""
    return {
        "number": number,
        "stage": stage_shown(kind.question_stage(question.payload, question.gold)),
        "given": kind.describe(question.payload, response, translate=gettext),
        "correct": kind.describe(question.payload, question.gold, translate=gettext),
        "reason": question.reason,
    }
