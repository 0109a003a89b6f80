"""The steps before the tasks: consent, instructions and practice. The exam is in ``exam``."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.core.canonical import text_digest
from annotator.hit_types.base import Question
from annotator.models import Participation
from annotator.selectors.consent import asked_again
from annotator.selectors.participation import participation_step
from annotator.selectors.places import places_for
from annotator.selectors.qualification import attempts_at
from annotator.selectors.questionnaire import BEFORE
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type
from annotator.selectors.study_texts import consent_here, instructions_here, question_here
from annotator.services.exam import exam_retry_at
from annotator.services.participation import (
    consent_give,
    instructions_confirm,
    instructions_finish,
    participation_leave,
    practice_advance,
    practice_answer,
)
from annotator.web.markdown import instructions_context, markdown_html
from annotator.web.views.common import at_step, panel_ended, participant, says_refusals, trouble
from annotator.web.views.places import no_places
from annotator.web.views.question_pages import practice_turn
from annotator.web.views.task import raw_response
from annotator.web.wording import other_language, wording_shown

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
    if step == "questionnaire":
        return redirect("annotator:questionnaire", slug=slug, moment=BEFORE)
    if step in _PAGES:
        return redirect(_PAGES[step], slug=slug)
    if step == "left" and participation.panel_ended:
        return panel_ended(request, participation)
    if step == "left":
        return redirect("annotator:left", slug=slug)
    return trouble(request, step, slug=slug)


def nothing_to_prepare_for(participation: Participation, step: str) -> bool:
    """Whether the study has no task left for somebody who is still preparing, so that preparing would be pointless."""
    if step not in ("consent", "instructions", "practice", "exam", "questionnaire"):
        return False
    if participation.exam_attempts.filter(submitted_at__isnull=True).exists():
        return False  # they have begun, so they may finish
    if step == "exam" and _failed(participation):
        return False  # the page of their result says so
    started = participation.assignments.exists()  # they have worked, and now have to read a new consent text
    return not started and places_for(participation).full


def _failed(participation: Participation) -> bool:
    """Whether they have used all of their attempts at the exam."""
    rules, attempts = snapshot_content(participation.study.snapshot_id), attempts_at(participation)
    return bool(attempts) and exam_retry_at(attempts=attempts, rules=rules) is None


@never_cache
@require_http_methods(["GET", "POST"])
@at_step("consent")
def consent(request: HttpRequest, participation: Participation) -> HttpResponse:
    rules = snapshot_content(participation.study.snapshot_id)
    shown = consent_here(rules, own=participation.study.language)
    if request.method == "POST":
        if request.POST.get("decision") != "agree":
            if request.POST.get("sure") != "yes":
                again = asked_again(participation)
                return render(
                    request, "annotator/decline.html", {"study": participation.study, "again": again}
                )
            participation_leave(participation=participation)
            return redirect("annotator:left", slug=participation.study.slug)
        consent_give(participation=participation, digest=request.POST.get("digest", ""))
        return redirect("annotator:study", slug=participation.study.slug)
    context = {
        "study": participation.study,
        "consent_html": markdown_html(shown.text),
        "consent_language": other_language(shown.language),
        "digest": text_digest(shown.text),
        "again": asked_again(participation),
    }
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
    """Record that a participant has read what changed in the instructions; they continue with their open task."""
    instructions_confirm(participation=participant(request, slug), version=_version_shown(request) or 0)
    if request.headers.get("HX-Request"):
        return HttpResponse()  # replaces the notice; the answer on the page stays as it is
    return redirect("annotator:tasks", slug=slug)


def _version_shown(request: HttpRequest) -> int | None:
    sent = request.POST.get("version", "")
    return int(sent) if sent.isdecimal() and len(sent) < 8 else None


def _instructions(participation: Participation) -> dict[str, Any]:
    rules = snapshot_content(participation.study.snapshot_id)
    kind = study_hit_type(participation.study)
    return {
        "study": participation.study,
        "task_title": wording_shown(kind.task_title),
        "parts": instructions_context(kind, instructions_here(rules, own=participation.study.language)),
        "version": participation.study.snapshot.number if participation.study.snapshot else "",
    }


@never_cache
@require_http_methods(["GET", "POST"])
@at_step("practice")
def practice(request: HttpRequest, participation: Participation) -> HttpResponse:
    """One practice question at a time, stage by stage as in a task, with the verdict and the reason after its last answer."""
    rules = snapshot_content(participation.study.snapshot_id)
    kind = study_hit_type(participation.study)
    number = participation.practice_done
    shown = question_here(
        Question(**rules["practice"][number]), rules, "practice", own=participation.study.language
    )
    if request.method == "POST" and request.POST.get("go") == "on":
        answered = request.POST.get("number", "")
        if answered.isdecimal() and len(answered) < 6:
            number = int(answered)
        practice_advance(participation=participation, number=number)
        return redirect("annotator:study", slug=participation.study.slug)
    sent = raw_response(request.POST) if request.method == "POST" else None
    context, errors = practice_turn(kind, participation.study, shown, sent, url=request.path)
    if "answered" in context:
        practice_answer(participation=participation, number=number)
    name = f"practice.{participation.pk}.{number}"  # the browser keeps an answer that isn't submitted yet
    context |= {
        "number": number + 1,
        "count": len(rules["practice"]),
        "index": number,
        "keep": f"{name}.{context.get('step', 0)}",
        "forget": [f"{name}.{step}" for step in range(len(kind.stages(shown.question.payload)))],
    }
    template = "annotator/practice.html"
    if request.headers.get("HX-Request"):
        template = "annotator/_feedback.html" if "answered" in context else "annotator/_task.html"
    return render(request, template, context, status=422 if errors else 200)
