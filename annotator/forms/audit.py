"""The filters of the audit trail."""

from __future__ import annotations

from typing import Any

from django import forms

from annotator.forms.fields import PlainForm
from annotator.models import AUDIT_GROUPS


class AuditFilterForm(PlainForm):
    """Which entries to show; everything may be empty."""

    group = forms.ChoiceField(
        choices=[("", "everything"), *AUDIT_GROUPS.items()], required=False, label="About"
    )
    who = forms.ChoiceField(required=False, label="By")
    since = forms.DateField(
        required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    until = forms.DateField(
        required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def __init__(self, *args: Any, people: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["who"].choices = [("", "anybody"), *((name, name) for name in people)]  # type: ignore[attr-defined]
