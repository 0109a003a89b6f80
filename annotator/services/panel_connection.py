"""Connect a workspace to a recruitment panel's API: the token is tested, stored encrypted, and never shown again."""

from __future__ import annotations

import json
import logging

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core.sealed import Unreadable, resealed, seal, unseal
from annotator.models import AuditAction, PanelConnection, PanelStudy, Study, User, Workspace
from annotator.recruitment.api import Named, PanelApi, PanelApiError
from annotator.recruitment.panel import Panel
from annotator.recruitment.registry import panel_get
from annotator.services.audit import audit_write
from annotator.services.panel_events import PURPOSE as WEBHOOKS
from annotator.services.panel_events import panel_secret_set

log = logging.getLogger(__name__)

PURPOSE = "panel token"


def panel_connect(*, workspace: Workspace, panel: str, token: str, by: User | None) -> PanelConnection:
    """Test a token and store it encrypted, in place of an earlier one. Raises ``ValidationError`` if the panel refuses it.

    The panel's first workspace and project are used until others are chosen.
    """
    its = _with_api(panel)
    token = token.strip()
    if not (8 <= len(token) <= 500 and token.isascii() and token.isprintable() and " " not in token):
        raise ValidationError({"token": f"Expected the whole token, as {its.title} shows it."})
    api = its.api(token)
    try:
        spaces = api.account().workspaces
        if not spaces:
            raise ValidationError(
                {"token": f"This account has no workspace on {its.title}. Create one there first."}
            )
        kept = PanelConnection.objects.filter(workspace=workspace, panel=panel).first()
        before = kept.remote_workspace if kept else ""
        space = next((one for one in spaces if one.id == before), spaces[0])
        projects = api.projects(space.id)
        chosen = next(
            (project for project in projects if kept and project.id == kept.project),
            next(iter(projects), Named("", "")),
        )
        currency = api.balance(space.id).currency
    except PanelApiError as error:
        raise ValidationError({"token": str(error)}) from None
    values = {
        "token_sealed": _sealed(its, token), "remote_workspace": space.id, "remote_workspace_name": space.name[:200],
        "project": chosen.id, "project_name": chosen.name[:200], "currency": currency[:3], "connected_by": by,
        "tested_at": timezone.now(), "fault": "",
    }  # fmt: skip
    with transaction.atomic():
        connection, made = PanelConnection.objects.update_or_create(
            workspace=workspace, panel=panel, defaults=values
        )
        audit_write(
            action=AuditAction.PANEL_CONNECTED, workspace=workspace, by=by, target=panel,
            after={"api_token": "set" if made else "replaced", "panel_workspace": space.id},
        )  # fmt: skip
    return connection


def connection_api(connection: PanelConnection) -> PanelApi:
    """The panel's API with the connection's token. Raises ``PanelApiError`` if no secret key can read it, or if it was entered for
    another address."""
    its = panel_get(connection.panel)
    if its is None or not its.installed or not its.has_api:
        raise PanelApiError(f"The panel “{connection.panel}” has no API on this server.")
    again = "Enter it again."
    try:
        content = json.loads(unseal(connection.token_sealed, purpose=PURPOSE))
    except (Unreadable, ValueError):
        raise PanelApiError(f"The stored token can't be read with this secret key. {again}") from None
    if content["url"] != its.api_url:
        raise PanelApiError(f"The stored token was given for another address of {its.title}'s API. {again}")
    return its.api(content["token"])


def panel_connection_test(*, connection: PanelConnection) -> PanelConnection:
    """Ask the panel whether the token still works, and store what it says. Raises ``ValidationError`` if it doesn't."""
    try:
        connection_api(connection).account()
    except PanelApiError as error:
        PanelConnection.objects.filter(pk=connection.pk).update(fault=str(error)[:800])
        raise ValidationError(str(error)) from None
    PanelConnection.objects.filter(pk=connection.pk).update(fault="", tested_at=timezone.now())
    connection.refresh_from_db()
    return connection


def connection_choices(connection: PanelConnection) -> list[tuple[Named, tuple[Named, ...]]]:
    """The panel's workspaces with their projects. Raises ``PanelApiError``."""
    api = connection_api(connection)
    return [(space, api.projects(space.id)) for space in api.account().workspaces]


def panel_connection_choose(
    *, connection: PanelConnection, remote_workspace: str, project: str, by: User | None
) -> PanelConnection:
    """Choose the panel's workspace and project in which studies are created. Raises ``ValidationError``."""
    try:
        found = {
            (space.id, one.id): (space, one)
            for space, projects in connection_choices(connection)
            for one in projects
        }
        if (remote_workspace, project) not in found:
            raise ValidationError("Choose one of the projects in the list.")
        space, its_project = found[remote_workspace, project]
        currency = connection_api(connection).balance(space.id).currency
    except PanelApiError as error:
        raise ValidationError(str(error)) from None
    before = {"panel_workspace": connection.remote_workspace, "project": connection.project}
    with transaction.atomic():
        connection = PanelConnection.objects.select_for_update().get(pk=connection.pk)
        moved = connection.remote_workspace != space.id
        connection.remote_workspace, connection.remote_workspace_name = space.id, space.name[:200]
        connection.project, connection.project_name = its_project.id, its_project.name[:200]
        connection.currency = currency[:3]
        if moved:
            connection.secret_sealed, connection.hooks = (
                "",
                {},
            )  # the secret of webhooks belongs to the panel's workspace
        connection.save()
        audit_write(
            action=AuditAction.PANEL_CONNECTED, workspace=connection.workspace, by=by, target=connection.panel,
            before=before, after={"panel_workspace": space.id, "project": its_project.id},
        )  # fmt: skip
    return connection


def panel_hooks_set_up(
    *, study: Study, connection: PanelConnection, url: str, by: User | None
) -> PanelConnection:
    """Subscribe the study's address to the panel's webhooks and confirm it; safe to repeat. The secret that signs them is stored
    encrypted with the connection. Raises ``ValidationError``."""
    try:
        secret, hooks = connection_api(connection).hooks_set_up(
            workspace=connection.remote_workspace, url=url
        )
    except PanelApiError as error:
        raise ValidationError(str(error)) from None
    with transaction.atomic():
        connection = PanelConnection.objects.select_for_update().get(pk=connection.pk)
        connection.secret_sealed = seal(secret, purpose=WEBHOOKS)
        connection.hooks = {**connection.hooks, str(study.pk): timezone.now().isoformat()}
        connection.save(update_fields=["secret_sealed", "hooks"])
        if study.panel_secret_sealed:  # one that was entered by hand, perhaps for an earlier secret
            panel_secret_set(study=study, by=by, secret="")
        audit_write(
            action=AuditAction.PANEL_WEBHOOKS, study=study, by=by, target=study.panel,
            after={"subscriptions": [hook.kind for hook in hooks]},
        )  # fmt: skip
    return connection


@transaction.atomic
def panel_disconnect(*, connection: PanelConnection, by: User | None) -> None:
    """Delete the token and the secret of webhooks. Studies at the panel go on; nothing is sent there any more."""
    PanelStudy.objects.filter(study__workspace=connection.workspace_id, panel=connection.panel).update(
        follows_work=False
    )
    audit_write(
        action=AuditAction.PANEL_DISCONNECTED, workspace=connection.workspace, by=by, target=connection.panel,
        before={"panel_workspace": connection.remote_workspace},
    )  # fmt: skip
    connection.delete()


@transaction.atomic
def panel_tokens_rotate(*, dry_run: bool = False) -> tuple[int, list[str]]:
    """Encrypt every token with the newest ``SECRET_KEY``; returns how many were changed, and the connections whose token no key can
    decrypt."""
    changed, unreadable = 0, []
    rows = PanelConnection.objects.select_for_update(of=("self",)).select_related("workspace").order_by("pk")
    rows = rows.exclude(token_sealed="")  # restored from a workspace's backup, and not connected again yet
    for connection in rows:
        try:
            sealed = resealed(connection.token_sealed, purpose=PURPOSE)
        except Unreadable:
            unreadable.append(str(connection))
            continue
        if sealed != connection.token_sealed:
            changed += 1
            if not dry_run:
                PanelConnection.objects.filter(pk=connection.pk).update(token_sealed=sealed)
    return changed, unreadable


def _sealed(panel: Panel, token: str) -> str:
    return seal(json.dumps({"token": token, "url": panel.api_url}), purpose=PURPOSE)


def _with_api(panel: str) -> Panel:
    its = panel_get(panel)
    if its is None or not its.installed or not its.has_api:
        raise ValidationError("This panel has no API that can be connected.")
    return its
