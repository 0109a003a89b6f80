"""Lets a researcher take the exam or the practice as an annotator does, with the study's questions or unsaved ones."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

from django.contrib.admin.views.decorators import staff_member_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.core.allocation import exam_draw
from annotator.hit_types.base import FieldErrors, HitType
from annotator.hit_types.questions import questions_of_text
from annotator.hit_types.wording import joined
from annotator.models import Study
from annotator.selectors.participation import exam_pay_words
from annotator.selectors.study import study_get_for, study_hit_type
from annotator.selectors.study_texts import QuestionHere, draft_rules, question_here
from annotator.web.views.preview_steps import preview_bar
from annotator.web.views.question_pages import missed_question, practice_turn, question_page
from annotator.web.views.task import raw_response
from annotator.web.wording import wording_shown


@never_cache
@require_http_methods(["GET", "POST"])
@staff_member_required(login_url="admin:login")
def preview_questions(request: HttpRequest, pk: int, which: str) -> HttpResponse:
    """Preview practice or exam. ``questions`` (JSON) is carried in the form; without it, the study's questions are
    shown."""
    study = study_get_for(user=request.user, pk=pk)
    kind = study_hit_type(study)
    text = request.POST.get("questions", "")
    try:
        questions = questions_of_text(kind, text) if text.strip() else getattr(kind, which)
    except FieldErrors as error:
        context = {"study": study, "which": which, "faults": list(error.errors.items())}
        return render(request, "annotator/preview_faults.html", context, status=400)
    if not questions:
        return render(request, "annotator/preview_empty.html", {"study": study})
    show = exam_preview if which == "exam" else practice_preview
    rules = draft_rules(study, kind)
    shown = [question_here(question, rules, which, own=study.language) for question in questions]
    return show(request, study, kind, shown, _shared(request, study, kind, text, which))


def _shared(request: HttpRequest, study: Study, kind: HitType, text: str, which: str) -> dict[str, Any]:
    return {
        "study": study,
        "task_title": wording_shown(kind.task_title),
        "submit_url": request.path,
        "instructions_url": reverse("annotator:preview_instructions", args=[study.pk]),
        **preview_bar(study, which),
        "back_url": reverse("admin:study_exam", args=[study.pk]),
        "back": "Back to the exam's page",
        "hidden": {"questions": text} if text else {},
    }


def exam_preview(
    request: HttpRequest, study: Study, kind: HitType, questions: list[QuestionHere], shared: dict[str, Any]
) -> HttpResponse:
    """The exam, or its result; ``shared`` is the context of the page around it."""
    by_key = {one.question.key: one for one in questions}
    count = min(study.exam_questions or len(questions), len(questions))
    drawn = exam_draw(
        [(one.question.key, one.question.pool) for one in questions], count=count, rng=Random("preview")
    )
    attempt = SimpleNamespace(pk="preview", number=1, pass_mark=study.pass_mark)
    context = shared | {
        "attempt": attempt,
        "count": count,
        "pass_mark": study.pass_mark,
        "attempts_left": study.exam_attempts - 1,
    }
    errors: dict[str, str] = {}
    raw: dict[str, dict[str, Any]] = {}
    if "handed-in" in request.POST:
        sent = raw_response(request.POST)
        right, missed = 0, []
        for number, key in enumerate(drawn, 1):
            prefix, question = f"q{number}-", by_key[key].question
            raw[key] = {name[len(prefix) :]: v for name, v in sent.items() if name.startswith(prefix)}
            try:
                response = kind.parse_question(question.payload, question.gold, raw[key])
            except FieldErrors as error:
                errors[key] = joined(error.errors.values())
                continue
            if kind.grade(response, question.gold).passed:
                right += 1
            else:
                missed.append(missed_question(kind, by_key[key], response, number))
        if not errors:
            return render(
                request,
                "annotator/exam_result.html",
                context
                | {
                    "score": right,
                    "passed": right >= study.pass_mark,
                    "missed": missed if study.exam_feedback else [],
                    "feedback": study.exam_feedback,
                    "exam_pay": exam_pay_words({"exam_pay": str(study.exam_pay), "currency": study.currency}),
                    "can_retry_now": True,
                    "retry_url": request.path,
                    "next_url": context["back_url"],
                },
            )
    pages = [
        question_page(
            "exam",
            study,
            by_key[key],
            kind=kind,
            raw=raw.get(key, {}),
            errors={"": errors[key]} if key in errors else {},
            url=request.path,
        ).context()
        | {"number": number, "prefix": f"q{number}-", "key": key}
        for number, key in enumerate(drawn, 1)
    ]
    context |= {
        "questions": pages,
        "unanswered": sorted(number for number, key in enumerate(drawn, 1) if key in errors),
        "hidden": context["hidden"] | {"handed-in": "1"},
    }
    return render(request, "annotator/exam.html", context, status=422 if errors else 200)


def practice_preview(
    request: HttpRequest, study: Study, kind: HitType, questions: list[QuestionHere], shared: dict[str, Any]
) -> HttpResponse:
    """One practice question after another; ``shared`` is the context of the page around it."""
    shown = request.POST.get("number", "")
    number = int(shown) if shown.isdecimal() and len(shown) < 4 else 0
    number = (number + (request.POST.get("go") == "on")) % len(questions)
    question = questions[number]
    answering = "answering" in request.POST and request.POST.get("go") != "on"
    sent = raw_response(request.POST) if answering else None
    turn, errors = practice_turn(kind, study, question, sent, url=request.path)
    context = turn | shared | {"number": number + 1, "count": len(questions), "index": number}
    if "answered" not in turn:
        context["hidden"] = shared["hidden"] | turn["hidden"] | {"number": number, "answering": "1"}
    name = "annotator/practice.html"
    if request.headers.get("HX-Request"):
        name = "annotator/_feedback.html" if "answered" in context else "annotator/_task.html"
    return render(request, name, context, status=422 if errors else 200)
