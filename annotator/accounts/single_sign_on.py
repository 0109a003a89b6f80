"""Single sign-on with OpenID Connect, for researchers; participants join by their study's link."""

from __future__ import annotations

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import redirect

from annotator.models import User

#: The provider's name in addresses: its callback is ``/sso/oidc/login/callback/``.
PROVIDER = "oidc"


def single_sign_on_name() -> str:
    """What the login page calls the provider; empty if there is none."""
    return str(settings.OIDC_NAME) if settings.OIDC_ISSUER else ""


class SingleSignOnAdapter(DefaultSocialAccountAdapter):
    """Decides who may log in, and with which account.

    An account is never found by its email address, which users choose themselves. People who have an account log in to
    it and connect it. Others get a new account, as researchers.
    """

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        if not _may_enter(sociallogin.account.extra_data):
            _refuse(
                request, "Your account there isn't in the group that may use this site. Ask its operator."
            )
        # Not stored: the address is a field of the user.
        sociallogin.email_addresses = []
        if sociallogin.is_existing or sociallogin.state.get("process") == "connect":
            return
        email = sociallogin.user.email
        if email and User.objects.filter(email__iexact=email, is_staff=True).exists():
            _refuse(
                request,
                "There is an account with your email address already. Log in to it with its password, then open"
                " Two-factor login and connect it.",
            )

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: dict[str, Any]) -> Any:
        user = super().populate_user(request, sociallogin, data)
        user.is_staff = True
        return user


def _may_enter(extra_data: dict[str, Any]) -> bool:
    """Whether the claim in ``OIDC_REQUIRED_CLAIM`` has the required value; True if the setting is empty."""
    name, _, wanted = settings.OIDC_REQUIRED_CLAIM.partition("=")
    if not name:
        return True
    claims = {**extra_data.get("id_token", {}), **extra_data.get("userinfo", {})}
    found = claims.get(name)
    return wanted in found if isinstance(found, list) else found == wanted


def _refuse(request: HttpRequest, message: str) -> None:
    messages.error(request, message)
    raise ImmediateHttpResponse(redirect("annotator:login"))
