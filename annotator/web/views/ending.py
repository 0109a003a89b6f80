"""The pages after the work: done, leaving the study, and having left it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotator.models import Assignment, Participation, Study
from annotator.selectors.participation import earnings_in
from annotator.selectors.places import places_for
from annotator.services.participation import (
    participation_leave,
    participation_return,
)
from annotator.web.views.common import participant, return_url, says_refusals
from annotator.web.views.places import alert_context


@never_cache
@require_GET
@says_refusals
def done(request: HttpRequest, slug: str) -> HttpResponse:
    """The final page with the completion code, only once the participant's work is complete."""
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
        "completion_code": participation.study.completion_code,
        "return_url": return_url(participation, participation.study.completion_code),
        "me_url": reverse("annotator:me"),
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
    participation_leave(participation=participation)
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
    may_return = participation.study.state != Study.State.CLOSED
    return render(request, "annotator/left.html", {"study": participation.study, "may_return": may_return})
