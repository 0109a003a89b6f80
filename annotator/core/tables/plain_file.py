"""Turn any file of rows into plain UTF-8 text: unpack it, decode it and find its delimiter before it is parsed.

All importers accept the same formats: CSV with commas, semicolons or tabs, JSON lines, Parquet, the first sheet of
an Excel workbook, and logs of Inspect; any text compressed with gzip; UTF-8, or UTF-16 with a byte-order mark; lines ending in LF, CR LF
or CR.
"""

from __future__ import annotations

import codecs
import gzip
import re
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from annotator.core.tables.faults import FaultLog
from annotator.core.tables.inspect_log import log_as_lines
from annotator.core.tables.workbook import workbook_as_csv

#: File extension -> format. The text formats may be followed by .gz.
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
    ".eval": "eval",
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


@dataclass(frozen=True)
class Limits:
    """The most that is read of a file: bytes (also after unpacking), rows, columns, bytes of a line and characters of a cell."""

    size: int
    rows: int
    columns: int = 500
    line: int = 1_000_000
    cell: int = 131_072


@dataclass(frozen=True)
class PlainFile:
    """``kind`` is csv, jsonl or parquet. Text is UTF-8 without a byte-order mark; ``delimiter`` separates the cells of
    a CSV."""

    file: IO[bytes]
    kind: str
    delimiter: str = ","


def plain_file(file: IO[bytes], *, name: str, limits: Limits, log: FaultLog) -> PlainFile:
    """Unpack and decode a seekable binary file; the extension of ``name`` gives its format. Raises ``FileRefused``.

    >>> import io
    >>> found = plain_file(
    ...     io.BytesIO("a;b\\r1;2\\r".encode("utf-16")), name="x.csv", limits=Limits(99, 9), log=FaultLog("x.csv")
    ... )
    >>> found.delimiter, found.file.read()
    (';', b'a;b\\n1;2\\n')
    """
    _check_size(file, limits, log)
    ending = Path(name.removesuffix(".gz")).suffix.lower()
    kind = FORMATS.get(ending, "")
    if not kind:
        listed = ", ".join(sorted(FORMATS))
        log.refuse(
            f"expected a file ending in {listed}, or one of the text formats with .gz after it",
            field="file name",
            value=Path(name).name,
        )
    start = _start(file)
    if kind == "parquet":
        return PlainFile(file, kind)
    if kind == "xlsx":
        if not start.startswith(_ZIP):
            log.refuse("is not an Excel workbook (.xlsx)")
        rows = workbook_as_csv(
            file, most_bytes=limits.size, most_rows=limits.rows, most_columns=limits.columns, log=log
        )
        return PlainFile(rows, "csv")
    if kind == "eval":
        if not start.startswith(_ZIP):
            log.refuse("is not a log of Inspect (.eval)")
        return PlainFile(log_as_lines(file, most_bytes=limits.size, most_rows=limits.rows, log=log), "jsonl")
    if start.startswith(_GZIP):
        file = _unpacked(file, limits, log)
        start = _start(file)
    if start.startswith(_ZIP):
        log.refuse("is a zip archive or a spreadsheet; expected plain text (an Excel workbook ends in .xlsx)")
    for magic, what in _MAGIC:
        if start.startswith(magic):
            log.refuse(f"is {what}; expected plain text")
    encoding = next((named for mark, named in _BOM.items() if start.startswith(mark)), "")
    if encoding:
        file = _decoded(file, encoding, limits, log)
    elif start.startswith(codecs.BOM_UTF8):
        file.seek(len(codecs.BOM_UTF8))
    begin = file.tell()
    head = file.read(_PIECE)
    file.seek(begin)
    if b"\r" in head and b"\n" not in head:
        file = _line_feeds(file)
        head = head.replace(b"\r", b"\n")
    usual = "\t" if ending == ".tsv" else ","
    return PlainFile(file, kind, _delimiter(head, usual) if kind == "csv" else ",")


def _check_size(file: IO[bytes], limits: Limits, log: FaultLog) -> None:
    file.seek(0, 2)
    size = file.tell()
    if size > limits.size:
        log.refuse(f"is {size / 1e6:,.0f} MB; expected at most {limits.size / 1e6:,.0f} MB, in several files")
    if size == 0:
        log.refuse("is empty")


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


def _unpacked(file: IO[bytes], limits: Limits, log: FaultLog) -> IO[bytes]:
    out, size = _temporary(), 0
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            while piece := packed.read(_PIECE):
                size += len(piece)
                if size > limits.size:
                    log.refuse(f"unpacks to more than {limits.size / 1e6:,.0f} MB, the most that is read")
                out.write(piece)
    except (OSError, EOFError, zlib.error):
        log.refuse("is a damaged gzip archive")
    return out


def _decoded(file: IO[bytes], encoding: str, limits: Limits, log: FaultLog) -> IO[bytes]:
    """UTF-16 as UTF-8."""
    out = _temporary()
    file.seek(2)
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    try:
        while piece := file.read(_PIECE):
            out.write(decoder.decode(piece).encode())
            if out.tell() > limits.size:
                log.refuse(f"contains more than {limits.size / 1e6:,.0f} MB, the most that is read")
        out.write(decoder.decode(b"", final=True).encode())
    except UnicodeError:
        log.refuse("is broken UTF-16 text")
    out.seek(0)
    return out


def _line_feeds(file: IO[bytes]) -> IO[bytes]:
    """Replace the line endings of a file that uses CR alone by LF."""
    out = _temporary()
    while piece := file.read(_PIECE):
        out.write(piece.replace(b"\r", b"\n"))
    out.seek(0)
    return out
