"""Turn any file of rows into plain UTF-8 text: unpack it, decode it and find its delimiter before it is parsed.

All importers accept the same formats: CSV with commas, semicolons or tabs, JSON lines, Parquet, and the first sheet of
an Excel workbook; any text compressed with gzip; UTF-8, or UTF-16 with a byte-order mark; lines ending in LF, CR LF
or CR.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from annotator.core.spreadsheet import UnreadableSheet, sheet_rows

#: File extension -> format. All but Parquet and Excel may be followed by .gz.
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}
_MAGIC = (
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstandard archive"),
    (b"%PDF", "a PDF"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls); save it as .xlsx or CSV"),
)
_BOM = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_DELIMITERS = (",", "\t", ";")
_IN_MEMORY = 8_000_000
_PIECE = 1 << 20


class UnreadableFile(ValueError):
    """A file that can't be read; the message says what it is and what was expected, as in "is a PDF; expected ..."."""


@dataclass(frozen=True)
class PlainFile:
    """``kind`` is csv, jsonl or parquet. Text is UTF-8 without a byte-order mark; ``delimiter`` separates the cells of
    a CSV."""

    file: IO[bytes]
    kind: str
    delimiter: str = ","


def plain_file(file: IO[bytes], *, name: str, most_bytes: int) -> PlainFile:
    """Unpack and decode a seekable binary file; the extension of ``name`` gives its format. Unpacking stops at
    ``most_bytes``. Raises ``UnreadableFile``.

    >>> found = plain_file(io.BytesIO("a;b\\r1;2\\r".encode("utf-16")), name="x.csv", most_bytes=99)
    >>> found.delimiter, found.file.read()
    (';', b'a;b\\n1;2\\n')
    """
    ending = Path(name.removesuffix(".gz")).suffix.lower()
    kind = FORMATS.get(ending, "")
    if not kind:
        listed = ", ".join(sorted(FORMATS))
        raise UnreadableFile(
            f"expected a file ending in {listed}, or one of the text formats with .gz after it"
        )
    start = _start(file)
    if kind == "parquet":
        return PlainFile(file, kind)
    if kind == "xlsx":
        return PlainFile(_from_sheet(file, start, most_bytes), "csv")
    if start.startswith(_GZIP):
        file = _unpacked(file, most_bytes)
        start = _start(file)
    if start.startswith(_ZIP):
        raise UnreadableFile(
            "is a zip archive or a spreadsheet; expected plain text (an Excel workbook ends in .xlsx)"
        )
    for magic, what in _MAGIC:
        if start.startswith(magic):
            raise UnreadableFile(f"is {what}; expected plain text")
    encoding = next((named for mark, named in _BOM.items() if start.startswith(mark)), "")
    if encoding:
        file = _decoded(file, encoding, most_bytes)
    elif start.startswith(codecs.BOM_UTF8):
        file.seek(len(codecs.BOM_UTF8))
    begin = file.tell()
    head = file.read(_PIECE)
    file.seek(begin)
    if b"\r" in head and b"\n" not in head:
        file = _line_feeds(file)
        head = head.replace(b"\r", b"\n")
    return PlainFile(
        file, kind, _delimiter(head, "\t" if ending == ".tsv" else ",") if kind == "csv" else ","
    )


def _start(file: IO[bytes]) -> bytes:
    file.seek(0)
    start = file.read(8)
    file.seek(0)
    return start


def _delimiter(head: bytes, default: str) -> str:
    """The delimiter of the header: the most frequent of comma, tab and semicolon outside quotes."""
    line = re.sub(rb'"[^"]*"', b"", head).lstrip(b"\r\n").split(b"\n", 1)[0].decode("utf-8", "replace")
    counts = {mark: line.count(mark) for mark in _DELIMITERS}
    return max(counts, key=lambda mark: (counts[mark], mark == default)) if any(counts.values()) else default


def _temporary() -> IO[bytes]:
    return cast(IO[bytes], tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))


def _unpacked(file: IO[bytes], most_bytes: int) -> IO[bytes]:
    out, size = _temporary(), 0
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            while piece := packed.read(_PIECE):
                size += len(piece)
                if size > most_bytes:
                    raise UnreadableFile(
                        f"unpacks to more than {most_bytes / 1e6:,.0f} MB, the most that is read"
                    )
                out.write(piece)
    except (OSError, EOFError, zlib.error):
        raise UnreadableFile("is a damaged gzip archive") from None
    return out


def _decoded(file: IO[bytes], encoding: str, most_bytes: int) -> IO[bytes]:
    """UTF-16 as UTF-8."""
    out = _temporary()
    file.seek(2)
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    try:
        while piece := file.read(_PIECE):
            out.write(decoder.decode(piece).encode())
            if out.tell() > most_bytes:
                raise UnreadableFile(f"contains more than {most_bytes / 1e6:,.0f} MB, the most that is read")
        out.write(decoder.decode(b"", final=True).encode())
    except UnicodeError:
        raise UnreadableFile("is broken UTF-16 text") from None
    out.seek(0)
    return out


def _line_feeds(file: IO[bytes]) -> IO[bytes]:
    """Replace the line endings of a file that uses CR alone by LF."""
    out = _temporary()
    while piece := file.read(_PIECE):
        out.write(piece.replace(b"\r", b"\n"))
    out.seek(0)
    return out


def _from_sheet(file: IO[bytes], start: bytes, most_bytes: int) -> IO[bytes]:
    """The first sheet of a workbook as CSV: one line per row, except for cells with line breaks."""
    if not start.startswith(_ZIP):
        raise UnreadableFile("is not an Excel workbook (.xlsx)")
    out = _temporary()
    text = io.TextIOWrapper(cast(IO[bytes], _Unclosed(out)), encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    try:
        writer.writerows(_rectangular(sheet_rows(file, most_bytes=most_bytes)))
    except UnreadableSheet as error:
        raise UnreadableFile(str(error)) from None
    text.flush()
    out.seek(0)
    return out


def _rectangular(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Rows as wide as the first one; a sheet leaves out blank cells at the end of a row, and blank rows at its end."""
    width, blank = 0, 0
    for cells in rows:
        if not any(cells):
            blank += 1
            continue
        width = width or len(cells)
        yield from ([] for _ in range(blank))
        blank = 0
        yield cells + [""] * (width - len(cells))


class _Unclosed(io.RawIOBase):
    """A file that stays open when the text wrapper around it is closed."""

    def __init__(self, file: IO[bytes]):
        self.file = file

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return self.file.write(bytes(data))  # type: ignore[call-overload]
