"""The exam and its result."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from annotator.hit_types.base import FieldErrors
from annotator.models import ExamAttempt
from annotator.recruitment.panel import SCREENED_OUT
from annotator.selectors.participation import exam_pay_words, participation_step
from annotator.selectors.qualification import attempts_at, qualifications_held
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type
from annotator.selectors.study_texts import question_here
from annotator.selectors.user import user_of
from annotator.services.exam import exam_attempt_of, exam_retry_at, exam_start, exam_submit, question_of
from annotator.web.exits import exit_context
from annotator.web.views.common import participant, says_refusals
from annotator.web.views.question_pages import missed_question, question_page
from annotator.web.views.steps import nothing_to_prepare_for
from annotator.web.views.task import raw_response
from annotator.web.wording import wording_shown


@never_cache
@require_http_methods(["GET", "POST"])
@says_refusals
def exam(request: HttpRequest, slug: str) -> HttpResponse:
    """The exam: all questions on one page, so that answers can be changed before submitting."""
    participation = participant(request, slug)
    result = redirect("annotator:exam_result", slug=slug)
    attempt: ExamAttempt | None = None
    if request.method == "POST":
        attempt = exam_attempt_of(participation=participation, pk=request.POST.get("attempt", ""))
        if attempt.submitted_at is not None:  # submitted again: the same response
            return result
    step = participation_step(participation)
    if step != "exam" or nothing_to_prepare_for(participation, step):
        return redirect("annotator:study", slug=slug)
    rules = snapshot_content(participation.study.snapshot_id)
    attempts = attempts_at(participation)
    if attempt is None:
        if attempts and attempts[-1].submitted_at is not None and "again" not in request.GET:
            return result
        attempt = exam_start(participation=participation)
    errors: dict[str, str] = {}
    answers: dict[str, dict[str, Any]] = {}
    if request.method == "POST":
        answers = exam_answers(request, attempt)
        try:
            exam_submit(attempt=attempt, answers=answers)
        except FieldErrors as error:
            errors = error.errors
        else:
            return result
    questions = {question.key: question for question in attempt.exam.questions.filter(key__in=attempt.drawn)}
    pages = []
    kind = study_hit_type(participation.study)
    for number, key in enumerate(attempt.drawn, 1):
        row = questions[key]
        question = question_here(question_of(row), rules, "exam", own=participation.study.language)
        page = question_page(
            "exam",
            participation.study,
            question,
            kind=kind,
            raw=answers.get(key, {}),
            errors={"": errors[key]} if key in errors else {},
            url=request.path,
        )
        pages.append(page.context() | {"number": number, "prefix": f"q{number}-", "key": key})
    context = {
        "study": participation.study,
        "attempt": attempt,
        "questions": pages,
        "count": len(pages),
        "pass_mark": attempt.pass_mark,
        "attempts_left": rules["exam_attempts"] - len([one for one in attempts if one.submitted_at]) - 1,
        "unanswered": sorted(number for number, key in enumerate(attempt.drawn, 1) if key in errors),
        "task_title": wording_shown(kind.task_title),
        "instructions_url": reverse("annotator:instructions_drawer", args=[participation.study.slug]),
        "submit_url": request.path,
        "hidden": {"attempt": attempt.pk},
    }
    return render(request, "annotator/exam.html", context, status=422 if errors else 200)


def exam_answers(request: HttpRequest, attempt: ExamAttempt) -> dict[str, dict[str, Any]]:
    """Answers by question key. Fields are named ``q<number>-<field>``: keys stay on the server until grading."""
    raw = raw_response(request.POST)
    answers: dict[str, dict[str, Any]] = {}
    for number, key in enumerate(attempt.drawn, 1):
        prefix = f"q{number}-"
        answers[key] = {name[len(prefix) :]: value for name, value in raw.items() if name.startswith(prefix)}
    return answers


@never_cache
@require_GET
@says_refusals
def exam_result(request: HttpRequest, slug: str) -> HttpResponse:
    """Score, missed questions with reasons (if the study shows them), what happens next."""
    participation = participant(request, slug)
    attempts = attempts_at(participation)
    done = [attempt for attempt in attempts if attempt.submitted_at is not None]
    if not done:
        return redirect("annotator:study", slug=slug)
    attempt = done[-1]
    rules = snapshot_content(participation.study.snapshot_id)
    retry_at = None if attempt.passed else exam_retry_at(attempts=attempts, rules=rules)
    missed = []
    # People who can still pass don't get the key: they would learn it instead of the task. Nor do people who failed
    # without an account: they could come back as somebody else.
    known = attempt.passed or participation.recruiter_verified or user_of(request).has_usable_password()
    feedback = rules["exam_feedback"] and known and (retry_at is None or rules.get("exam_key_early", False))
    if feedback:
        kind = study_hit_type(participation.study)
        for answer in attempt.answers.filter(right=False).select_related("question"):
            number = attempt.drawn.index(answer.question.key) + 1
            question = question_here(
                question_of(answer.question), rules, "exam", own=participation.study.language
            )
            missed.append(missed_question(kind, question, answer.response, number))
    granted = qualifications_held(participation).exists()
    ended = not attempt.passed and retry_at is None and not granted
    context = {
        "study": participation.study,
        "attempt": attempt,
        "score": attempt.score,
        "count": len(attempt.drawn),
        "pass_mark": attempt.pass_mark,
        "passed": attempt.passed,
        "exam_pay": exam_pay_words(rules),
        "missed": missed,
        "feedback": feedback,
        "feedback_later": rules["exam_feedback"] and known and not feedback,
        "retry_at": retry_at,
        "can_retry_now": retry_at is not None and retry_at <= timezone.now(),
        "next_url": reverse("annotator:study", args=[slug]),
        "retry_url": reverse("annotator:exam", args=[slug]) + "?again=1",
        "granted": granted,
    }
    if ended:
        context |= exit_context(participation, SCREENED_OUT)
    return render(request, "annotator/exam_result.html", context)
