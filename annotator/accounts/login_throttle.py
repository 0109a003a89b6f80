"""Throttles every password check, whichever form it comes from."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from annotator.accounts.attempts import client_address, knock, knocks_forget
from annotator.models import Knock, User

TOO_MANY = _("Too many attempts. Try again in 15 minutes.")


class GuessingGuard:
    """The first authentication backend: denies the check after too many attempts, otherwise leaves it to the next one.

    It has no ``get_user``, because it logs no one in: sessions name the backend that checked the password.
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
        if knock(kind=Knock.Kind.LOGIN, account=account, address=client_address(request)) is None:
            request.__dict__["too_many_tries"] = True
            raise PermissionDenied


def forget_tries(sender: Any, request: HttpRequest | None, user: User, **rest: Any) -> None:
    """A successful login clears failed attempts."""
    if request is not None:
        knocks_forget(account=user.get_username(), address=client_address(request))


def too_many_tries(request: HttpRequest | None) -> bool:
    return bool(request is not None and request.__dict__.get("too_many_tries"))


class SaysTooMany(AuthenticationForm):
    """A log-in form that says when there were too many attempts, even if the password was right."""

    def get_invalid_login_error(self) -> ValidationError:
        if too_many_tries(self.request):
            return ValidationError(TOO_MANY, code="too_many")
        return super().get_invalid_login_error()


def install_login_guard() -> None:
    """Connect the signal and the admin's log-in form. Called once, when the app is ready."""
    user_logged_in.connect(forget_tries, dispatch_uid="annotator.accounts.login_throttle")
    own = admin.site.login_form or AuthenticationForm
    admin.site.login_form = type("AdminLogIn", (SaysTooMany, own), {})
