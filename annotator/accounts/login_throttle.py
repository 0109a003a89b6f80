"""Limits how often a password can be tried, whatever form or page the attempt comes from."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from annotator.accounts.attempts import attempt_count, attempts_forget, client_address
from annotator.models import LoginAttempt, User

TOO_MANY = _("Too many attempts. Try again in 15 minutes.")


class LoginThrottle:
    """The first authentication backend: refuses if a limit is reached, and otherwise leaves the decision to the next
    one. It has no ``get_user``, since it never logs anyone in: sessions name the backend that checked the password.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **rest: Any,
    ) -> None:
        if request is None or password is None:
            return
        account = username or str(rest.get(User.USERNAME_FIELD, ""))
        if (
            attempt_count(kind=LoginAttempt.Kind.LOGIN, account=account, address=client_address(request))
            is None
        ):
            request.login_throttled = True  # type: ignore[attr-defined]
            raise PermissionDenied


def clear_attempts(sender: Any, request: HttpRequest | None, user: User, **rest: Any) -> None:
    """A successful login clears failed attempts."""
    if request is not None:
        attempts_forget(account=user.get_username(), address=client_address(request))


def is_throttled(request: HttpRequest | None) -> bool:
    return bool(getattr(request, "login_throttled", False))


class ThrottledLoginForm(AuthenticationForm):
    """A login form that says when the limit is reached, even if the password was right."""

    def get_invalid_login_error(self) -> ValidationError:
        if is_throttled(self.request):
            return ValidationError(TOO_MANY, code="too_many")
        return super().get_invalid_login_error()


class ThrottledPasswordChangeForm(PasswordChangeForm):
    """Limits attempts at the old password as a login does, so that it can't be guessed from an open session."""

    throttled = False

    def clean_old_password(self) -> str:
        account = self.user.get_username()
        # Not the client's address: someone with a stolen session can choose where requests come from.
        where = f"password change of {account}"
        if attempt_count(kind=LoginAttempt.Kind.LOGIN, account=account, address=where) is None:
            self.throttled = True
            raise ValidationError(TOO_MANY, code="too_many")
        old = super().clean_old_password()
        attempts_forget(account=account, address=where)
        return old


def install_login_throttle() -> None:
    """Called once when the app is ready."""
    user_logged_in.connect(clear_attempts, dispatch_uid="annotator.accounts.login_throttle")
    own = admin.site.login_form or AuthenticationForm
    admin.site.login_form = type("AdminLogIn", (ThrottledLoginForm, own), {})
