"""Operations on imports. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Required, TypedDict, Unpack

from foretell_client.operations.shared import FileImport
from foretell_client.transport import Download, File, Transport, part


class MaterialImport(TypedDict, total=False):
    """``mapping`` and ``constants`` are JSON objects; in a form, as text. A file, or an upload and its
    size.
    """

    file: File
    upload: str
    size: int
    mapping: Any
    constants: Any
    attributes: Any
    dry_run: bool


class MaterialImported(TypedDict):
    rows: int
    items: int
    unchanged: int
    instances: int
    systems: int
    explanations: int
    follow_ups: int
    outputs: int
    units: int
    ignored: list[str]
    warnings: list[str]
    dry_run: bool


class Received(TypedDict):
    received: int


class UploadBegun(TypedDict):
    received: int
    upload: str
    piece_bytes: int


class Upload(TypedDict, total=False):
    name: Required[str]


class ImportsOperations:
    """Operations on imports."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, id: int, /) -> FileImport:
        """The progress of a large file's import, and its result."""
        reply: FileImport = self._http.json("GET", f"imports/{id}/")
        return reply

    def cancel(self, id: int, /) -> FileImport:
        """Cancel the import; nothing is stored."""
        reply: FileImport = self._http.json("POST", f"imports/{id}/cancel/")
        return reply

    def problems(self, id: int, /) -> Download:
        """Every problem of a refused file, up to 10,000, as CSV."""
        return self._http.download("GET", f"imports/{id}/problems/")

    def material(self, slug: str, /, **sent: Unpack[MaterialImport]) -> MaterialImported | FileImport:
        """All rows or none. Needs the role of an editor."""
        reply: MaterialImported | FileImport = self._http.json(
            "POST", f"studies/{part(slug)}/material/", form=sent
        )
        return reply

    def uploads(self, slug: str, /, **sent: Unpack[Upload]) -> UploadBegun:
        """Begin an upload. The reply contains its ticket, which the following requests need and which is valid
        for six hours.
        """
        reply: UploadBegun = self._http.json("POST", f"studies/{part(slug)}/uploads/", body=sent)
        return reply

    def uploads_pieces_replace(self, slug: str, /, *, offset: int, upload: str, content: bytes) -> Received:
        """Add the piece that begins at ``offset``. If there's no reply, send it again: it replaces the first
        copy.
        """
        reply: Received = self._http.json(
            "PUT",
            f"studies/{part(slug)}/uploads/pieces/",
            query={"offset": offset, "upload": upload},
            content=content,
        )
        return reply
