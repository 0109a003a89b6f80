"""Access to workspaces and to what they own. Pages, API and commands reach them only through these functions."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet, Value
from django.http import Http404

from annotator.models import Membership, Workspace, WorkspaceMember
from annotator.selectors.study import roles_from

log = logging.getLogger(__name__)


def workspaces_for(*, user: Any, role: str = Membership.Role.VIEWER) -> QuerySet[Workspace]:
    """The workspaces in which a researcher has at least this role; a superuser has all of them."""
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


def workspace_role(*, user: Any, workspace: Workspace) -> Membership.Role | None:
    """The researcher's role in a workspace: owner for a superuser, None for anyone who isn't a member."""
    if not user.is_active or not user.is_staff:
        return None
    if user.is_superuser:
        return Membership.Role.OWNER
    role = workspace.members.filter(user=user).values_list("role", flat=True).first()
    return Membership.Role(role) if role else None


@dataclass(frozen=True)
class RolesHeld:
    """The roles that a researcher has in at least one study, and in at least one workspace."""

    in_studies: frozenset[str]
    in_workspaces: frozenset[str]


def roles_held(*, user: Any) -> RolesHeld:
    """One query the first time and none afterwards for the same user object, since every admin page asks several times."""
    known: RolesHeld | None = getattr(user, "roles_held_known", None)
    if known is None:
        single = Membership.objects.filter(user=user, study__deleted_at__isnull=True).order_by()
        labs = WorkspaceMember.objects.filter(user=user).order_by()
        rows = set(
            single.annotate(lab=Value(0))
            .values_list("lab", "role")
            .union(labs.annotate(lab=Value(1)).values_list("lab", "role"))
        )
        known = user.roles_held_known = RolesHeld(
            *(frozenset(role for lab, role in rows if lab == which) for which in (0, 1))
        )
    return known


def workspace_anywhere(*, user: Any, role: str) -> bool:
    """Whether the researcher has at least this role in some workspace."""
    if not user.is_active or not user.is_staff:
        return False
    return user.is_superuser or bool(roles_held(user=user).in_workspaces & set(roles_from(role)))


def owned_by(*, user: Any, role: str = Membership.Role.VIEWER, path: str = "workspace", maker: str = "") -> Q:
    """A condition for rows that the researcher's workspaces own. ``path`` leads from the row to its workspace and
    ``maker`` to its creator, who also reaches rows without a workspace. A superuser reaches everything.
    """
    if user.is_active and user.is_superuser:
        return Q()
    owned = Q(**{f"{path}__in": workspaces_for(user=user, role=role).values("pk")})
    if maker and user.is_active and user.is_staff:
        owned |= Q(**{f"{path}__isnull": True, maker: user})
    return owned
