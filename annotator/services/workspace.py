"""Workspaces and their members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import ProtectedError

from annotator.core.words import listed
from annotator.models import AuditAction, Membership, User, Workspace, WorkspaceMember
from annotator.services.audit import audit_change, audit_write

OWNER = Membership.Role.OWNER


@transaction.atomic
def workspace_personal(*, user: User) -> Workspace:
    """The researcher's personal workspace, created on first use."""
    name = (user.get_full_name() or user.get_username())[:80]
    workspace, made = Workspace.objects.get_or_create(
        personal_of=user, defaults={"name": f"{name}'s workspace"}
    )
    if made:
        WorkspaceMember.objects.create(workspace=workspace, user=user, role=OWNER)
        audit_write(action=AuditAction.WORKSPACE_CREATED, workspace=workspace, by=user, member=user)
    return workspace


@transaction.atomic
def workspace_create(*, by: User, name: str) -> Workspace:
    """Create a workspace, owned by its creator. Raises ``ValidationError``."""
    workspace = Workspace(name=name)
    workspace.full_clean()
    workspace.save()
    WorkspaceMember.objects.create(workspace=workspace, user=by, role=OWNER)
    audit_write(
        action=AuditAction.WORKSPACE_CREATED, workspace=workspace, by=by, member=by, after={"name": name}
    )
    return workspace


#: What an owner sets.
SETTINGS = ("name", "second_factor_required", "model_budget")
#: What the operator of the installation sets.
LIMITS = ("calls_at_once", "jobs_at_once", "storage_megabytes")


def workspace_update(*, workspace: Workspace, by: User, **changes: Any) -> Workspace:
    """Change some of ``SETTINGS``. Raises ``ValidationError``."""
    return _update(workspace, by, SETTINGS, changes)


def workspace_limits_set(*, workspace: Workspace, by: User, **changes: Any) -> Workspace:
    """Change some of ``LIMITS``; None: no limit. The caller has checked that ``by`` is an operator. Raises ``ValidationError``.

    What is under way ends; the next call, job or file obeys. Files that are there stay.
    """
    return _update(workspace, by, LIMITS, changes)


@transaction.atomic
def _update(workspace: Workspace, by: User, names: Sequence[str], changes: Mapping[str, Any]) -> Workspace:
    workspace = Workspace.objects.select_for_update().get(pk=workspace.pk)
    before = {name: getattr(workspace, name) for name in names}
    for name in names:
        setattr(workspace, name, changes.get(name, before[name]))
    workspace.full_clean()
    workspace.save(update_fields=list(names))
    audit_change(
        action=AuditAction.WORKSPACE_CHANGED, row=workspace, before=before, names=names, workspace=workspace, by=by
    )  # fmt: skip
    return workspace


@transaction.atomic
def workspace_delete(*, workspace: Workspace, by: User) -> None:
    """Delete a workspace that owns nothing any more. Its audit trail stays. Raises ``ValidationError``."""
    workspace = Workspace.objects.select_for_update().get(pk=workspace.pk)
    if workspace.personal_of_id is not None:
        raise ValidationError("This is a person's own workspace. It stays as long as they have an account.")
    members = {member.user_id: member.role for member in workspace.members.all()}
    before = {"name": workspace.name, "members": members}
    audit_write(action=AuditAction.WORKSPACE_DELETED, workspace=workspace, by=by, before=before)
    try:
        workspace.delete()
    except ProtectedError as error:
        owned = Counter(str(row._meta.verbose_name_plural) for row in error.protected_objects)
        words = listed([f"{count} {name}" for name, count in sorted(owned.items())])
        raise ValidationError(f"It still owns {words}. Move or delete them first.") from None


@transaction.atomic
def workspace_member_set(*, workspace: Workspace, username: str, role: str) -> WorkspaceMember:
    """Make a researcher a member, or give a member another role. Raises ``ValidationError``."""
    user = User.objects.filter(username=username, is_staff=True, is_active=True).first()
    if user is None:
        raise ValidationError(
            {"username": "There is no researcher with this user name. Ask them for theirs."}
        )
    members = _locked(workspace)
    member = members.get(user.pk) or WorkspaceMember(workspace=workspace, user=user)
    before = {"role": member.role} if member.pk else {}
    member.role = role
    member.full_clean(validate_unique=False)
    _owner_left({**{pk: one.role for pk, one in members.items()}, user.pk: role})
    member.save()
    if before != {"role": role}:
        audit_write(
            action=AuditAction.MEMBER_CHANGED,
            workspace=workspace,
            member=user,
            before=before,
            after={"role": role},
        )
    return member


@transaction.atomic
def workspace_member_remove(*, workspace: Workspace, user_pk: int) -> None:
    """End a membership, and the person's roles in single studies of the workspace. To let them keep one study, add them
    to that study again. Raises ``ValidationError``.
    """
    members = _locked(workspace)
    _owner_left({pk: one.role for pk, one in members.items() if pk != user_pk})
    if user_pk in members:
        members[user_pk].delete()
        _, removed = Membership.objects.filter(study__workspace=workspace, user=user_pk).delete()
        audit_write(
            action=AuditAction.MEMBER_REMOVED,
            workspace=workspace,
            member=user_pk,
            before={"role": members[user_pk].role, "roles_in_studies": sum(removed.values())},
        )


def _locked(workspace: Workspace) -> dict[int, WorkspaceMember]:
    """The members by user, locked against concurrent changes."""
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    return {member.user_id: member for member in workspace.members.all()}


def _owner_left(roles: dict[int, Any]) -> None:
    if OWNER not in roles.values():
        raise ValidationError({"role": "A workspace needs an owner. Make someone else an owner first."})


def install_personal_workspaces() -> None:
    """Give each researcher their own workspace when they log in. Called once when Django starts."""
    user_logged_in.connect(_logged_in, dispatch_uid="personal workspace")


def _logged_in(sender: Any, user: User, **_: Any) -> None:
    if user.is_staff:
        workspace_personal(user=user)
