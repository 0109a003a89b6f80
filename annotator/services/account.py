"""Accounts. Superusers change who can log in and who is a researcher; people choose their own language."""

from __future__ import annotations

from collections.abc import Iterable

from allauth.usersessions.models import UserSession
from django.db import transaction

from annotator.models import AuditAction, User
from annotator.services.audit import audit_change, audit_write

#: The fields of an account that the audit trail records. Not names and email addresses: entries can't be changed later.
AUDITED = ("is_active", "is_staff", "is_superuser")


@transaction.atomic
def account_save(*, account: User) -> User:
    """Save an account; the audit trail records which rights changed, and whether the password did."""
    stored = User.objects.filter(pk=account.pk).first()
    before = {name: getattr(stored, name) for name in AUDITED} if stored else {}
    account.save()
    action = AuditAction.ACCOUNT_CHANGED
    audit_change(action=action, row=account, before=before, names=AUDITED, member=account)
    if stored is not None and stored.password != account.password:
        audit_write(action=action, member=account, after={"new_password": True})
    return account


@transaction.atomic
def account_delete(*, account: User) -> None:
    """Delete an account that no study depends on. Raises ``ProtectedError`` otherwise."""
    before = {name: getattr(account, name) for name in AUDITED}
    audit_write(action=AuditAction.ACCOUNT_CHANGED, member=account, before=before, after={"deleted": True})
    account.delete()


@transaction.atomic
def sessions_end(*, sessions: Iterable[UserSession], user: User, by: User) -> int:
    """Log a person out in these browsers; returns how many they were."""
    ended = [session.end() for session in sessions]
    if ended:
        audit_write(
            action=AuditAction.ACCOUNT_CHANGED, by=by, member=user, after={"sessions_ended": len(ended)}
        )
    return len(ended)


def account_language_set(*, user: User, language: str) -> None:
    """Store the language that a person chose for their pages and emails."""
    User.objects.filter(pk=user.pk).update(language=language)
    user.language = language
