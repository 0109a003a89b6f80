"""API tokens: created with a name and scopes, and revoked."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.accounts.api_tokens import password_state, token_digest
from annotator.core.ranges import InRange
from annotator.models import ApiToken, AuditAction, User
from annotator.services.audit import audit_write

DAYS = 365
#: Tokens that one person can have at a time.
MOST = 50


@transaction.atomic
def api_token_make(
    *,
    user: User,
    name: str = "",
    may_write: bool = True,
    may_run: bool = True,
    may_see_people: bool = True,
    days: int = DAYS,
) -> str:
    """Create a token for a researcher's program. It can't be shown again, since only its digest is stored. Every token
    can read what its owner can, except participants' data. ``may_write`` allows it to change studies, ``may_run`` to
    start and control runs of models, ``may_see_people`` to read judgments, exclusions and exports. It expires after
    ``days`` (1 to 365), when it is revoked, and when the user's password changes. Raises ``ValidationError``.
    """
    in_range = InRange(1, DAYS)
    if not in_range.holds(days):
        raise ValidationError({"days": in_range.message})
    User.objects.select_for_update().get(pk=user.pk)
    if user.api_tokens.filter(expires_at__gt=timezone.now()).count() >= MOST:
        raise ValidationError(f"You have {MOST} tokens. Revoke one that you don't use.")
    token = secrets.token_hex(20)
    row = ApiToken(
        user=user, name=name.strip(), digest=token_digest(token), may_write=may_write, may_run=may_run,
        may_see_people=may_see_people, password_state=password_state(user),
        expires_at=timezone.now() + timedelta(days=days),
    )  # fmt: skip
    row.full_clean()
    row.save()
    audit_write(
        action=AuditAction.TOKEN_CREATED, by=user, member=user, target=str(row.pk), after=_scopes(row)
    )
    return token


@transaction.atomic
def api_token_revoke(*, token: ApiToken) -> None:
    """Revoke a token; it stops working at once."""
    user = token.user
    audit_write(
        action=AuditAction.TOKEN_REVOKED, by=user, member=user, target=str(token.pk), before=_scopes(token)
    )
    token.delete()


def _scopes(token: ApiToken) -> dict[str, object]:
    names = ("name", "may_write", "may_run", "may_see_people", "expires_at")
    return {name: getattr(token, name) for name in names}
