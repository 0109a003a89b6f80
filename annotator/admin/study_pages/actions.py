"""Launch, pause, resume, close and reopen a study; plain downloads of its judgments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect

from annotator.admin.study_pages import frame
from annotator.admin.study_pages.frame import EDITOR
from annotator.models import Study, User
from annotator.selectors.study import study_get_for
from annotator.selectors.workload import people_needed_words, study_workload
from annotator.services.exports import judgments_export
from annotator.services.study import (
    launch_faults,
    launch_warnings,
    study_close,
    study_launch,
    study_pause,
    study_reopen,
    study_resume,
)


@dataclass(frozen=True)
class Action:
    """A change of a study's state, and what the confirmation page says about it."""

    name: str
    label: str
    means: str
    service: Callable[..., Any]
    states: tuple[str, ...]
    done: str
    danger: bool = False


def _launch(*, study: Study, by: User) -> None:
    study_launch(study=study, by=by)


ACTIONS = (
    Action(
        "launch",
        "Launch",
        "Freezes items, instructions, exam and rules as version 1 and opens the study to annotators.",
        _launch,
        ("draft",),
        "The study is live.",
    ),
    Action("pause", "Pause", "No new tasks are given out. Tasks already given out can still be submitted.",
           lambda *, study, by: study_pause(study=study), ("live",), "The study is paused."),
    Action("resume", "Resume", "Tasks are given out again.", lambda *, study, by: study_resume(study=study), ("paused",),
           "The study is live again."),
    Action(
        "close",
        "Close",
        "Ends the study: nobody can join and no tasks are given out. Tasks already given out can still be submitted. You can reopen it later.",
        lambda *, study, by: study_close(study=study),
        ("live", "paused"),
        "The study is closed.",
        danger=True,
    ),
    Action("reopen", "Reopen", "The study becomes a paused one. Resume it to give out tasks again.",
           lambda *, study, by: study_reopen(study=study), ("closed",), "The study is paused. Resume it to give out tasks."),
)  # fmt: skip


def actions_for(study: Study) -> list[Action]:
    return [action for action in ACTIONS if study.state in action.states]


def do(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Explain the action; carry it out once confirmed."""
    study = study_get_for(user=request.user, pk=pk, role=EDITOR)
    action = next((one for one in ACTIONS if one.name == name), None)
    if action is None:
        raise Http404("no such action")
    if request.method == "POST":
        try:
            action.service(study=study, by=request.user)
        except ValidationError as error:
            for message in error.messages:
                messages.error(request, message)
        else:
            messages.success(request, action.done)
        return redirect("admin:study_live", study.pk)
    items, workload = study.items.filter(withdrawn_at__isnull=True).count(), study_workload(study)
    return frame.render(
        request,
        study,
        "confirm",
        tab="overview",
        title=f"{action.label}: {study.title}",
        action=action,
        possible=study.state in action.states,
        faults=launch_faults(study) if name == "launch" else [],
        warnings=launch_warnings(study) if name == "launch" else [],
        needed=people_needed_words(study, workload),
        items=items,
        judgments=workload.places,
        cost=workload.places * study.pay_per_item,
    )


def export(request: HttpRequest, pk: int, form: str, ending: str) -> StreamingHttpResponse:
    """Stream judgments as a file."""
    study = study_get_for(user=request.user, pk=pk)
    try:
        chunks = judgments_export(study=study, format=ending, form=form)
    except ValidationError as error:
        raise Http404(" ".join(error.messages)) from None
    kind = "text/csv; charset=utf-8" if ending == "csv" else "application/x-ndjson"
    response = StreamingHttpResponse(chunks, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-{form}.{ending}"'
    return response
