"""Releases of reports, and what is in them."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from evaluation.models import Report
from evaluation.releases.about import About, Built
from evaluation.releases.build import release_build

KEY = "a key of this release"


def built(report: Report, *, key: str = KEY, **about: Any) -> tuple[Built, io.BytesIO]:
    file = io.BytesIO()
    found = release_build(
        studies=report.studies, content=report.content or {}, key=key, about=About(**about), file=file
    )
    return found, file


def everything(file: io.BytesIO) -> str:
    """All that is in an archive, as text."""
    archive = zipfile.ZipFile(file)
    return "\n".join(archive.read(name).decode() for name in archive.namelist())


def rows_of(file: io.BytesIO, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in zipfile.ZipFile(file).read(f"tables/{name}.jsonl").splitlines()]
