"""A practice or exam question as a page, and the feedback on an answer to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from annotator.hit_types.base import JSON, FieldErrors, HitType, answers_in_words
from annotator.hit_types.confidence import without_confidence
from annotator.models import Study
from annotator.selectors.study_texts import QuestionHere
from annotator.web.task_page import TaskPage, stage_marks
from annotator.web.wording import other_language, say, stage_shown, stages_shown, wording_shown


def practice_turn(
    kind: HitType, study: Study, shown: QuestionHere, sent: Mapping[str, Any] | None, *, url: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """The context of a practice question's page after ``sent``, and the errors of what was sent, by field.

    The question goes through the stages of a task, up to the last one that it grades: an answer that isn't graded, such
    as the one before an explanation, is practised too. Then the page says what was right, and why.
    """
    question, kind = shown.question, without_confidence(kind)
    stages = kind.stages(question.payload)
    graded = [
        n for n, stage in enumerate(stages) if any(field.name in question.gold for field in stage.fields)
    ]
    last = graded[-1] if graded else len(stages) - 1
    step, earlier = _so_far(sent, last)
    errors: dict[str, str] = {}
    if sent is not None:
        try:
            earlier |= kind.parse_response(question.payload, {**earlier, **sent}, step)
            if step == last:
                return _verdict(kind, study, shown, earlier, url), {}
            step, sent = step + 1, None
        except FieldErrors as error:
            errors = error.errors
    seen = stages_shown(stages[: last + 1], shown.language)
    page = TaskPage(
        mode="practice",
        study=study,
        stage=seen[step],
        stages=stage_marks(seen, step) if last else [],
        committed=answers_in_words(stages[:step], earlier, say),
        response=sent or {},
        errors=errors,
        submit_url=url,
        task_title=wording_shown(kind.task_title),
        material_language=shown.language,
        instructions_url=reverse("annotator:instructions_drawer", args=[study.slug]),
    )
    hidden = {"step": step, "earlier": json.dumps(earlier)} if last else {}
    words = gettext("Check my answer") if step == last else ""
    return page.context() | {"step": step, "hidden": hidden, "submit_words": words}, errors


def _so_far(sent: Mapping[str, Any] | None, last: int) -> tuple[int, JSON]:
    """The stage that was answered, and the answers before it, from the page's own fields."""
    text = str((sent or {}).get("step", ""))
    step = min(int(text), last) if text.isdecimal() and len(text) < 3 else 0
    try:
        earlier = json.loads(str((sent or {}).get("earlier") or "{}"))
    except (ValueError, RecursionError):
        earlier = {}
    return step, earlier if isinstance(earlier, dict) else {}


def _verdict(kind: HitType, study: Study, shown: QuestionHere, answers: JSON, url: str) -> dict[str, Any]:
    question = shown.question
    response = kind.parse_question(question.payload, question.gold, answers)
    page = question_page("practice", study, shown, kind=kind, raw=answers, errors={}, url=url)
    return page.context() | {
        "answered": True,
        "right": kind.grade(response, question.gold).passed,
        "given": kind.describe(question.payload, response, translate=say),
        "correct": kind.describe(question.payload, question.gold, translate=say),
        "reason": question.reason,
        "reason_language": other_language(shown.language),
    }


def question_page(
    mode: str,
    study: Study,
    shown: QuestionHere,
    *,
    kind: HitType,
    raw: dict[str, Any],
    errors: dict[str, str],
    url: str,
) -> TaskPage:
    """A practice or exam question as a task page, with the fields of all stages in order."""
    question = shown.question
    stage = stage_shown(kind.question_stage(question.payload, question.gold), shown.language)
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


def missed_question(kind: HitType, shown: QuestionHere, response: JSON, number: int) -> dict[str, Any]:
    """A question that was answered incorrectly, for the result page."""
    question = shown.question
    return {
        "number": number,
        "stage": stage_shown(kind.question_stage(question.payload, question.gold), shown.language),
        "given": kind.describe(question.payload, response, translate=say),
        "correct": kind.describe(question.payload, question.gold, translate=say),
        "reason": question.reason,
        "reason_language": other_language(shown.language),
    }
