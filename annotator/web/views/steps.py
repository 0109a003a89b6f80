"""The steps before the tasks (consent, instructions, practice, exam) and after them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON, FieldErrors, HitType, Question
from annotator.hit_types.registry import hit_type_get
from annotator.models import ExamAttempt, Participation, Study
from annotator.selectors.participation import earnings_in, exam_pay_words, participation_step
from annotator.selectors.places import places_for
from annotator.selectors.qualification import attempts_at, qualifications_held
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study_texts import consent_text, instructions_text, question_here
from annotator.selectors.user import user_of
from annotator.services.exam import exam_attempt_of, exam_retry_at, exam_start, exam_submit, question_of
from annotator.services.participation import (
    consent_give,
    instructions_confirm,
    instructions_finish,
    participation_leave,
    participation_return,
    practice_advance,
    practice_answer,
)
from annotator.web.markdown import instructions_context, markdown_html
from annotator.web.task_page import TaskPage
from annotator.web.views.common import at_step, participant, says_refusals, trouble
from annotator.web.views.places import alert_context, no_places
from annotator.web.views.task import raw_response
from annotator.web.wording import stage_shown, wording_shown

_PAGES = {
    "consent": "annotator:consent",
    "instructions": "annotator:instructions",
    "practice": "annotator:practice",
    "exam": "annotator:exam",
    "tasks": "annotator:tasks",
}


@require_GET
@never_cache
@says_refusals
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirect a participant to their current step."""
    participation = participant(request, slug)
    step = participation_step(participation)
    if nothing_to_prepare_for(participation, step):
        return no_places(request, participation)
    if step in _PAGES:
        return redirect(_PAGES[step], slug=slug)
    if step == "left":
        return redirect("annotator:left", slug=slug)
    return trouble(request, step)


def nothing_to_prepare_for(participation: Participation, step: str) -> bool:
    """Whether somebody who is still preparing would do so for nothing: the study has no task left for them."""
    if step not in ("consent", "instructions", "practice", "exam"):
        return False
    if participation.exam_attempts.filter(submitted_at__isnull=True).exists():
        return False  # they have begun, so they may finish
    started = participation.assignments.exists()  # who has worked and has to read a new consent text
    return not started and places_for(participation).full


@never_cache
@require_http_methods(["GET", "POST"])
@at_step("consent")
def consent(request: HttpRequest, participation: Participation) -> HttpResponse:
    text = consent_text(snapshot_content(participation.study.snapshot_id))
    if request.method == "POST":
        if request.POST.get("decision") != "agree":
            if request.POST.get("sure") != "yes":
                return render(request, "annotator/decline.html", {"study": participation.study})
            participation_leave(participation=participation)
            return redirect("annotator:left", slug=participation.study.slug)
        consent_give(participation=participation, digest=request.POST.get("digest", ""))
        return redirect("annotator:study", slug=participation.study.slug)
    context = {"study": participation.study, "consent_html": markdown_html(text), "digest": text_digest(text)}
    return render(request, "annotator/consent.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
@says_refusals
def instructions(request: HttpRequest, slug: str) -> HttpResponse:
    """The instructions, as a step and as a page to return to."""
    participation = participant(request, slug)
    step = participation_step(participation)
    if step == "consent":
        return redirect("annotator:consent", slug=slug)
    if request.method == "POST":
        instructions_finish(participation=participation, version=_version_shown(request))
        return redirect("annotator:study", slug=slug)
    return render(request, "annotator/instructions.html", _instructions(participation) | {"step": step})


@require_GET
@never_cache
@says_refusals
def instructions_drawer(request: HttpRequest, slug: str) -> HttpResponse:
    """The instructions for the drawer beside a task; without htmx, the whole page."""
    participation = participant(request, slug)
    if participation_step(participation) == "consent":
        return redirect("annotator:consent", slug=slug)
    name = (
        "annotator/_instructions.html" if request.headers.get("HX-Request") else "annotator/instructions.html"
    )
    return render(request, name, _instructions(participation) | {"step": "drawer"})


@require_POST
@says_refusals
def changed_instructions(request: HttpRequest, slug: str) -> HttpResponse:
    """A participant has read what changed in the instructions; they go on with the task that they have open."""
    instructions_confirm(participation=participant(request, slug), version=_version_shown(request) or 0)
    if request.headers.get("HX-Request"):
        return HttpResponse()  # takes the place of the notice; the answer on the page stays as it is
    return redirect("annotator:tasks", slug=slug)


def _version_shown(request: HttpRequest) -> int | None:
    sent = request.POST.get("version", "")
    return int(sent) if sent.isdecimal() and len(sent) < 8 else None


def _instructions(participation: Participation) -> dict[str, Any]:
    rules = snapshot_content(participation.study.snapshot_id)
    kind = hit_type_get(rules["hit_type"])
    return {
        "study": participation.study,
        "task_title": wording_shown(kind.task_title),
        "parts": instructions_context(kind, instructions_text(rules)),
        "version": participation.study.snapshot.number if participation.study.snapshot else "",
    }


@never_cache
@require_http_methods(["GET", "POST"])
@at_step("practice")
def practice(request: HttpRequest, participation: Participation) -> HttpResponse:
    """One practice question at a time, with the verdict and the reason after each answer."""
    rules = snapshot_content(participation.study.snapshot_id)
    kind = hit_type_get(rules["hit_type"])
    number = participation.practice_done
    question = question_here(Question(**rules["practice"][number]), rules, "practice")
    if request.method == "POST" and request.POST.get("go") == "on":
        sent = request.POST.get("number", "")
        if sent.isdecimal() and len(sent) < 6:
            number = int(sent)
        practice_advance(participation=participation, number=number)
        return redirect("annotator:study", slug=participation.study.slug)
    context: dict[str, Any] = {"number": number + 1, "count": len(rules["practice"]), "index": number}
    raw: dict[str, Any] = {}
    errors: dict[str, str] = {}
    if request.method == "POST":
        raw = raw_response(request.POST)
        feedback, errors = practice_feedback(kind, question, raw)
        context |= feedback
        if not errors:
            practice_answer(participation=participation, number=number)
    page = question_page(
        "practice", participation.study, question, kind=kind, raw=raw, errors=errors, url=request.path
    )
    name = "annotator/practice.html"
    if request.headers.get("HX-Request"):
        name = "annotator/_feedback.html" if "answered" in context else "annotator/_task.html"
    return render(request, name, page.context() | context, status=422 if errors else 200)


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
    kind = hit_type_get(rules["hit_type"])
    for number, key in enumerate(attempt.drawn, 1):
        row = questions[key]
        question = question_here(question_of(row), rules, "exam")
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
    known = attempt.passed or bool(participation.recruiter_id) or user_of(request).has_usable_password()
    feedback = rules["exam_feedback"] and known and (retry_at is None or rules.get("exam_key_early", False))
    if feedback:
        kind = hit_type_get(rules["hit_type"])
        for answer in attempt.answers.filter(right=False).select_related("question"):
            number = attempt.drawn.index(answer.question.key) + 1
            question = question_here(question_of(answer.question), rules, "exam")
            missed.append(missed_question(kind, question, answer.response, number))
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
        "granted": qualifications_held(participation).exists(),
    }
    return render(request, "annotator/exam_result.html", context)


@never_cache
@require_GET
@says_refusals
def done(request: HttpRequest, slug: str) -> HttpResponse:
    """The final page with the completion code, only once the participant's work is complete."""
    participation = participant(request, slug)
    if participation.finished_at is None or participation.state == Participation.State.REMOVED:
        return redirect("annotator:study", slug=slug)
    earnings = earnings_in(participation)
    context = {
        "study": participation.study,
        "earnings": earnings,
        "completion_code": participation.study.completion_code,
        "return_url": return_url(participation),
        "me_url": reverse("annotator:me"),
    }
    places = places_for(participation)
    reached = participation.study.max_items_per_rater
    context["all_done"] = reached is not None and earnings.done >= reached
    return render(
        request, "annotator/done.html", context | alert_context(request, participation.study, places)
    )


def return_url(participation: Participation) -> str:
    """The recruitment panel's URL with the completion code; empty for participants who did not come from a panel. Only
    the page after the last answer uses it.
    """
    code = participation.study.completion_code
    if participation.recruiter != "prolific" or not code:
        return ""
    return "https://app.prolific.com/submissions/complete?" + urlencode({"cc": code})


@require_POST
@says_refusals
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Leave the study: submitted work is kept and paid, the open task goes to someone else."""
    participation = participant(request, slug)
    participation_leave(participation=participation)
    return redirect("annotator:left", slug=slug)


@never_cache
@require_http_methods(["GET", "POST"])
@says_refusals
def left(request: HttpRequest, slug: str) -> HttpResponse:
    """For people who declined or left: what that means, and the way back until the study is closed."""
    participation = participant(request, slug)
    if participation.state != Participation.State.LEFT:
        return redirect("annotator:study", slug=slug)
    if request.method == "POST":
        participation_return(participation=participation)
        return redirect("annotator:study", slug=slug)
    may_return = participation.study.state != Study.State.CLOSED
    return render(request, "annotator/left.html", {"study": participation.study, "may_return": may_return})
