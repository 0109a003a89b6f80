"""Reads releases that anybody may have made: every size, count and depth has a bound, and everything is checked before it is used."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from annotator.core.archives import ARCHIVE_ERRORS
from annotator.core.printable import printable
from evaluation.releases.archive import (
    CARD,
    CONTENTS,
    EARLIER,
    MANIFEST,
    PAGE,
    PLAN,
    RATINGS,
    REPORT,
    SIGNED,
    ArchiveError,
    Entry,
    contents_of,
    table_file,
)
from evaluation.releases.described.files import DESCRIBED
from evaluation.releases.parts import FORMATS, parts_of
from evaluation.releases.rows import RowChecks
from evaluation.releases.signature import PUBLIC, SIGNATURE, SUMS
from evaluation.releases.tables import TABLES, ReleasedTable, tables_of

MB = 2**20
#: The most that each file may hold, unpacked. Tables are read line by line, so they may be larger than what is read at once.
LARGEST = {
    MANIFEST: MB, SUMS: 64 * 1024, SIGNATURE: 64, PUBLIC: 4096, CARD: 16 * MB, REPORT: 128 * MB, PAGE: 256 * MB, RATINGS: 4096 * MB,
}  # fmt: skip
LARGEST |= dict.fromkeys((*DESCRIBED, *PLAN), 16 * MB)
LARGEST_TABLE = 4096 * MB
LONGEST_LINE = 16 * MB
#: Deflate makes releases about 20 times smaller. More than this, in a file that isn't small, is an attempt to fill memory or disk.
MOST_PACKED, SMALL = 200, 32 * MB
MOST_ROWS = 20_000_000
DEEPEST = 60
_PIECE = MB


def json_read(text: bytes, where: str) -> Any:
    """JSON as releases have it. Raises ``ArchiveError`` for NaN, nesting deeper than ``DEEPEST``, half characters and NUL."""

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not a number of JSON")

    try:
        found = json.loads(text.decode(), parse_constant=constant, parse_float=_float, parse_int=_int)
    except (ValueError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else printable(str(error), most=200)
        raise ArchiveError(f"{where}: {said}") from None
    _plain(found, where)
    return found


def _float(text: str) -> float:
    found = float(text)
    if abs(found) > 1e300:
        raise ValueError(f"{text[:30]} is too large a number")
    return found


def _int(text: str) -> int:
    if len(text) > 19:
        raise ValueError(f"{text[:30]}… is too large a number")
    return int(text)


def _plain(found: Any, where: str) -> None:
    level, depth = [found], 0
    while level:
        if depth > DEEPEST:
            raise ArchiveError(f"{where}: nested more than {DEEPEST} levels deep")
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below += [*one.keys(), *one.values()]
            elif isinstance(one, list):
                below += one
            elif isinstance(one, str) and not (one.isascii() and "\x00" not in one):
                _text(one, where)
        level, depth = below, depth + 1


def _text(text: str, where: str) -> None:
    if "\x00" in text:
        raise ArchiveError(f"{where}: a text contains the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ArchiveError(f"{where}: a text contains half a character (a lone surrogate)") from None


@dataclass
class Archive:
    """An opened release. ``digests`` are the SHA-256 of its files as they are."""

    file: zipfile.ZipFile
    manifest: dict[str, Any]
    digests: dict[str, str]

    @property
    def contents(self) -> tuple[str, ...]:
        """The names of its files but those of its signature."""
        return contents_of(self.manifest["format"])

    @property
    def tables(self) -> tuple[ReleasedTable, ...]:
        """The tables that it has."""
        return tables_of(parts_of(self.manifest["format"]))

    @property
    def report(self) -> dict[str, Any]:
        """The released report's content."""
        found = json_read(self.read(REPORT), REPORT)
        if not isinstance(found, dict):
            raise ArchiveError(f"{REPORT}: expected an object, got {type(found).__name__}")
        return found

    def rows(self) -> dict[str, Iterator[dict[str, Any]]]:
        """Each table's rows, read and checked when they are asked for, in the order of ``TABLES``."""
        checks, found = RowChecks(), dict[str, Iterator[dict[str, Any]]]()
        held = {table.name: table for table in self.tables}
        for table in TABLES:
            lines = self._lines(table_file(table.name)) if table.name in held else iter(())
            found[table.name] = checks.checked(held.get(table.name, table), lines)
        return found

    def read(self, name: str) -> bytes:
        """A whole file."""
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """A file in pieces. Raises ``ArchiveError`` if it can't be read."""
        yield from _pieces(self.file, name)

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        held: list[bytes] = []
        size = number = 0
        for piece in self.pieces(name):
            *ends, rest = piece.split(b"\n")
            for end in ends:
                line, held, size = b"".join([*held, end]), [], 0
                number += 1
                where = f"{name}, line {number}"
                if number > MOST_ROWS:
                    raise ArchiveError(f"{name}: more than {MOST_ROWS:,} rows")
                row = json_read(line, where) if len(line) <= LONGEST_LINE else None
                if row is None:
                    raise ArchiveError(f"{where}: longer than {LONGEST_LINE // MB} MB, or empty")
                if not isinstance(row, dict):
                    raise ArchiveError(f"{where}: expected an object, got {type(row).__name__}")
                yield row
            held.append(rest)
            size += len(rest)
            if size > LONGEST_LINE:
                raise ArchiveError(f"{name}, line {number + 1}: longer than {LONGEST_LINE // MB} MB")
        if size:
            raise ArchiveError(f"{name}: the last line is cut off")


def _pieces(file: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    try:
        with file.open(name) as found:
            while piece := found.read(_PIECE):
                yield piece
    except ARCHIVE_ERRORS as error:
        raise ArchiveError(f"{name} can't be unpacked: {printable(str(error), most=200)}") from error


def release_open(file: Path | IO[bytes], *, tick: Callable[[], None] = lambda: None) -> Archive:
    """Open a release for reading and check each file against the manifest. Raises ``ArchiveError`` with every file that was changed.

    ``tick`` is called between pieces; it may raise to end the reading.
    """
    try:
        _few_entries(file)
        opened = zipfile.ZipFile(file)
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except ARCHIVE_ERRORS as error:
        raise ArchiveError(f"this is not a release: {printable(str(error), most=200)}") from error
    infos = {info.filename: info for info in opened.infolist()}
    if MANIFEST not in infos:
        raise ArchiveError(f"this is not a release: it has no {MANIFEST}")
    _sizes(opened.infolist())
    manifest = json_read(b"".join(_pieces(opened, MANIFEST)), MANIFEST)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise ArchiveError(f"{MANIFEST} lists no files")
    if type(manifest.get("format")) is not int or manifest["format"] not in FORMATS:
        raise ArchiveError(
            f"the release has format {printable(repr(manifest.get('format')), most=50)}; this version of Foretell reads formats {FORMATS[0]} to {FORMATS[-1]}"
        )
    contents = contents_of(manifest["format"])
    _names(opened, contents)
    digests, problems = _digests(opened, contents, manifest["files"], tick)
    try:
        problems += container_problems(opened)
    except ARCHIVE_ERRORS as error:  # a place before the beginning of the file
        problems.append(f"the archive's list of files was changed: {printable(str(error), most=200)}")
    if problems:
        raise ArchiveError("\n".join(problems))
    return Archive(opened, manifest, digests)


def _few_entries(file: Path | IO[bytes]) -> None:
    """Check the number of files before their list is read: a list of millions would fill the memory."""
    if isinstance(file, Path):
        with file.open("rb") as found:
            return _few_entries(found)
    size = file.seek(0, 2)
    file.seek(max(0, size - 22))
    end = file.read(22)
    if len(end) < 22 or end[:4] != b"PK\x05\x06":
        raise zipfile.BadZipFile("it doesn't end as a ZIP archive without a comment does")
    if struct.unpack("<H", end[10:12])[0] > len(CONTENTS) + 100:
        raise zipfile.BadZipFile("it has too many files")
    file.seek(0)
    return None


def _sizes(infos: list[zipfile.ZipInfo]) -> None:
    for info in infos:
        name = printable(info.filename, most=100)
        if info.flag_bits & 0x1:
            raise ArchiveError(f"{name} is encrypted; releases never are")
        if info.compress_type != zipfile.ZIP_DEFLATED:
            raise ArchiveError(f"{name} is compressed with method {info.compress_type}; releases use deflate")
        most = LARGEST.get(info.filename, LARGEST_TABLE)
        if info.file_size > most:
            raise ArchiveError(f"{name} is larger than {most:,} bytes: {info.file_size:,}")
        if info.file_size > max(SMALL, MOST_PACKED * info.compress_size):
            raise ArchiveError(
                f"{name} would become more than {MOST_PACKED} times larger when it's unpacked ({info.file_size:,} bytes)"
            )


def _names(opened: zipfile.ZipFile, contents: Sequence[str]) -> None:
    names = opened.namelist()
    expected = {*contents, *SIGNED, MANIFEST}
    for name in expected - set(names):
        raise ArchiveError(f"{name} is missing from the release")
    strange = next((name for name in names if name not in expected), None)
    if strange is not None:
        raise ArchiveError(f"{printable(strange, most=100)} is no file of a release")
    if len(names) > len(expected):
        raise ArchiveError("a file is in the archive twice")


def _digests(
    opened: zipfile.ZipFile, contents: Sequence[str], files: Mapping[str, Any], tick: Callable[[], None]
) -> tuple[dict[str, str], list[str]]:
    """SHA-256 of each file, and what isn't as the manifest says."""
    digests, problems = {}, []
    for name in files:
        if name not in contents:
            problems.append(f"{MANIFEST} lists {printable(name, most=100)}, which is no file of a release")
    for name in (*contents, *SIGNED, MANIFEST):
        known = files.get(name)
        size = known.get("bytes") if isinstance(known, dict) else None
        digest, found = sha256(), 0
        try:
            for piece in _pieces(opened, name):
                tick()
                digest.update(piece)
                found += len(piece)
                if found > opened.getinfo(name).file_size:
                    raise ArchiveError(f"{name} is larger than the archive says")
        except ArchiveError as error:
            problems.append(str(error))
            continue
        digests[name] = digest.hexdigest()
        if name not in contents:
            continue
        if not isinstance(known, dict) or not isinstance(size, int):
            problems.append(f"{MANIFEST} doesn't list {name}")
        elif found > size:
            problems.append(f"{name} is larger than the manifest says ({size:,} bytes)")
        elif known != {"sha256": digests[name], "bytes": found}:
            problems.append(f"{name} was changed or damaged: its SHA-256 is not the one in {MANIFEST}")
    return digests, problems


def container_problems(opened: zipfile.ZipFile) -> list[str]:
    """What the archive has besides its files: comments, gaps, dates, names that differ between its two lists of files."""
    problems, at = [], 0
    file = opened.fp
    if file is None:
        return []
    listed, earlier = b"", None
    for info in sorted(opened.infolist(), key=lambda one: one.header_offset):
        name = printable(info.filename, most=100)
        file.seek(info.header_offset)
        head = file.read(30)
        if info.header_offset != at or len(head) < 30:
            problems.append(f"the archive has bytes before {name} that belong to no file")
            break
        plain = Entry(info.filename)
        plain.compress_type, plain.CRC, plain.header_offset = info.compress_type, info.CRC, info.header_offset
        plain.file_size, plain.compress_size = info.file_size, info.compress_size
        if earlier is None:  # the first file says which Python wrote all of them
            earlier = head[4] == EARLIER
        listed += plain.listed(earlier=earlier)
        expected = plain.header(earlier=earlier)
        file.seek(info.header_offset)
        if file.read(len(expected)) != expected:
            problems.append(f"the archive's header of {name} was changed")
        file.seek(info.header_offset + len(expected))
        if not _deflated_fully(file, info.compress_size, info.file_size):
            problems.append(f"the archive's data of {name} have bytes that belong to no file")
        at = info.header_offset + len(expected) + info.compress_size
    if problems:
        return problems
    if at != opened.start_dir:
        return ["the archive has bytes after its last file that belong to no file"]
    if at + len(listed) < zipfile.ZIP64_LIMIT:
        count = len(opened.infolist())
        end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(listed), at, 0)
        file.seek(at)
        if file.read(len(listed) + len(end) + 1) != listed + end:
            problems.append("the archive's list of files has attributes or bytes that no release has")
    return problems


def _deflated_fully(file: IO[bytes], packed: int, size: int) -> bool:
    """Whether compressed data end exactly where they should, and unpack to exactly ``size`` bytes."""
    unpack, found, left = zlib.decompressobj(-15), 0, packed
    while left:
        piece = file.read(min(left, 64 * 1024))
        if not piece:
            return False
        left -= len(piece)
        try:
            while True:
                out = unpack.decompress(piece, MB)
                found, piece = found + len(out), unpack.unconsumed_tail
                if found > size:
                    return False
                if not piece and len(out) < MB:
                    break
        except zlib.error:
            return False
    return unpack.eof and not unpack.unused_data and found == size
