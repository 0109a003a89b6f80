"""Texts of a HIT type that annotators read: written here in English, and translated by the pages that show them.

HIT types don't import Django, so they can't translate. They mark their texts instead::

    from annotator.hit_types.base import translatable as _

    Block("unit_1", _("Point {number}", number=1), text)

``make messages`` finds texts marked with ``_()``. Material is never marked: a study's options "Yes" and "No" stay as they
are in its file, whatever the language of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

Translate = Callable[[str], str]


class Wording(str):
    """English text that remembers how it was made, so that it can be made again in another language."""

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, values: Mapping[str, Any]) -> Self:
        text = super().__new__(cls, template.format(**values) if values else template)
        text.template, text.values = template, values
        return text

    def __getnewargs__(self) -> tuple[str, Mapping[str, Any]]:  # type: ignore[override]
        return self.template, self.values


class FileText(Wording):
    """A text of a declared HIT type, with the translations that its file carries: language -> text."""

    __slots__ = ("others",)
    others: Mapping[str, str]

    def __new__(cls, text: str, others: Mapping[str, str]) -> Self:
        made = str.__new__(cls, text)
        made.template, made.values, made.others = text, {}, others
        return made

    def __getnewargs__(self) -> tuple[str, Mapping[str, str]]:  # type: ignore[override]
        return str(self), self.others

    def changed(self, change: Callable[[str], str]) -> FileText:
        """The same change made to the text and to each translation."""
        return FileText(change(str(self)), {language: change(text) for language, text in self.others.items()})


def joined(texts: Iterable[str]) -> str:
    """Several texts with "; " between them, each of which can still be translated by itself.

    >>> said = joined([FileText("Too old", {"de": "Zu alt"}), "write an answer"])
    >>> said, translated(said, lambda text: text.others["de"] if isinstance(text, FileText) else text)
    ('Too old; write an answer', 'Zu alt; write an answer')
    """
    named = {f"at{place}": text for place, text in enumerate(texts)}
    return put("; ".join(f"{{{name}}}" for name in named), **named)


def put(template: str, **values: str) -> str:
    """A text that is put together: translated part by part, if one of its parts can be.

    >>> rated = put("{ask} {row}", ask=FileText("Rate", {"de": "Bewerte"}), row="A")
    >>> rated, translated(rated, lambda text: text.others["de"] if isinstance(text, FileText) else text)
    ('Rate A', 'Bewerte A')
    """
    if any(isinstance(value, Wording) for value in values.values()):
        return Wording(template, values)
    return template.format(**values)


def translatable(template: str, **values: Any) -> Wording:
    """Mark a text for translation; ``values`` fill in the ``{names}`` of the template.

    >>> translatable("Point {number}", number=3)
    'Point 3'
    """
    return Wording(template, values)


def translated(text: str, translate: Translate) -> str:
    """A text in the language of ``translate``, if it is marked; any other text as it is.

    >>> french = {"Point {number}": "Point n° {number}", "Yes": "Oui"}.get
    >>> translated(translatable("Point {number}", number=3), french), translated("Yes", french)
    ('Point n° 3', 'Yes')
    """
    if not isinstance(text, Wording):
        return text
    own = translate(text if isinstance(text, FileText) else text.template)
    if not text.values:
        return own
    return own.format(**{name: translated(value, translate) for name, value in text.values.items()})
