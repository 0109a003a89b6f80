"""The second factor: codes of an authenticator app, limited attempts, and workspaces that require it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base import forms as mfa_forms
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import (
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.db.models.signals import pre_save
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from annotator.accounts.attempts import attempt_count, attempts_forget, client_address
from annotator.accounts.login_throttle import TOO_MANY
from annotator.accounts.sessions import LoginBackend, person_log_in
from annotator.core.sealed import Unreadable, seal, unseal
from annotator.models import LoginAttempt, User, Workspace

log = logging.getLogger(__name__)
#: What the secrets of authenticator apps are encrypted for; see ``annotator.core.sealed``.
PURPOSE = "second factor"
#: In an authenticator's data: the number of the newest half minute whose code was used.
LAST_STEP = "last_step"
REQUIRED = "Your workspace requires two-factor login. Set it up to continue."


class AccountAdapter(DefaultAccountAdapter):
    """How ``allauth`` starts a session: as the other login pages do."""

    def pre_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse | None:
        if not LoginBackend().user_can_authenticate(user):
            return self.respond_user_inactive(request, user)
        return super().pre_login(request, user, **kwargs)

    def login(self, request: HttpRequest, user: Any) -> None:
        person_log_in(request, user)

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: the pages themselves report the result."""

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)


class SecondFactorAdapter(DefaultMFAAdapter):
    """Secrets of authenticator apps are encrypted, so that nobody who reads the database can generate codes."""

    def encrypt(self, text: str) -> str:
        return seal(text, purpose=PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        """The secret. If no configured key can decrypt it, a random one, so that no code is accepted."""
        try:
            return unseal(encrypted_text, purpose=PURPOSE)
        except Unreadable as error:
            log.error("a second factor can't be read: %s", error)
            return generate_totp_secret()

    def get_totp_label(self, user: Any) -> str:
        return str(user.get_username())

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """False for the last one if the user's workspace requires a second factor."""
        others = Authenticator.objects.filter(user=authenticator.user_id).exclude(pk=authenticator.pk)
        last = not others.exclude(type=Authenticator.Type.RECOVERY_CODES).exists()
        return not (last and second_factor_required(authenticator.user))


class ThrottledCode(mfa_forms.BaseAuthenticateForm):
    """Counts codes as the login page counts passwords, in Postgres."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        help_text="From your authenticator app, or one of your recovery codes.",
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}
        ),
    )

    def clean_code(self) -> str:
        # Not the client's address: whoever has the password can choose where requests come from.
        account, where = self.user.get_username(), "second factor"
        if attempt_count(kind=LoginAttempt.Kind.LOGIN, account=account, address=where) is None:
            raise ValidationError(TOO_MANY, code="too_many")
        code = super().clean_code()
        if not code_use(self.authenticator, code):
            raise SecondFactorAdapter().validation_error("incorrect_code")
        attempts_forget(account=account, address=where)
        return code


class LoginCodeForm(ThrottledCode, mfa_forms.AuthenticateForm):
    """The second step of a login."""


class ReauthenticationCodeForm(ThrottledCode, mfa_forms.ReauthenticateForm):
    """The question before a change of the second factor itself."""


def code_use(authenticator: Authenticator, code: str) -> bool:
    """Remember in Postgres that a code was used; False if it, or a later one, had been used before.

    ``allauth`` remembers codes for half a minute in the cache, which may be wiped, but accepts each for a minute and a half.
    """
    if authenticator.type != Authenticator.Type.TOTP:
        return True
    step = _step(SecondFactorAdapter().decrypt(authenticator.data["secret"]), code)
    with transaction.atomic():
        stored = Authenticator.objects.select_for_update().get(pk=authenticator.pk)
        if step <= stored.data.get(LAST_STEP, -1):
            return False
        stored.data[LAST_STEP] = step
        stored.save(update_fields=["data"])
    authenticator.data[LAST_STEP] = step
    return True


def _step(secret: str, code: str) -> int:
    """The number of the half minute whose code this is; -1 if the code isn't valid now."""
    return max(
        (
            step
            for step in yield_hotp_counters_from_time()
            if compare_user_code(actual=code, expected=format_hotp_value(hotp_value(secret, step)))
        ),
        default=-1,
    )


def _used_in_the_set_up(sender: Any, instance: Authenticator, **_: Any) -> None:
    """The code that turns the second factor on can't be used again to log in. ``allauth`` stores nothing of it."""
    if instance._state.adding and instance.type == Authenticator.Type.TOTP and context.request is not None:
        secret = SecondFactorAdapter().decrypt(instance.data["secret"])
        instance.data[LAST_STEP] = _step(secret, context.request.POST.get("code", ""))


def install_set_up_codes() -> None:
    """Called once when Django starts."""
    pre_save.connect(_used_in_the_set_up, sender=Authenticator, dispatch_uid="code of the set-up")


def second_factor_required(user: Any) -> bool:
    """Whether a workspace of the researcher, or of a study that they are a member of, requires it."""
    mine = Q(members__user=user) | Q(studies__memberships__user=user)
    return Workspace.objects.filter(mine, second_factor_required=True).exists()


def second_factor_missing(user: Any) -> bool:
    """Whether a researcher must set it up first."""
    if not second_factor_required(user):
        return False
    return not Authenticator.objects.filter(user=user).exists()


class SecondFactorMiddleware:
    """Redirects researchers to the set-up before any researcher's page if one of their workspaces requires it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        if not _researchers_page(request) or not isinstance(request.user, User) or not request.user.is_staff:
            return None
        if _verified(request) or not second_factor_missing(request.user):
            return None
        if request.path.startswith("/api/"):
            return JsonResponse({"detail": REQUIRED}, status=403)
        return redirect("mfa_activate_totp")


def _researchers_page(request: HttpRequest) -> bool:
    match = request.resolver_match
    if match is None or match.view_name in ("admin:login", "admin:logout"):
        return False
    apps = set(match.app_names) & {"admin", "api", "evaluation", "evaluation_api"}
    return bool(apps) or request.path.startswith("/api/") or match.view_name.startswith("annotator:preview")


def _verified(request: HttpRequest) -> bool:
    """Whether this session began with a second factor: here, or at the identity provider if that asks for one."""
    methods = {
        authentication_record.get("method")
        for authentication_record in get_authentication_records(request, request.user)
    }
    return "mfa" in methods or ("socialaccount" in methods and bool(settings.OIDC_SECOND_FACTOR))
