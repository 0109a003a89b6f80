"""The pages after the work: done, leaving the study, and having left it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.models import Assignment, Participation, Study
from annotator.selectors.consent import consented
from annotator.selectors.exits import finished_as
from annotator.selectors.last_answer import last_answer
from annotator.selectors.participation import earnings_in
from annotator.selectors.places import places_for
from annotator.selectors.questionnaire import AFTER, questionnaire_due, questionnaire_text
from annotator.services.participation import (
    participation_leave,
    participation_return,
)
from annotator.web.addresses import task_url
from annotator.web.exits import exit_context, exit_shown
from annotator.web.views.common import panel_ended, participant, says_refusals
from annotator.web.views.places import alert_context


@never_cache
@require_GET
@says_refusals
def done(request: HttpRequest, slug: str) -> HttpResponse:
    """The final page with the completion code, only once the participant's work is complete. The last answer can be undone
    here, as the others can on the page of the next task."""
    participation = participant(request, slug)
    if participation.finished_at is None or participation.state != Participation.State.ACTIVE:
        return redirect("annotator:study", slug=slug)
    if participation.assignments.filter(state=Assignment.State.LEASED).exists():
        return redirect(
            "annotator:tasks", slug=slug
        )  # they have undone their last answer, or there are tasks again
    earnings = earnings_in(participation)
    context = {
        "study": participation.study,
        "earnings": earnings,
        "me_url": reverse("annotator:me"),
        "forget": _draft_of(participation),
    } | exit_context(participation, finished_as(participation, done=earnings.done), earnings)
    if last := last_answer(participation):
        context |= {
            "undo_url": task_url("undo", last.assignment.pk),
            "undo_seconds": last.seconds,
            "undone": last.assignment.taken_back,
        }
    places = places_for(participation)
    reached = participation.study.max_items_per_rater
    context["all_done"] = reached is not None and earnings.done >= reached
    return render(
        request, "annotator/done.html", context | alert_context(request, participation.study, places)
    )


@require_POST
@says_refusals
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Leave the study: submitted work is kept and paid, the open task goes to someone else."""
    participation = participant(request, slug)
    if participation.state == Participation.State.ACTIVE:
        participation_leave(participation=participation)
        participation.refresh_from_db(fields=["state", "finished_at"])
        if questionnaire_due(participation, AFTER):
            return redirect("annotator:questionnaire", slug=slug, moment=AFTER)
    return redirect("annotator:left", slug=slug)


@never_cache
@require_http_methods(["GET", "POST"])
@says_refusals
def left(request: HttpRequest, slug: str) -> HttpResponse:
    """For people who declined or left: what that means, and how to rejoin until the study is closed."""
    participation = participant(request, slug)
    if participation.state != Participation.State.LEFT:
        return redirect("annotator:study", slug=slug)
    if request.method == "POST":
        participation_return(participation=participation)
        return redirect("annotator:study", slug=slug)
    if participation.panel_ended:
        return panel_ended(request, participation)
    earnings = earnings_in(participation)
    context = {
        "study": participation.study,
        "earnings": earnings,
        "declined": not consented(participation) and participation.instructions_at is None,
        "may_return": participation.study.state != Study.State.CLOSED,
        "forget": _draft_of(participation),
    }
    return render(request, "annotator/left.html", context | exit_shown(participation, earnings))


def _draft_of(participation: Participation) -> str:
    """The answers to questions after the tasks that the browser keeps until they are submitted; empty if nothing was asked."""
    return f"questionnaire.{participation.pk}.{AFTER}" if questionnaire_text(participation, AFTER) else ""
