"""The questionnaires before and after the tasks: a page of their own, on which everything may be left blank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.hit_types.base import FieldErrors
from annotator.models import Participation, Study
from annotator.selectors.participation import participation_step
from annotator.selectors.questionnaire import (
    AFTER,
    BEFORE,
    questionnaire_due,
    questionnaire_text,
    questionnaires_of,
)
from annotator.services.questionnaire import questionnaire_submit
from annotator.web.views.common import participant, says_refusals
from annotator.web.views.task import raw_response
from annotator.web.wording import stage_shown


@never_cache
@require_http_methods(["GET", "POST"])
@says_refusals
def questionnaire(request: HttpRequest, slug: str, moment: str) -> HttpResponse:
    """The questions before the first task, or after the last one; whoever isn't asked them is sent on."""
    if moment not in (BEFORE, AFTER):
        raise Http404("no such questionnaire")
    participation = participant(request, slug)
    if not _asked(participation, moment):
        return redirect(next_page(participation, moment))
    errors: Mapping[str, str] = {}
    raw: dict[str, Any] = {}
    if request.method == "POST":
        raw = raw_response(request.POST)
        try:
            skipped = raw.get("skip") == "yes"
            questionnaire_submit(participation=participation, moment=moment, raw=raw, skipped=skipped)
        except FieldErrors as error:
            errors = error.errors
        else:
            return redirect(next_page(participation, moment))
    text = questionnaire_text(participation, moment)
    context = questionnaire_context(participation.study, moment, text, raw=raw, errors=errors) | {
        "submit_url": request.path,
        "keep": f"questionnaire.{participation.pk}.{moment}",
    }
    return render(request, "annotator/questionnaire.html", context, status=422 if errors else 200)


def _asked(participation: Participation, moment: str) -> bool:
    if moment == BEFORE:
        return participation_step(participation) == "questionnaire"
    return questionnaire_due(participation, moment)


def next_page(participation: Participation, moment: str) -> str:
    """The page that follows the questions of a moment."""
    name = "study"
    if moment == AFTER and participation.state == Participation.State.LEFT:
        name = "left"
    elif moment == AFTER and participation.finished_at is not None:
        name = "done"
    return reverse(f"annotator:{name}", args=[participation.study.slug])


def questionnaire_context(
    study: Study,
    moment: str,
    text: str,
    *,
    raw: Mapping[str, Any] | None = None,
    errors: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What the page of a study's questionnaires shows, in the language of the page where the files have translations."""
    from annotator.hit_types.declaration.questionnaire import prefix_of

    parts = []
    for number, one in enumerate(questionnaires_of(text)):
        prefix = prefix_of(number)
        parts.append(
            {
                "number": number + 1,
                "stage": stage_shown(one.stage),
                "prefix": prefix,
                "response": _own(raw or {}, prefix),
                "errors": _own(errors or {}, prefix),
                # CC0 asks for no acknowledgement, and people needn't read that a lab wrote its own questions.
                "source": "" if str(one.spec["licence"]).startswith("CC0") else one.spec["source"],
            }
        )
    return {"study": study, "moment": moment, "parts": parts, "wrong": _numbers(parts)}


def _own(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _numbers(parts: Sequence[Mapping[str, Any]]) -> int:
    return sum(len(part["errors"]) for part in parts)
