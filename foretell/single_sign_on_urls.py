"""The pages of allauth that are used besides those of the second factor, under the names that it looks up."""

from __future__ import annotations

from allauth.account import views as account
from allauth.socialaccount import views as social
from django.contrib.auth.views import LogoutView
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("login/", RedirectView.as_view(pattern_name="annotator:login"), name="account_login"),
    path("signup/", RedirectView.as_view(pattern_name="annotator:login"), name="account_signup"),
    path("new/", RedirectView.as_view(pattern_name="annotator:login"), name="socialaccount_signup"),
    path("logout/", LogoutView.as_view(next_page="/login/"), name="account_logout"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("confirm/", account.reauthenticate, name="account_reauthenticate"),
    path("connections/", social.connections, name="socialaccount_connections"),
    path("cancelled/", social.login_cancelled, name="socialaccount_login_cancelled"),
    path("error/", social.login_error, name="socialaccount_login_error"),
    path("", include("allauth.socialaccount.providers.openid_connect.urls")),
]
