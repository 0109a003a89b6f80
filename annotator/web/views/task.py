"""The task screen: one request submits an answer and returns the next task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotator.core.errors import Conflict, ConsentOutdated, DraftConflict, Refused
from annotator.hit_types.base import FieldErrors
from annotator.models import Assignment, Participation
from annotator.selectors.participation import progress_of
from annotator.selectors.questionnaire import AFTER, questionnaire_due
from annotator.selectors.user import user_of
from annotator.services.assignment import assignment_next, assignment_return, lease_extend, own_lease
from annotator.services.draft import draft_save
from annotator.services.judgment_undo import judgment_undo
from annotator.services.message import message_send
from annotator.services.participation import participation_finish
from annotator.services.submit_and_next import Turn, turn_take
from annotator.web.task_page import task_page
from annotator.web.templatetags.screens import translated_errors
from annotator.web.views.common import at_step, says_refusals, signed_in, trouble
from annotator.web.views.places import no_places


def raw_response(data: QueryDict) -> dict[str, Any]:
    """Form values as a raw response: one value as text, several as a list."""
    return {name: values[0] if len(values) == 1 else values for name, values in data.lists()}


@require_GET
@never_cache
@at_step("tasks")
def tasks(request: HttpRequest, participation: Participation) -> HttpResponse:
    """The open task, or the next one."""
    return show_next(request, participation)


def show_next(request: HttpRequest, participation: Participation) -> HttpResponse:
    """The page with the next task, or the page that says why there is none."""
    try:
        assignment = assignment_next(participation=participation)
    except Refused as refusal:
        return no_task(request, participation, refusal)
    if assignment is None:
        return no_task(request, participation, None)
    page = task_page(assignment=assignment, progress=progress_of(participation))
    return render(request, template(request), page.context())


def no_task(request: HttpRequest, participation: Participation, refusal: Refused | None) -> HttpResponse:
    """The final page if the participant has done any tasks; otherwise the page that says why there is none."""
    slug = participation.study.slug
    complete = refusal is None or refusal.kind == "full"
    if complete and participation.assignments.filter(state=Assignment.State.SUBMITTED).exists():
        participation_finish(participation=participation)
        if questionnaire_due(participation, AFTER):
            return to_page(request, reverse("annotator:questionnaire", args=[slug, AFTER]))
        return to_page(request, reverse("annotator:done", args=[slug]))
    if request.headers.get("HX-Request"):
        return to_page(request, reverse("annotator:tasks", args=[slug]))
    if refusal is None:
        return no_places(request, participation)
    return trouble(request, refusal.kind, message=str(refusal), slug=refusal.slug or slug)


def template(request: HttpRequest) -> str:
    return "annotator/_task.html" if request.headers.get("HX-Request") else "annotator/task.html"


def to_page(request: HttpRequest, url: str) -> HttpResponse:
    """Redirect, with or without htmx."""
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return redirect(url)


@require_POST
def submit(request: HttpRequest, pk: int) -> HttpResponse:
    """Submit the answer to the open stage; the response has the next stage or the next task.

    With ``Accept: application/json``, as for an answer that the browser kept while there was no connection, the response
    only says whether the answer is stored.
    """
    if request.headers.get("Accept", "").startswith("application/json"):
        return _submit_kept(request, pk)
    return _submit_shown(request, pk)


def _turn(request: HttpRequest, pk: int) -> Turn:
    try:
        stage = int(request.POST.get("stage", "0"))
    except ValueError:
        raise Refused("not_now", gettext("The form was incomplete. Open the task again.")) from None
    return turn_take(
        user_id=signed_in(request),
        assignment_pk=pk,
        stage=stage,
        raw=raw_response(request.POST),
        signals=_signals(request),
        undone=_undone(request),
    )


@says_refusals
def _submit_shown(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        turn = _turn(request, pk)
    except FieldErrors as error:
        return _form_again(request, pk, raw_response(request.POST), errors=error.errors)
    except ConsentOutdated:
        slug = Assignment.objects.values_list("participation__study__slug", flat=True).get(pk=pk)
        return to_page(request, reverse("annotator:consent", args=[slug]))
    except Refused as refusal:
        if refusal.kind != "left":
            raise
        # They left in another tab, or their panel says so. What they wrote stays on the page.
        return _form_again(request, pk, raw_response(request.POST), notice=str(refusal))
    submitted, participation = turn.submitted, turn.submitted.assignment.participation
    if not request.headers.get("HX-Request"):
        return redirect("annotator:tasks", slug=participation.study.slug)
    if turn.assignment is None:
        return no_task(request, participation, turn.refusal)
    page = task_page(
        assignment=turn.assignment,
        progress=progress_of(participation),
        undo=submitted.assignment if submitted.finished and not submitted.repeated else None,
        surplus=submitted.standing == "surplus",
    )
    return render(request, template(request), page.context())


def _submit_kept(request: HttpRequest, pk: int) -> JsonResponse:
    """Says ``stored``, and if not, why. 401 and 404 if it isn't known whose answer this is: the browser keeps it for them."""
    if request.user.pk is None:
        return JsonResponse({"stored": False, "kind": "login"}, status=401)
    try:
        turn = _turn(request, pk)
    except FieldErrors as error:
        return JsonResponse(
            {
                "stored": False,
                "kind": "invalid",
                "message": " ".join(map(translated_errors, error.errors.values())),
            },
            status=422,
        )
    except (Refused, Conflict) as error:
        kind = error.kind if isinstance(error, Refused) else "conflict"
        status = 404 if kind == "not_found" else 409
        return JsonResponse({"stored": False, "kind": kind, "message": str(error)}, status=status)
    return JsonResponse({"stored": True, "standing": turn.submitted.standing})


def _undone(request: HttpRequest) -> int | None:
    """How often the task had been undone when the form was shown; None if the form doesn't say."""
    text = request.POST.get("undone", "")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _signals(request: HttpRequest) -> dict[str, Any]:
    try:
        signals = json.loads(request.POST.get("signals") or "{}")
    except (ValueError, RecursionError):  # nested too deeply; the answer itself still counts
        return {}
    return signals if isinstance(signals, dict) else {}


def _form_again(
    request: HttpRequest,
    pk: int,
    raw: dict[str, Any],
    *,
    errors: Mapping[str, str] | None = None,
    notice: str = "",
) -> HttpResponse:
    """The same task again, with the submitted answer and what is wrong with it."""
    assignment = (
        Assignment.objects.select_related("participation__study", "item")
        .filter(pk=pk, rater__user=user_of(request))
        .get()
    )
    page = task_page(
        assignment=assignment, progress=progress_of(assignment.participation), raw=raw, errors=errors
    )
    page.notice = notice
    return render(request, template(request), page.context(), status=422)


@require_POST
@says_refusals
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    assignment = judgment_undo(user_id=signed_in(request), assignment_pk=pk, undone=_undone(request))
    page = task_page(assignment=assignment, progress=progress_of(assignment.participation))
    return render(request, template(request), page.context())


@require_POST
def draft(request: HttpRequest, pk: int) -> JsonResponse:
    """Save a draft. Replies 409 if another tab saved or submitted first."""
    raw = raw_response(request.POST)
    try:
        version = draft_save(
            user_id=signed_in(request),
            assignment_pk=pk,
            stage=int(raw.get("stage", 0)),
            version=int(raw.get("draft_version", 0)),
            draft=raw,
        )
    except (TypeError, ValueError):
        return JsonResponse({"error": "The draft could not be read."}, status=400)
    except DraftConflict as error:
        theirs = {"closed": True} if error.closed else {"version": error.version, "response": error.draft}
        return JsonResponse({"error": str(error)} | theirs, status=409)
    except Refused as error:
        return JsonResponse({"error": str(error)}, status=404)
    return JsonResponse({"version": version})


@require_POST
@says_refusals
def skip(request: HttpRequest, pk: int) -> HttpResponse:
    assignment = assignment_return(
        user_id=signed_in(request), assignment_pk=pk, reason=request.POST.get("reason", "")
    )
    slug = assignment.participation.study.slug
    return to_page(request, reverse("annotator:tasks", args=[slug]))


@require_POST
@says_refusals
def more_time(request: HttpRequest, pk: int) -> HttpResponse:
    assignment = lease_extend(user_id=signed_in(request), assignment_pk=pk)
    if request.headers.get("Accept", "").startswith("application/json"):
        return JsonResponse({"lease_until": assignment.lease_until.isoformat()})
    return redirect("annotator:tasks", slug=assignment.participation.study.slug)


@require_POST
@says_refusals
def flag(request: HttpRequest, pk: int) -> HttpResponse:
    """Report a problem with this item; the task stays open."""
    return _send(request, pk, "flag")


@require_POST
@says_refusals
def ask(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask the researchers about this item; the task stays open."""
    return _send(request, pk, "question")


@transaction.atomic  # keep the lease locked while the message is written
def _send(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    assignment = own_lease(user_id=signed_in(request), pk=pk)
    notice, done = gettext("Sent. The researchers will see it with the task. You can carry on."), True
    try:
        message_send(
            participation=assignment.participation,
            kind=kind,
            text=request.POST.get("text", ""),
            item=assignment.item,
        )
    except ValidationError as error:
        notice, done = error.messages[0], False
    page = task_page(assignment=assignment, progress=progress_of(assignment.participation))
    page.notice, page.notice_good = notice, done
    return render(request, template(request), page.context())
