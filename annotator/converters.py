"""Converters of addresses."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import SlugConverter


class RowId:
    """An id that the database can hold."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class StudySlug(SlugConverter):
    """A study's short name."""

    regex = "[-a-zA-Z0-9_]{1,80}"


register_converter(RowId, "row")
register_converter(StudySlug, "study")
