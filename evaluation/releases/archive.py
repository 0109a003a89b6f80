"""The file of a release: a ZIP archive with a manifest of its contents and their SHA-256, and a signature."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import IO, Any

from evaluation.releases.described.files import DESCRIBED
from evaluation.releases.parts import FORMAT, NO_PART, ReleasePart, parts_of
from evaluation.releases.signature import PUBLIC, SIGNATURE, SUMS, public_pem, signature_of, sums_of
from evaluation.releases.tables import TABLES, tables_of

MANIFEST, REPORT, PAGE, CARD, RATINGS = (
    "manifest.json", "report.json", "report.html", "README.md", "ratings.csv",
)  # fmt: skip
#: ZIP's first date: the same release is the same file, byte by byte.
EPOCH = (1980, 1, 1, 0, 0, 0)
ATTRIBUTES = 0o644 << 16


class ArchiveError(ValueError):
    """The file is not a release, is damaged, or is of a later version."""


def table_file(name: str) -> str:
    return f"tables/{name}.jsonl"


#: All files that a release can have, in their order.
MADE = (CARD, PAGE, REPORT, RATINGS, *(table_file(table.name) for table in TABLES))
CONTENTS = (*MADE, *DESCRIBED)
PLAN_JSON, PLAN_TEXT = PLAN = ("plan.json", "plan.md")
SIGNED = (SUMS, SIGNATURE, PUBLIC)


def plan_names(format: object) -> tuple[str, ...]:
    """The files of a sealed plan that a release of this format has."""
    return PLAN if ReleasePart.PLAN in parts_of(format) else ()


def made_names(format: object) -> tuple[str, ...]:
    """The files of a release of this format but its descriptions, in their order."""
    tables = tuple(table_file(table.name) for table in tables_of(parts_of(format)))
    return (CARD, PAGE, REPORT, RATINGS, *tables, *plan_names(format))


def contents_of(format: object) -> tuple[str, ...]:
    """All files of a release of this format, in their order."""
    return (*made_names(format), *DESCRIBED)


class Writer:
    """Writes a release's files one after another; ``close`` adds the manifest and the signature."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._files: dict[str, dict[str, Any]] = {}

    def add(self, name: str, pieces: Iterable[bytes]) -> None:
        """Add a file."""
        info = zipfile.ZipInfo(name, EPOCH)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = ATTRIBUTES
        digest, size = sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as out:
            for piece in pieces:
                out.write(piece)
                digest.update(piece)
                size += len(piece)
        self._files[name] = {"sha256": digest.hexdigest(), "bytes": size}

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        """The files so far, each with its ``sha256`` and ``bytes``."""
        return dict(self._files)

    def close(self, about: Mapping[str, Any], *, private: str, parts: ReleasePart = NO_PART) -> None:
        """Add the manifest, with ``about`` and the list of files, and sign all of it with a private key. ``parts`` are those that the files have."""
        self.add(MANIFEST, [manifest_text(about, dict(self._files), parts)])
        self.add(PUBLIC, [public_pem(private)])
        sums = sums_of({name: str(known["sha256"]) for name, known in self._files.items()})
        self.add(SUMS, [sums])
        self.add(SIGNATURE, [signature_of(sums, private)])
        self._zip.close()


def manifest_text(about: Mapping[str, Any], files: Mapping[str, Any], parts: ReleasePart) -> bytes:
    """The manifest as it is written: there is only one way, so that a change is noticed."""
    manifest = {"format": FORMAT + parts, **about, "files": dict(files)}
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()


def text_pieces(text: str) -> Iterator[bytes]:
    """A text as pieces for ``Writer.add``."""
    reader = io.BytesIO(text.encode())
    while piece := reader.read(2**20):
        yield piece
