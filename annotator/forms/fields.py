"""Fields of the researchers' forms, rendered by `templates/admin/annotator/study_pages/_field.html`."""

from __future__ import annotations

from typing import Any

from django import forms


class PlainForm(forms.Form):
    """A form without colons after its labels, whose fields point to their help and errors."""

    def __init__(self, *args: Any, **kwargs: Any):
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        describe(self)


def describe(form: forms.BaseForm) -> None:
    """Tie each field to its help and its errors, for people who use a screen reader."""
    for name, field in form.fields.items():
        notes = [f"id_{name}_help"] * bool(field.help_text) + [f"id_{name}_error"] * bool(form.is_bound)
        if notes:
            field.widget.attrs["aria-describedby"] = " ".join(notes)


class SafeTextField(forms.CharField):
    """Text without unpaired surrogates, which Postgres cannot store."""

    def clean(self, value: Any) -> Any:
        cleaned = super().clean(value)
        if isinstance(cleaned, str) and any("\ud800" <= ch <= "\udfff" for ch in cleaned):
            raise forms.ValidationError("Contains an invalid character. Paste the text again or remove it.")
        return cleaned


class NoteField(SafeTextField):
    """A few sentences, such as a reason."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=2_000, widget=forms.Textarea(attrs={"rows": 3}), **kwargs)
