"""The forms with a study's texts in one language, and with one question of its exam or practice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from annotator.forms.fields import PlainForm, SafeTextField
from annotator.hit_types.base import JSON, HitType, Question
from annotator.hit_types.translations import question_texts, text_at, texts_replaced

#: Text -> its label and the rows of its field.
TEXTS = {
    "title": ("Title", 1),
    "summary": ("Summary on the invitation", 3),
    "consent_text": ("Consent text", 10),
    "instructions_text": ("Instructions", 16),
}


class TranslationForm(PlainForm):
    """A field for each text that the study has, except its questions.

    ``own`` are the originals, ``texts`` the translation so far. ``outdated`` are the names of texts whose original has
    changed since; then the form asks whether they were compared.
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
        for name, (label, rows) in TEXTS.items():
            if own[name] or texts.get(name):
                self.fields[name] = _text(label, texts.get(name, ""), rows=rows, rtl=rtl)
        if outdated:
            self.fields["compared"] = _compared("translation with the originals")

    def texts(self) -> JSON:
        """The translation as it is stored, without questions, still to be checked by the service."""
        return {name: value for name, value in self.cleaned_data.items() if value and name != "compared"}


class QuestionTranslationForm(PlainForm):
    """A field for each text of a question that can be translated, and one for its reason.

    ``stored`` is the translation so far. A field that is left empty is shown in the original.
    """

    def __init__(
        self,
        *args: Any,
        kind: HitType,
        original: Question,
        stored: Mapping[str, Any] | None,
        rtl: bool,
        outdated: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.original = original
        self.paths = {_name(path): path for path in question_texts(kind, original)}
        #: The text that each field translates.
        self.originals: dict[str, str] = {}
        for name, path in self.paths.items():
            text = text_at(original.payload, path) or ""
            now = text_at(stored["payload"], path) if stored else ""
            self.originals[name] = text
            self.fields[name] = _text(_label(path), now if now != text else "", rows=_rows(text), rtl=rtl)
        now = stored["reason"] if stored else ""
        self.originals["reason"] = original.reason
        self.fields["reason"] = _text(
            "Reason", now if now != original.reason else "", rows=_rows(original.reason), rtl=rtl
        )
        if outdated:
            self.fields["compared"] = _compared("translation of this question with the original")

    def question(self) -> JSON | None:
        """The translation as it is stored, still to be checked by the service; None if every field is empty."""
        data = self.cleaned_data
        texts = {path: data[name] for name, path in self.paths.items() if data[name]}
        if not texts and not data["reason"]:
            return None
        return {
            "key": self.original.key,
            "payload": texts_replaced(self.original.payload, texts),
            "reason": data["reason"] or self.original.reason,
        }


def _text(label: str, initial: Any, *, rows: int, rtl: bool) -> forms.Field:
    attrs: dict[str, Any] = {"dir": "rtl" if rtl else "ltr"}
    widget = forms.Textarea(attrs=attrs | {"rows": rows}) if rows > 1 else forms.TextInput(attrs=attrs)
    return SafeTextField(label=label, required=False, widget=widget, initial=initial, strip=True)


def _compared(what: str) -> forms.Field:
    return forms.BooleanField(label=f"I have compared the {what}; it says the same.", required=False)


def _rows(text: str) -> int:
    """The rows of a field for a text of this length.

    >>> _rows("Why?"), _rows("word " * 200)
    (2, 12)
    """
    return min(12, max(2, len(text) // 60 + 1 + text.count("\n")))


def _name(path: Sequence[str | int]) -> str:
    return "-".join(("text", *map(str, path)))


def _label(path: Sequence[str | int]) -> str:
    """
    >>> _label(("follow_up",)), _label(("options", 1)), _label(("explanations", 0, "text"))
    ('Follow up', 'Options 2', 'Explanations 1')
    """
    words = [str(one + 1) if isinstance(one, int) else one for one in path if one != "text" or len(path) == 1]
    return " ".join(words).replace("_", " ").capitalize()
