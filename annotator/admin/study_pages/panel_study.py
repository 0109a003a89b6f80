"""A study at its panel: create it there from ours, and what is done to it from the recruitment page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotator.admin.study_pages.frame import EDITOR, render, study_page
from annotator.core.row_ids import row_id
from annotator.core.service_errors import errors_add
from annotator.forms.panel import PanelStudyForm
from annotator.models import Membership, PanelConnection, PanelStudy, Participation, Study
from annotator.recruitment.api import DRAFT, PAUSE, PUBLISH, RESUME, STOP, TRANSITIONS
from annotator.recruitment.panel import EXITS, Panel
from annotator.recruitment.plans import Difference, differences
from annotator.recruitment.registry import panel_get
from annotator.selectors.panel_connection import connection_of, current_of, panel_study_rows
from annotator.selectors.panel_plan import Needed, people_needed, places_wanted, plan_now
from annotator.selectors.user import user_of
from annotator.selectors.workspace import workspace_get_for
from annotator.services.panel_connection import panel_hooks_set_up
from annotator.services.panel_reconcile import panel_reconcile
from annotator.services.panel_study import (
    move_due,
    only_there_at_work,
    panel_study_create,
    panel_study_follow,
    panel_study_mend,
    panel_study_move,
    panel_study_places_set,
    panel_study_preview,
)

MOVES = {PUBLISH: "Publish", PAUSE: "Pause", RESUME: "Resume", STOP: "Stop"}
ACTIONS = (*MOVES, "mend", "compare", "places", "follow", "hooks")


@dataclass(frozen=True)
class Side:
    """The study at the panel beside ours, for the page."""

    row: PanelStudy
    differs: list[Difference]
    needed: Needed
    wanted: int
    moves: list[tuple[str, str]]
    #: What the mending button would do to its state, and whether it would do anything.
    due: str
    can_mend: bool
    only_here: list[Participation]

    @property
    def exits(self) -> list[tuple[str, int]]:
        """How people came back, by the name of the code."""
        return [(code.label, self.row.exits[code.field]) for code in EXITS if code.field in self.row.exits]

    @property
    def places(self) -> int:
        return int(self.row.remote.get("places") or 0)


def link_of(request: HttpRequest, study: Study, panel: Panel) -> str:
    """What the panel gets as the study's link."""
    return panel.link(request.build_absolute_uri(reverse("annotator:invitation", args=[study.join_token])))


def sides_of(request: HttpRequest, study: Study, panel: Panel) -> list[Side]:
    """Every study at the panel that we know, beside ours; the newest first."""
    rows = panel_study_rows(study)
    current = current_of(rows)
    there = only_there_at_work(current) if current else 0
    needed = people_needed(study, only_there=there) if rows else Needed(0, 0, 0, 0)
    sides = []
    for row in rows:
        row.study = study
        plan = plan_now(row, link=link_of(request, study, panel), needed=needed) if row is current else None
        differs = differences(plan, row.remote) if plan is not None and row.remote else []
        wanted = places_wanted(row, needed) if row is current else int(row.remote.get("places") or 0)
        grows = study.state == Study.State.LIVE and wanted > int(row.remote.get("places") or 0)
        if row.state != DRAFT and not grows:
            differs = [one for one in differs if one.name != "places"]
        due = move_due(row)
        mendable = [one for one in differs if row.state == DRAFT or one.name == "places"]
        sides.append(
            Side(
                row, differs, needed, wanted, [(move, MOVES[move]) for move in MOVES if row.state in TRANSITIONS[move]],
                MOVES.get(due, ""), bool(due or mendable),
                list(Participation.objects.select_related("rater").filter(pk__in=row.only_here)[:20]) if row.only_here else [],
            )
        )  # fmt: skip
    return sides


def panel_study_post(request: HttpRequest, study: Study, panel: Panel) -> None:
    """Carry out one of ``ACTIONS``."""
    connection, by = _connection(request, study), user_of(request)
    action = request.POST.get("do", "")
    try:
        if action == "hooks":
            address = reverse("annotator:panel_webhook", args=[panel.name, study.join_token])
            panel_hooks_set_up(
                study=study, connection=connection, url=request.build_absolute_uri(address), by=by
            )
            messages.success(request, "Webhooks are set up and confirmed.")
            return
        row = study.panel_study_rows.filter(pk=row_id(request.POST.get("row", "")) or 0).first()
        if row is None:
            raise Http404("no such study at the panel")
        row.study = study
        messages.success(request, _done(request, action, row, panel))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))


def _done(request: HttpRequest, action: str, row: PanelStudy, panel: Panel) -> str:
    by = user_of(request)
    if action in MOVES:
        row = panel_study_move(row=row, transition=action, by=by)
        return f"The study on {panel.title} is {row.get_state_display()} now."
    if action == "compare":
        changed = panel_reconcile(row=row)
        return f"Compared with {panel.title}: {changed or 'no'} {'submission' if changed == 1 else 'submissions'} changed here."
    if action == "mend":
        _, left = panel_study_mend(row=row, link=link_of(request, row.study, panel), by=by)
        if left:
            return f"Done. {panel.title} doesn't allow the other differences to be changed any more."
        return "Both sides are the same now."
    if action == "places":
        places = _number(request, "places")
        if not places:
            raise ValidationError("Enter how many places the study should have.")
        panel_study_places_set(row=row, places=places, by=by)
        return f"The study on {panel.title} has {places} places now."
    panel_study_follow(
        row=row, follows="on" in request.POST, most_places=_number(request, "most_places"), by=by
    )
    return "Saved."


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 8 else None


def _connection(request: HttpRequest, study: Study) -> PanelConnection:
    workspace_get_for(user=request.user, pk=study.workspace_id or 0, role=Membership.Role.EDITOR)
    connection = connection_of(study)
    if connection is None:
        raise Http404("the workspace isn't connected to the panel")
    return connection


@study_page(EDITOR, methods=("GET", "HEAD", "POST"))
def panel_study_new(request: HttpRequest, study: Study) -> HttpResponse:
    """The form for a study at the panel; what it costs and what is sent; then create it."""
    panel = panel_get(study.panel)
    if panel is None or not panel.has_api:
        raise Http404("this study's panel has no API")
    connection = _connection(request, study)
    form = PanelStudyForm(request.POST or None, study=study, panel=panel)
    context: dict[str, Any] = {"panel": panel, "connection": connection, "form": form}
    if request.method == "POST" and form.is_valid():
        link = link_of(request, study, panel)
        try:
            if request.POST.get("do") == "create":
                panel_study_create(
                    study=study,
                    connection=connection,
                    values=form.cleaned_data,
                    link=link,
                    by=user_of(request),
                )
                messages.success(
                    request, f"Created on {panel.title} as a draft. Nobody sees it until you publish it."
                )
                return redirect("admin:study_recruitment", study.pk)
            if request.POST.get("do") == "preview":
                preview = panel_study_preview(
                    study=study, connection=connection, values=form.cleaned_data, link=link
                )
                context |= {
                    "preview": preview,
                    "payload": json.dumps(preview.payload, indent=2, ensure_ascii=False),
                    "sent": [(name, value) for name in form.fields for value in request.POST.getlist(name)],
                }
        except ValidationError as error:
            errors_add(form, error)
    return render(
        request, study, "panel_study_new", tab="settings", title=f"Create {study.title} on {panel.title}",
        status=400 if form.errors else 200, **context,
    )  # fmt: skip
