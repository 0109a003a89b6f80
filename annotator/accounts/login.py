"""The login page: a password, then a second factor where the account has one, or single sign-on."""

from __future__ import annotations

from typing import Any

from allauth.account.app_settings import EmailVerificationMethod
from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from allauth.account.utils import get_next_redirect_url
from allauth.mfa.webauthn.internal.flows import perform_passwordless_login
from allauth.mfa.webauthn.views import LoginWebAuthnView
from django.contrib import admin
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache

from annotator.accounts.login_throttle import ThrottledLoginForm, is_throttled
from annotator.accounts.single_sign_on import PROVIDER, single_sign_on_name


@method_decorator(never_cache, name="dispatch")
class LogIn(LoginView):
    """The annotators' and researchers' login. With the right password, ``allauth`` asks for the second factor."""

    template_name = "annotator/login.html"
    form_class = ThrottledLoginForm
    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        return reverse("annotator:me")

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        login = Login(
            user=user, redirect_url=self.get_success_url(), email_verification=EmailVerificationMethod.NONE
        )
        # Somebody who has just entered their password isn't asked for it again before the set-up of a second factor.
        record_authentication(self.request, user, "password", reauthenticated=True)
        return perform_login(self.request, login)

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        if is_throttled(self.request):
            response.status_code = 429
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        if name := single_sign_on_name():
            where = reverse("openid_connect_login", args=[PROVIDER])
            query = urlencode({"next": self.get_redirect_url()}) if self.get_redirect_url() else ""
            context |= {"sso_name": name, "sso_url": f"{where}?{query}" if query else where}
        return context | {"passkey_refused": "passkey" in self.request.GET}


class PasskeyLogIn(LoginWebAuthnView):
    """A login with a passkey alone. It counts as a second factor: the device has asked for a finger, a face or a PIN."""

    def form_valid(self, form: Any) -> HttpResponse:
        authenticator = form.cleaned_data["credential"]
        staff = authenticator.user.is_staff
        where = get_next_redirect_url(self.request) or reverse("admin:index" if staff else "annotator:me")
        login = Login(
            user=authenticator.user, redirect_url=where, email_verification=EmailVerificationMethod.NONE
        )
        return perform_passwordless_login(self.request, authenticator, login)

    def form_invalid(self, form: Any) -> HttpResponse:
        return redirect(f"{reverse('annotator:login')}?passkey=refused")


class AdminLogIn(LogIn):
    """The same page, for the admin: only researchers can log in. Anyone else who is logged in sees the form."""

    redirect_authenticated_user = False

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "GET" and admin.site.has_permission(request):
            return redirect("admin:index")
        return super().dispatch(request, *args, **kwargs)

    def get_form_class(self) -> Any:
        return admin.site.login_form

    def get_default_redirect_url(self) -> str:
        return reverse("admin:index")


def install_admin_login() -> None:
    """Called once when the admin's pages are imported."""
    admin.site.login = AdminLogIn.as_view()  # type: ignore[method-assign, assignment]
