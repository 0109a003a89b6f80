"""Reads input from outside, import rows and submitted responses, and collects every error by its field."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from annotator.hit_types.shapes import JSON, Field, FieldErrors

MAX_TEXT = 20_000
_BROKEN = re.compile("[\\x00\\ud800-\\udfff]")


def parse_fields(fields: Sequence[Field], raw: Mapping[str, Any]) -> JSON:
    """Check raw values against declared fields; returns only the fields that are asked given the other answers.

    Unknown keys are ignored (a client cannot add ``score`` or ``rater``). Raises ``FieldErrors``.

    >>> from annotator.hit_types.shapes import Option
    >>> helpful = Field("helpful", "Does it help?", options=(Option("yes", "Yes"), Option("no", "No")))
    >>> parse_fields([helpful], {"helpful": "yes", "score": 1})
    {'helpful': 'yes'}
    """
    response: JSON = {}
    errors: dict[str, str] = {}
    for asked in fields:
        if not asked.applies(response):
            continue
        value = raw.get(asked.name)
        if asked.kind == "multi":
            values = [] if value in (None, "") else value if isinstance(value, list) else [value]
            allowed = [option.value for option in asked.options]
            if any(not isinstance(v, str) or v not in allowed for v in values):
                errors[asked.name] = f"choose only from: {', '.join(allowed)}"
            elif asked.required and not values:
                errors[asked.name] = "choose at least one"
            else:
                response[asked.name] = [v for v in allowed if v in values]
            continue
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None or value == "":
            if asked.required:
                errors[asked.name] = "choose an answer" if asked.kind == "choice" else "write an answer"
            elif asked.kind == "text":
                response[asked.name] = ""
            continue
        if not isinstance(value, str):
            errors[asked.name] = f"expected text, got {type(value).__name__}"
        elif asked.kind == "choice":
            allowed = [option.value for option in asked.options]
            if value in allowed:
                response[asked.name] = value
            else:
                errors[asked.name] = f"choose one of: {', '.join(allowed)}"
        elif len(value) > asked.max_length:
            errors[asked.name] = _too_long(asked, len(value))
        elif asked.required and not value.strip():
            errors[asked.name] = "write an answer"
        else:
            try:
                response[asked.name] = clean_text(value)
            except FieldErrors as error:
                errors[asked.name] = error.errors["text"]
    if errors:
        raise FieldErrors(errors)
    return response


def _too_long(asked: Field, length: int) -> str:
    if asked.passages:
        return (
            f"the marked passages and their words have {length:,} characters in all, and at most {asked.max_length:,} can be stored; "
            "mark shorter or fewer passages"
        )
    return f"at most {asked.max_length} characters, got {length}"


def clean_text(value: str) -> str:
    """Text that can be stored: no NUL, no lone surrogate, line ends as ``\\n``, no white space at either end."""
    value = value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if _BROKEN.search(value):
        raise FieldErrors({"text": "contains a NUL byte or an invalid character"})
    return value


def is_blank(value: Any) -> bool:
    """Whether an import cell is empty: absent, white space, or the NaN that data frames use for missing values."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def stable_key(*parts: str) -> str:
    """A short name that depends only on the content: the first 12 hex digits of its SHA-256.

    >>> stable_key("a", "b") == stable_key("a", "b") != stable_key("ab", "")
    True
    """
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Row:
    """Reads one import row field by field and collects all errors before it raises.

    >>> row = Row({"question": " Can owls swim? ", "answer": "maybe"})
    >>> row.text("question"), row.label("answer", {"yes": "yes", "no": "no"})
    ('Can owls swim?', '')
    >>> row.check()
    Traceback (most recent call last):
    ...
    annotator.hit_types.shapes.FieldErrors: answer: 'maybe' is not one of: yes, no
    """

    def __init__(self, raw: Mapping[str, Any]):
        self.raw = raw
        self.errors: dict[str, str] = {}

    def text(self, name: str, *, required: bool = True, limit: int = MAX_TEXT) -> str:
        value = self.raw.get(name)
        if is_blank(value):
            if required:
                self.errors[name] = "is missing"
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.errors[name] = f"expected text, got {type(value).__name__}"
            return ""
        try:
            cleaned = clean_text(str(value))
        except FieldErrors as error:
            self.errors[name] = error.errors["text"]
            return ""
        if len(cleaned) > limit:
            self.errors[name] = f"at most {limit} characters, got {len(cleaned)}"
        return cleaned

    def label(self, name: str, labels: Mapping[str, str], *, required: bool = True) -> str:
        """A label, ignoring case; booleans are read as yes and no. ``labels`` maps each spelling to its label."""
        value = self.raw.get(name)
        if is_blank(value):
            if required:
                self.errors[name] = (
                    f"is missing; expected one of: {', '.join(dict.fromkeys(labels.values()))}"
                )
            return ""
        spelled = ("yes" if value else "no") if isinstance(value, bool) else str(value).strip().lower()
        if spelled not in labels:
            self.errors[name] = f"{value!r} is not one of: {', '.join(dict.fromkeys(labels.values()))}"
            return ""
        return labels[spelled]

    def texts(self, name: str, *, least: int = 1, most: int = 100) -> list[str]:
        """A list of texts; a CSV cell may contain it as a JSON array. Empty if missing and ``least`` is 0."""
        value = self.json(name)
        if is_blank(value):
            if least:
                self.errors.setdefault(name, "is missing; expected a list of texts")
            return []
        if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() for v in value):
            self.errors.setdefault(name, "expected a list of texts")
            return []
        if not least <= len(value) <= most:
            self.errors[name] = f"expected {least} to {most} entries, got {len(value)}"
        try:
            return [clean_text(v) for v in value]
        except FieldErrors as error:
            self.errors[name] = error.errors["text"]
            return []

    def json(self, name: str) -> Any:
        """A JSON value; a CSV cell may contain it as text. Text that is not an array or object is returned unchanged."""
        value = self.raw.get(name)
        if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
            try:
                return json.loads(value)
            except (ValueError, RecursionError):
                self.errors[name] = "is not valid JSON"
                return None
        return value

    def check(self) -> None:
        if self.errors:
            raise FieldErrors(self.errors)


YES_NO: Mapping[str, str] = {
    "yes": "yes",
    "no": "no",
    "true": "yes",
    "false": "no",
    "1": "yes",
    "0": "no",
    "y": "yes",
    "n": "no",
}
#: Real outputs that are no answer to the question; a simulation of them is never right.
REFUSAL, NEITHER = "refusal", "neither"
#: Their spellings in an import.
NO_ANSWER: Mapping[str, str] = {
    "refusal": REFUSAL,
    "refused": REFUSAL,
    "refuses": REFUSAL,
    "neither": NEITHER,
    "no answer": NEITHER,
}
