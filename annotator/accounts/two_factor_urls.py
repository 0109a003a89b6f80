"""The pages of second factors: allauth's, with the product's own login by passkey, which has our throttle."""

from django.urls import include, path

from annotator.accounts.login import PasskeyLogIn

urlpatterns = [
    path("webauthn/login/", PasskeyLogIn.as_view(), name="mfa_login_webauthn"),
    path("", include("allauth.mfa.urls")),
]
