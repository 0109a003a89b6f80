"""Operations on exports. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypedDict, Unpack

from foretell_client.transport import Download, Transport, part

ExportState = Literal["queued", "done", "failed"]
Form = Literal["judgments", "ratings"]
Format = Literal["csv", "jsonl"]


class Export(TypedDict):
    id: int
    form: Form
    format: Format
    filters: dict[str, str]
    state: ExportState
    rows: int | None
    bytes: int | None
    error: str
    created_at: str
    finished_at: str | None


class ExportSent(TypedDict, total=False):
    form: Form
    format: Format
    filters: dict[str, str]


class ExportsOperations:
    """Operations on exports."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, id: int, /) -> Export:
        """The state of an export."""
        reply: Export = self._http.json("GET", f"exports/{id}/")
        return reply

    def file(self, id: int, /) -> Download:
        """The file, compressed with gzip."""
        return self._http.download("GET", f"exports/{id}/file/")

    def all(self, slug: str, /, *, page_size: int | None = None) -> Iterator[Export]:
        """Your own exports of the study."""
        return self._http.pages("GET", f"studies/{part(slug)}/exports/", query={"page_size": page_size})

    def create(self, slug: str, /, **sent: Unpack[ExportSent]) -> Export:
        """Request an export; download it from its ``file/`` once its state is done."""
        reply: Export = self._http.json("POST", f"studies/{part(slug)}/exports/", body=sent)
        return reply
