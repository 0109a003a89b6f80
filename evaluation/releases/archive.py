"""The file of a release: a ZIP archive with a manifest of its contents and their SHA-256, and a signature."""

from __future__ import annotations

import io
import json
import struct
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
#: What the archive says is needed to unpack it: PKZIP 4.5, for files of any size; and 2.0, which some releases say (``Entry``).
VERSION, EARLIER = 45, 20
#: ZIP's first date and time, and the size in a header whose sizes are in its extension.
_DATE, _TIME, _EXTENDED = 33, 0, 0xFFFFFFFF


class Entry(zipfile.ZipInfo):
    """A file of a release, which every Python writes in the same way.

    Up to Python 3.11.3, ``zipfile`` wrote the sizes of a small file outside of the extension as well, and needed only version 2.0:
    releases from there have such headers.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, EPOCH)
        self.compress_type, self.external_attr, self.create_system = zipfile.ZIP_DEFLATED, ATTRIBUTES, 3

    def FileHeader(self, zip64: bool | None = None) -> bytes:
        self.extract_version = self.create_version = VERSION
        return self.header(earlier=False)

    def header(self, *, earlier: bool) -> bytes:
        """The bytes before the file's data; ``earlier`` as Python 3.11.3 and earlier ones wrote them."""
        name, sizes = self.filename.encode(), (self.compress_size, self.file_size)
        flags = self.flag_bits | (0 if self.filename.isascii() else 0x800)
        extended = not earlier or max(sizes) > zipfile.ZIP64_LIMIT
        extra = struct.pack("<HHQQ", 1, 16, self.file_size, self.compress_size)
        return struct.pack(
            "<4s2B4HL2L2H", b"PK\x03\x04", VERSION if extended else EARLIER, 0, flags, self.compress_type, _TIME, _DATE,
            self.CRC & 0xFFFFFFFF, *((_EXTENDED, _EXTENDED) if extended else sizes), len(name), len(extra),
        ) + name + extra  # fmt: skip

    def listed(self, *, earlier: bool) -> bytes:
        """The file's entry in the list at the end of the archive (archives of less than 4 GB)."""
        name = self.filename.encode()
        flags, version = 0 if self.filename.isascii() else 0x800, EARLIER if earlier else VERSION
        return struct.pack(
            "<4s4B4HL2L5H2L", b"PK\x01\x02", version, 3, version, 0, flags, self.compress_type, _TIME, _DATE,
            self.CRC & 0xFFFFFFFF, min(self.compress_size, _EXTENDED), min(self.file_size, _EXTENDED), len(name), 0, 0, 0, 0,
            ATTRIBUTES, min(self.header_offset, _EXTENDED),
        ) + name  # fmt: skip


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
        digest, size = sha256(), 0
        with self._zip.open(Entry(name), "w", force_zip64=True) as out:
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
