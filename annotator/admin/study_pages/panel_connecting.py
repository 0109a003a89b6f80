"""The part of a study's recruitment page that connects its workspace to the panel's API."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest, ValidationError
from django.http import HttpRequest

from annotator.core.service_errors import errors_add
from annotator.forms.panel import PanelTokenForm, ProjectForm
from annotator.models import Membership, PanelConnection, Study
from annotator.recruitment.api import PanelApiError
from annotator.recruitment.panel import Panel
from annotator.selectors.panel_connection import connection_of, may_spend
from annotator.selectors.user import user_of
from annotator.selectors.workspace import workspace_get_for
from annotator.services.panel_connection import (
    connection_choices,
    panel_connect,
    panel_connection_choose,
    panel_connection_test,
    panel_disconnect,
)

#: The buttons of this part.
ACTIONS = ("connect", "test", "choose", "disconnect")


def connection_context(request: HttpRequest, study: Study, panel: Panel | None) -> dict[str, Any]:
    """What the part shows. Asks the panel for its projects only if ``?project=choose``."""
    if panel is None or not panel.has_api:
        return {}
    connection = connection_of(study)
    mine = may_spend(user=request.user, study=study)
    context: dict[str, Any] = {"connection": connection, "may_spend": mine}
    if mine:
        context["token_form"] = PanelTokenForm(panel=panel)
    if mine and connection is not None and request.GET.get("project") == "choose":
        try:
            context["project_form"] = _project_form(connection)
        except PanelApiError as error:
            context["project_fault"] = str(error)
    return context


def connection_post(request: HttpRequest, study: Study, panel: Panel) -> dict[str, Any] | None:
    """Carry out one of ``ACTIONS``; returns what is shown instead of a redirect if something is wrong."""
    workspace = workspace_get_for(user=request.user, pk=study.workspace_id or 0, role=Membership.Role.EDITOR)
    action, by = request.POST.get("do", ""), user_of(request)
    if action == "connect":
        form = PanelTokenForm(request.POST, panel=panel)
        if form.is_valid():
            try:
                panel_connect(workspace=workspace, panel=panel.name, token=form.cleaned_data["token"], by=by)
            except ValidationError as error:
                errors_add(form, error)
            else:
                messages.success(request, f"Connected to {panel.title}.")
                return None
        return {"token_form": form}
    connection = connection_of(study)
    if connection is None:
        raise BadRequest("there is no connection")
    try:
        if action == "test":
            panel_connection_test(connection=connection)
            messages.success(request, f"{panel.title} accepts the token.")
        elif action == "choose":
            space, _, project = request.POST.get("place", "").partition("/")
            panel_connection_choose(connection=connection, remote_workspace=space, project=project, by=by)
            messages.success(request, "Project saved.")
        else:
            panel_disconnect(connection=connection, by=by)
            messages.success(request, f"Token deleted. Nothing is sent to {panel.title} any more.")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return None


def _project_form(connection: PanelConnection) -> ProjectForm:
    choices = [
        (f"{space.id}/{project.id}", f"{space.name}: {project.name}")
        for space, projects in connection_choices(connection)
        for project in projects
    ]
    return ProjectForm(
        choices=choices, initial={"place": f"{connection.remote_workspace}/{connection.project}"}
    )
