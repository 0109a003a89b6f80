"""A stored file on its way to a researcher: services open it, views send it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Any

from django.http import FileResponse, Http404


@dataclass(frozen=True)
class Download:
    """An open file, the name that it's saved under, and its content type."""

    file: IO[Any]
    name: str
    content_type: str


def download_send(download: Download | None) -> FileResponse:
    """The response that sends a file; ``Http404`` if there is none (any more)."""
    if download is None:
        raise Http404("no such file")
    return FileResponse(
        download.file, as_attachment=True, filename=download.name, content_type=download.content_type
    )
