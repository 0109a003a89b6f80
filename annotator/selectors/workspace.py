"""The only way in which researchers reach workspaces, and the rule of who reaches what a workspace owns."""

from __future__ import annotations

import logging
from typing import Any

from django.db.models import Q, QuerySet
from django.http import Http404

from annotator.models import Membership, Workspace, WorkspaceMember
from annotator.selectors.study import roles_from

log = logging.getLogger(__name__)


def workspaces_for(*, user: Any, role: str = Membership.Role.VIEWER) -> QuerySet[Workspace]:
    """The workspaces in which a researcher has at least this role; a superuser has them all."""
    if not user.is_active or not user.is_staff:
        return Workspace.objects.none()
    if user.is_superuser:
        return Workspace.objects.all()
    mine = WorkspaceMember.objects.filter(user=user, role__in=roles_from(role))
    return Workspace.objects.filter(pk__in=mine.values("workspace"))


def workspace_get_for(*, user: Any, pk: int | str, role: str = Membership.Role.VIEWER) -> Workspace:
    """A workspace in which the researcher has at least this role; raises ``Http404`` for any other, and logs it."""
    found = workspaces_for(user=user, role=role).filter(pk=pk).first()
    if found is None:
        log.warning("workspace %s: access denied to user %s as %s", pk, user.pk, role)
        raise Http404("no such workspace")
    return found


def owned_by(*, user: Any, role: str = Membership.Role.VIEWER, path: str = "workspace", maker: str = "") -> Q:
    """What the researcher's workspaces own, as a condition: ``path`` leads from the row to its workspace.

    ``maker`` leads to whoever made the row: what has no workspace is theirs. A superuser reaches everything.
    """
    if user.is_active and user.is_superuser:
        return Q()
    owned = Q(**{f"{path}__in": workspaces_for(user=user, role=role).values("pk")})
    if maker and user.is_active and user.is_staff:
        owned |= Q(**{f"{path}__isnull": True, maker: user})
    return owned
