"""Path converters, registered when this module is imported. An address that doesn't match is a 404 before a view runs."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import SlugConverter


class RowId:
    """An id that the database can hold; a longer number is a 404 instead of an error."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class StudySlug(SlugConverter):
    """A study's slug, or its id."""

    regex = "[-a-zA-Z0-9_]{1,80}"


class Token:
    """A random token of the URL-safe base64 alphabet, signed ones included."""

    regex = "[-a-zA-Z0-9_:]{1,200}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(RowId, "row")
register_converter(Token, "token")
register_converter(StudySlug, "study")
