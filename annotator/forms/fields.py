"""Form fields drawn by `templates/admin/study/_form.html`: plain inputs, styled by the researchers' own sheet."""

from __future__ import annotations

from typing import Any

from django import forms


class PlainForm(forms.Form):
    """A form with accessible fields and labels without a colon."""

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        describe(self)


def describe(form: forms.BaseForm) -> None:
    """Tie each field to its help and its errors, for screen readers."""
    for name, field in form.fields.items():
        notes = [f"id_{name}_help"] * bool(field.help_text) + [f"id_{name}_error"] * bool(form.is_bound)
        if notes:
            field.widget.attrs["aria-describedby"] = " ".join(notes)


class SafeTextField(forms.CharField):
    """Text without lone surrogates, which the database cannot store."""

    def clean(self, value: Any) -> Any:
        cleaned = super().clean(value)
        if isinstance(cleaned, str) and any("\ud800" <= ch <= "\udfff" for ch in cleaned):
            raise forms.ValidationError("This text contains an invalid character. Remove it and try again.")
        return cleaned
