"""Members of a study: invited by a link, given a role, removed. A study always keeps an owner."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.db import transaction
from django.utils import timezone

from annotator.models import AuditAction, Invitation, Membership, Study, User
from annotator.selectors.study import ROLES
from annotator.services.audit import audit_write

VALID_DAYS = 14


def invitation_digest(token: str) -> str:
    """The form in which a token is stored, so that it can't be used by anyone who reads the database."""
    return hashlib.sha256(token.encode()).hexdigest()


@transaction.atomic
def invitation_create(*, study: Study, by: User, role: str, email: str = "") -> tuple[Invitation, str]:
    """Invite a colleague; returns the invitation and the secret of its link, which is not stored.

    The link works once, for ``VALID_DAYS``. Raises ``ValidationError``.
    """
    token = secrets.token_urlsafe(24)
    invitation = Invitation(
        study=study, role=role, email=email.strip(), digest=invitation_digest(token), created_by=by,
        expires_at=timezone.now() + timedelta(days=VALID_DAYS),
    )  # fmt: skip
    invitation.full_clean()
    invitation.save()
    # Not the address: an entry can't be changed once the colleague asks to be forgotten.
    about = {"role": role, "by_email": bool(invitation.email)}
    audit_write(
        action=AuditAction.MEMBER_INVITED,
        study=study,
        by=by,
        target=f"invitation {invitation.pk}",
        after=about,
    )
    return invitation, token


def invitation_send(*, invitation: Invitation, url: str) -> None:
    """Send the link of an invitation by email. Raises ``OSError`` if mail can't be sent."""
    study, by = invitation.study, invitation.created_by
    send_mail(
        f"{by.get_full_name() or by.username} invites you to “{study.title}”",
        f"You are invited to work on the study “{study.title}” in Foretell as {invitation.role}.\n\n"
        f"Open this link to accept:\n{url}\n\n"
        f"It works once, for {VALID_DAYS} days. If you did not expect this email, you can ignore it.\n",
        None,
        [invitation.email],
    )


def invitation_find(*, token: str) -> Invitation | None:
    """The invitation of a link that can still be accepted, or None."""
    return (
        Invitation.objects.select_related("study", "created_by")
        .filter(
            digest=invitation_digest(token), accepted_at__isnull=True, revoked_at__isnull=True,
            expires_at__gt=timezone.now(), study__deleted_at__isnull=True,
        )
        .first()
    )  # fmt: skip


@transaction.atomic
def invitation_accept(*, token: str, user: User) -> Membership:
    """Make ``user`` a member with the invitation's role; if they already have a higher role, they keep it. They become
    a researcher, who can open the researchers' pages. Raises ``ValidationError`` if the link no longer works.
    """
    found = invitation_find(token=token)
    if found is None:
        raise ValidationError("This invitation has expired, or was used or withdrawn. Ask for a new one.")
    invitation = Invitation.objects.select_for_update().get(pk=found.pk)
    if invitation.accepted_at is not None:
        raise ValidationError("This invitation was already used. Ask for a new one.")
    if not user.is_staff:
        user.is_staff = True
        user.save(update_fields=["is_staff"])
    member, made = Membership.objects.get_or_create(
        study=found.study, user=user, defaults={"role": invitation.role}
    )
    if not made and ROLES.index(Membership.Role(member.role)) < ROLES.index(Membership.Role(invitation.role)):
        member.role = invitation.role
        member.save(update_fields=["role"])
    invitation.accepted_at, invitation.accepted_by = timezone.now(), user
    invitation.save(update_fields=["accepted_at", "accepted_by"])
    audit_write(
        action=AuditAction.MEMBER_JOINED,
        study=found.study,
        by=user,
        target=f"invitation {invitation.pk}",
        member=user,
        after={"role": member.role},
    )
    return member


@transaction.atomic
def invitation_revoke(*, invitation: Invitation) -> None:
    """Revoke an invitation, so that its link no longer works; an accepted one stays accepted."""
    open_one = Invitation.objects.filter(pk=invitation.pk, accepted_at__isnull=True, revoked_at__isnull=True)
    if open_one.update(revoked_at=timezone.now()):
        audit_write(
            action=AuditAction.INVITATION_WITHDRAWN,
            study=invitation.study,
            target=f"invitation {invitation.pk}",
            before={"role": invitation.role},
        )


@transaction.atomic
def member_change(*, membership: Membership, role: str) -> Membership:
    """Give a member another role. Raises ``ValidationError`` if the study would lose its last owner."""
    member = _locked(membership)
    if role not in Membership.Role.values:
        raise ValidationError({"role": f"Expected one of: {', '.join(Membership.Role.values)}."})
    if role != Membership.Role.OWNER:
        _keep_an_owner(member)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    if before != role:
        audit_write(
            action=AuditAction.MEMBER_CHANGED, study=member.study, member=member.user, before={"role": before},
            after={"role": role},
        )  # fmt: skip
    return member


@transaction.atomic
def member_remove(*, membership: Membership) -> None:
    """End a membership. Raises ``ValidationError`` if the study would lose its last owner."""
    member = _locked(membership)
    _keep_an_owner(member)
    member.delete()
    audit_write(
        action=AuditAction.MEMBER_REMOVED,
        study=member.study,
        member=member.user,
        before={"role": member.role},
    )


def _locked(membership: Membership) -> Membership:
    Study.objects.select_for_update().get(pk=membership.study_id)
    return Membership.objects.select_related("study", "user").get(pk=membership.pk)


def _keep_an_owner(member: Membership) -> None:
    others = member.study.memberships.filter(role=Membership.Role.OWNER).exclude(pk=member.pk)
    if member.role == Membership.Role.OWNER and not others.exists():
        raise ValidationError(f"{member.user} is the only owner. Make someone else an owner first.")
