"""Texts of a HIT type that annotators read: written here in English, and translated by the pages that show them.

HIT types don't import Django, so they can't translate. They mark their texts instead::

    from annotator.hit_types.base import translatable as _

    Block("unit_1", _("Point {number}", number=1), text)

``make messages`` finds texts marked with ``_()``. Material is never marked: a study's options "Yes" and "No" stay as they
are in its file, whatever the language of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    own = translate(text.template)
    if not text.values:
        return own
    return own.format(**{name: translated(value, translate) for name, value in text.values.items()})
