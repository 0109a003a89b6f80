"""The form with a study's texts in one language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField
from annotator.hit_types.base import JSON

#: Text -> its label and the rows of its field.
TEXTS = {
    "title": ("Title", 1),
    "summary": ("Summary on the invitation", 3),
    "consent_text": ("Consent text", 10),
    "instructions_text": ("Instructions", 16),
}
QUESTIONS = {"exam": "Exam questions", "practice": "Practice questions"}


class TranslationForm(PlainForm):
    """A field for each text that the study has. ``own`` are the originals, ``texts`` the translation so far.

    ``outdated`` are the names of texts whose original has changed since; then the form asks whether they were compared.
    """

    def __init__(
        self,
        *args: Any,
        own: Mapping[str, Any],
        texts: Mapping[str, Any],
        rtl: bool,
        outdated: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        direction = {"dir": "rtl" if rtl else "ltr"}
        for name, (label, rows) in TEXTS.items():
            if own[name] or texts.get(name):
                attrs = direction | ({"rows": rows} if rows > 1 else {})
                widget = forms.Textarea(attrs=attrs) if rows > 1 else forms.TextInput(attrs=attrs)
                self.fields[name] = SafeTextField(
                    label=label, required=False, widget=widget, initial=texts.get(name, ""), strip=True
                )
        for name, label in QUESTIONS.items():
            if own[name] or texts.get(name):
                stored = texts.get(name)
                self.fields[name] = SafeTextField(
                    label=label,
                    required=False,
                    widget=forms.Textarea(attrs={"rows": 12, "dir": "ltr", "spellcheck": "false"}),
                    initial=json.dumps(stored, indent=2, ensure_ascii=False) if stored else "",
                    help_text="JSON: a list of questions with key, payload and reason. Copy the original and translate"
                    " the texts in payload and reason. Questions that you leave out are shown in the original.",
                )

        if outdated:
            self.fields["compared"] = forms.BooleanField(
                label="I have compared the translation with the originals; it says the same.", required=False
            )

    def clean(self) -> JSON:
        data: JSON = super().clean() or self.cleaned_data
        for name in QUESTIONS:
            if text := data.get(name):
                try:
                    data[name] = json.loads(text)
                except (ValueError, RecursionError) as error:
                    at = f"line {getattr(error, 'lineno', 1)}, column {getattr(error, 'colno', 1)}"
                    self.add_error(name, f"This is not valid JSON ({at}). Expected a list of questions.")
        return data

    def texts(self) -> JSON:
        """The translation as it is stored, still to be checked by the service."""
        return {name: value for name, value in self.cleaned_data.items() if value and name != "compared"}
