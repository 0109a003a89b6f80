"""A stored report as a file: CSV, JSON, LaTeX, plain text, one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ExportFormat:
    """A format for downloading a report."""

    name: str
    title: str
    media_type: str
    extension: str


FORMATS = {
    found.name: found
    for found in (
        ExportFormat("html", "One HTML file", "text/html; charset=utf-8", "html"),
        ExportFormat("latex", "LaTeX tables", "application/x-tex; charset=utf-8", "tex"),
        ExportFormat("csv", "CSV", "text/csv; charset=utf-8", "csv"),
        ExportFormat("json", "JSON", "application/json", "json"),
        ExportFormat("text", "Plain text", "text/plain; charset=utf-8", "txt"),
    )
}


def export(content: Mapping[str, Any], files: Mapping[str, tuple[str, bytes]], format: str) -> str:
    """A report's content in a format of ``FORMATS``; an unknown one is a ``KeyError``."""
    from evaluation.reports.exports import csv, html, json, latex, text

    if format == "html":
        return html.render(content, files)
    plain = {"csv": csv.render, "json": json.render, "latex": latex.render, "text": text.render}
    return plain[format](content)
