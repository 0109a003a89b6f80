"""The file of a release: a ZIP archive with a manifest of its contents and their SHA-256."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from evaluation.releases.tables import TABLES

FORMAT = 1
MANIFEST = "manifest.json"
REPORT = "report.json"
#: ZIP's first date: the same release is the same file, byte by byte.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: The most that a file of an archive may hold, unpacked; more is not a release but an attempt to fill the disk.
LARGEST_BYTES = 20 * 2**30


class ArchiveError(ValueError):
    """The file is not a release, is damaged, or is of a later version."""


class Writer:
    """Writes a release's files one after another; ``close`` adds the manifest."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._files: dict[str, dict[str, Any]] = {}

    def add(self, name: str, pieces: Iterable[bytes]) -> None:
        """Add a file."""
        info = zipfile.ZipInfo(name, _EPOCH)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        digest, size = sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as out:
            for piece in pieces:
                out.write(piece)
                digest.update(piece)
                size += len(piece)
        self._files[name] = {"sha256": digest.hexdigest(), "bytes": size}

    def close(self, about: Mapping[str, Any]) -> None:
        """Add the manifest, with ``about`` and the list of files."""
        manifest = {"format": FORMAT, **about, "files": self._files}
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        info = zipfile.ZipInfo(MANIFEST, _EPOCH)
        info.external_attr = 0o644 << 16
        self._zip.writestr(info, text)
        self._zip.close()


def table_file(name: str) -> str:
    return f"tables/{name}.jsonl"


@dataclass
class Archive:
    """An opened release."""

    file: zipfile.ZipFile
    manifest: dict[str, Any]

    @property
    def report(self) -> dict[str, Any]:
        """The released report's content."""
        return dict(json.loads(self._read(REPORT)))

    def rows(self) -> dict[str, Iterator[dict[str, Any]]]:
        """Each table's rows, read when they are asked for."""
        return {table.name: self._lines(table_file(table.name)) for table in TABLES}

    def _read(self, name: str) -> bytes:
        return b"".join(self._pieces(name))

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        rest, number = b"", 0
        for piece in self._pieces(name):
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                number += 1
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise ArchiveError(f"{name}, line {number}: {error}") from error
                if not isinstance(row, dict):
                    raise ArchiveError(f"{name}, line {number}: expected an object, got {type(row).__name__}")
                yield row
        if rest:
            raise ArchiveError(f"{name}: the last line is cut off")

    def _pieces(self, name: str) -> Iterator[bytes]:
        """A file in pieces. Raises ``ArchiveError`` if it is missing or is not what the manifest says."""
        known = self.manifest["files"].get(name)
        if known is None or name not in self.file.namelist():
            raise ArchiveError(f"{name} is missing from the release")
        digest, size = sha256(), 0
        with self.file.open(name) as found:
            while piece := found.read(2**20):
                size += len(piece)
                if size > min(known["bytes"], LARGEST_BYTES):
                    raise ArchiveError(f"{name} is larger than the manifest says ({known['bytes']:,} bytes)")
                digest.update(piece)
                yield piece
        if digest.hexdigest() != known["sha256"]:
            raise ArchiveError(f"{name} was changed or damaged: its SHA-256 is not the one in {MANIFEST}")


def release_open(file: Path | IO[bytes]) -> Archive:
    """Open a release for reading. Raises ``ArchiveError`` if it isn't one."""
    try:
        opened = zipfile.ZipFile(file)
        manifest = json.loads(opened.read(MANIFEST))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ArchiveError(f"this is not a release: {error}") from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise ArchiveError(f"{MANIFEST} lists no files")
    if manifest.get("format") != FORMAT:
        raise ArchiveError(
            f"the release has format {manifest.get('format')!r}; this version of Foretell reads format {FORMAT}"
        )
    return Archive(opened, manifest)


def text_pieces(text: str) -> Iterator[bytes]:
    """A text as pieces for ``Writer.add``."""
    reader = io.BytesIO(text.encode())
    while piece := reader.read(2**20):
        yield piece
