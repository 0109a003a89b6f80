"""The form for a new passkey. It's in a file of its own, because the library for passkeys takes a tenth of a process's start."""

from __future__ import annotations

from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms


class PasskeyForm(AddWebAuthnForm):
    """A new passkey, with which its owner can log in without a password unless they choose otherwise."""

    name = forms.CharField(
        label="Name", max_length=60, required=False, help_text="For example, the device that has it."
    )
    passwordless = forms.BooleanField(
        label="Log in with it alone",
        required=False,
        initial=True,
        help_text="Otherwise it replaces the code after your password.",
    )
