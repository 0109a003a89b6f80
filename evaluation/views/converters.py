"""Path converters for the addresses of reports."""

from __future__ import annotations

from django.urls import register_converter

from evaluation.reports.exports import FORMATS


class FormatConverter:
    """A format that reports can be downloaded in."""

    regex = "|".join(FORMATS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(FormatConverter, "report_format")
