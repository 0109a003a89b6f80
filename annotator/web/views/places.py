"""When a study has no places left: what that means for the person, and how to be told about new places."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from annotator.accounts.sessions import person_log_in
from annotator.core.errors import Refused
from annotator.models import Assignment, Participation, PlaceAlert, Study
from annotator.recruitment.panel import PARTLY
from annotator.selectors.exits import nothing_left
from annotator.selectors.participation import earnings_in
from annotator.selectors.places import Places, places_for
from annotator.services.participation import annotator_create, rater_for
from annotator.services.place_alert import place_alert_make
from annotator.web.exits import exit_context
from annotator.web.language import study_language_use
from annotator.web.views.common import new_account_count, says_refusals, trouble


def no_places(request: HttpRequest, participation: Participation) -> HttpResponse:
    """The page for somebody who could continue but for whom no tasks are left, whether they have done any or not."""
    study = participation.study
    places = places_for(participation)
    earnings = earnings_in(participation)
    context = {
        "study": study,
        "earnings": earnings,
        "me_url": reverse("annotator:me"),
        "skipped": participation.assignments.filter(state=Assignment.State.RETURNED).exists(),
    } | exit_context(participation, PARTLY if earnings.done else nothing_left(participation), earnings)
    return render(request, "annotator/no_places.html", context | alert_context(request, study, places))


def alert_context(request: HttpRequest, study: Study, places: Places) -> dict[str, Any]:
    """What ``annotator/_place_alert.html`` needs."""
    asked = (
        PlaceAlert.objects.filter(study=study, rater__user=request.user, told_at=None).exists()
        if request.user.is_authenticated
        else False
    )
    return {
        "places": places,
        "asked": asked,
        "alert_url": reverse("annotator:place_alert", args=[study.join_token]),
        "alert_error": request.GET.get("alert") == "email",
    }


@require_POST
@says_refusals
def place_alert(request: HttpRequest, token: str) -> HttpResponse:
    """Ask to be told about places of a study. People without an account get one; their own page has the notice."""
    study = Study.objects.filter(join_token=token, deleted_at__isnull=True, state=Study.State.LIVE).first()
    if study is None:
        return trouble(request, "link")
    study_language_use(request, study)
    user = request.user
    if not study.join_open and not (
        user.is_authenticated and study.participations.filter(rater__user=user).exists()
    ):
        raise Refused("closed", gettext("This study is not accepting participants."))
    if not user.is_authenticated:
        new_account_count(request, study)
        user = annotator_create()
        person_log_in(request, user)
    path = reverse("annotator:invitation", args=[token])
    try:
        place_alert_make(
            study=study,
            rater=rater_for(user=user),
            url=request.build_absolute_uri(path),
            email="" if study.panel else request.POST.get("email", ""),  # panels forbid asking for it
        )
    except ValidationError:
        return redirect(f"{path}?{urlencode({'alert': 'email'})}#tell-me")
    return redirect(f"{path}#tell-me")
