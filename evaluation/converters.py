"""What may stand in this room's addresses."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import SlugConverter, get_converters

from evaluation.reports.exports import FORMATS


class FormatConverter:
    """A format that reports can be had in."""

    regex = "|".join(FORMATS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class RowId:
    """An id that the database can hold; a longer number is not found instead of an error."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class StudySlug(SlugConverter):
    """A study's slug, or its id."""

    regex = "[-a-zA-Z0-9_]{1,80}"


def register() -> None:
    """Make the converters known, once."""
    for name, converter in (
        ("report_format", FormatConverter),
        ("row_id", RowId),
        ("study_slug", StudySlug),
    ):
        if name not in get_converters():
            register_converter(converter, name)
