"""The endpoint that a command names."""

from __future__ import annotations

from django.core.management.base import CommandError
from django.db.models import Q

from annotator.models import User, Workspace
from annotator.selectors.workspace import workspaces_for
from evaluation.models import Endpoint
from evaluation.selectors.endpoint import endpoint_named, endpoints_usable_in


def endpoint_and_workspace(*, name: str, workspace: str = "") -> tuple[Endpoint, Workspace | None]:
    """The endpoint with this name and the workspace that is to own what it makes.

    ``workspace`` is a workspace's number or a user name: the person's own workspace, or the only one of theirs that has such an
    endpoint. If it is empty, an endpoint without a workspace is meant, or the only one with this name on the installation.
    Raises ``CommandError``, which says what to add.
    """
    owner, candidates = _owner(workspace)
    if owner is not None or not workspace:
        endpoint = endpoint_named(name=name, workspace_id=owner.pk if owner else None)
        if endpoint is not None:
            return endpoint, owner
    named = list(
        Endpoint.objects.filter(candidates, name=name).select_related("workspace").order_by("workspace", "pk")
    )
    if len(named) == 1:
        return named[0], named[0].workspace
    if named:
        several = ", ".join(f"--workspace {one.workspace_id} ({one.workspace})" for one in named)
        raise CommandError(f"Several workspaces have an endpoint {name!r}. Add one of: {several}.")
    names = Endpoint.objects.filter(candidates).order_by("name").values_list("name", flat=True).distinct()
    if not names:
        raise CommandError(
            f"There is no endpoint {name!r}: there are none yet; add one in the admin under Endpoints."
        )
    raise CommandError(f"There is no endpoint {name!r}; expected one of: {', '.join(names[:20])}.")


def endpoint_of_study(*, name: str, workspace_id: int | None) -> Endpoint:
    """The endpoint with this name that a study's workspace can use. Raises ``CommandError``, which says what to do."""
    endpoint = endpoint_named(name=name, workspace_id=workspace_id)
    if endpoint is not None:
        return endpoint
    usable = endpoints_usable_in(workspace_id).order_by("name").values_list("name", flat=True)
    names = ", ".join(usable) or "none"
    elsewhere = Endpoint.objects.filter(name=name).select_related("workspace").order_by("pk").first()
    advice = ""
    if elsewhere is not None:
        place = f"workspace {elsewhere.workspace}" if elsewhere.workspace else "no workspace"
        advice = (
            f" The endpoint {name!r} of {place} isn't shared with the study's workspace. Share it in the admin under Endpoints, or "
            "create the study with --owner so that it belongs to that workspace."
        )
    raise CommandError(f"The study can't use an endpoint {name!r}. It can use: {names}.{advice}")


def _owner(given: str) -> tuple[Workspace | None, Q]:
    """The workspace with this number, or the own workspace of the person with this user name; and whose endpoints to look at."""
    if not given:
        return None, Q()
    if given.isdecimal():
        workspace = Workspace.objects.filter(pk=given).first()
        if workspace is None:
            raise CommandError(f"There is no workspace {given}. Give another number, or a user name.")
        return workspace, Q(workspace=workspace) | Q(shared_with=workspace)
    user = User.objects.filter(username=given).first()
    if user is None:
        raise CommandError(f"There is no workspace {given!r}. Give its number or a user name.")
    own = Workspace.objects.filter(personal_of=user).first()
    return own, Q(workspace__in=workspaces_for(user=user))
