"""The second factor in the audit trail, and its removal for somebody who has lost their device."""

from __future__ import annotations

from typing import Any

from allauth.account.signals import user_signed_up
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from django.db import transaction

from annotator.accounts.second_factor import PURPOSE
from annotator.core.sealed import Unreadable, resealed
from annotator.models import AuditAction, User
from annotator.services.audit import audit_write


@transaction.atomic
def second_factor_remove(*, user: User, by: User) -> int:
    """Remove the second factors of somebody who can't use them any more; returns how many.

    They log in with their password again, and set up another one if a workspace requires it. Make sure that it is
    them before.
    """
    removed = Authenticator.objects.filter(user=user)
    kinds = sorted(removed.values_list("type", flat=True))
    removed.delete()
    if kinds:
        action = AuditAction.SECOND_FACTOR_CHANGED
        audit_write(action=action, by=by, member=user, before={"has": kinds}, after={"has": []})
    return len(kinds)


@transaction.atomic
def second_factors_rotate(*, dry_run: bool = False) -> tuple[int, list[str]]:
    """Encrypt every stored secret with the newest ``SECRET_KEY``; returns how many were changed, and the users whose
    secret no key can decrypt."""
    changed, unreadable = 0, []
    for authenticator in (
        Authenticator.objects.select_for_update(of=("self",)).select_related("user").order_by("pk")
    ):
        secrets = {
            name: authenticator.data[name] for name in ("secret", "seed") if authenticator.data.get(name)
        }
        try:
            newest = {name: resealed(sealed, purpose=PURPOSE) for name, sealed in secrets.items()}
        except Unreadable:
            unreadable.append(authenticator.user.get_username())
            continue
        changed += newest != secrets
        if newest != secrets and not dry_run:
            authenticator.data |= newest
            authenticator.save(update_fields=["data"])
            after = {"encrypted with a new secret key": authenticator.type}
            audit_write(action=AuditAction.SECOND_FACTOR_CHANGED, member=authenticator.user, after=after)
    return changed, sorted(set(unreadable))


def install_second_factor_audit() -> None:
    """Record the changes that people make to their own second factor. Called once when Django starts."""
    for signal, word in (
        (authenticator_added, "added"),
        (authenticator_removed, "removed"),
        (authenticator_reset, "made anew"),
    ):
        signal.connect(_recorder(word), weak=False, dispatch_uid=f"audit of a second factor {word}")
    user_signed_up.connect(_signed_up, dispatch_uid="audit of single sign-on")


def _recorder(word: str) -> Any:
    def record(sender: Any, user: User, authenticator: Authenticator, **_: Any) -> None:
        audit_write(
            action=AuditAction.SECOND_FACTOR_CHANGED, by=user, member=user, after={word: authenticator.type}
        )

    return record


def _signed_up(sender: Any, user: User, **_: Any) -> None:
    after = {"is_staff": user.is_staff, "by": "single sign-on"}
    audit_write(action=AuditAction.ACCOUNT_CHANGED, by=user, member=user, after=after)
