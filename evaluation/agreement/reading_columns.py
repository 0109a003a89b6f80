"""Columns of a file of ratings as codes, whatever its format."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from annotator.core.csv_cells import cell_restored
from annotator.core.plain_file import FORMATS, UnreadableFile, plain_file
from evaluation.agreement.reading_csv import csv_cells
from evaluation.agreement.reading_faults import Cells, ReadFaults, UnreadableRatings
from evaluation.agreement.reading_formats import json_cells, parquet_cells
from evaluation.core.ratings_table import Codes

#: The largest compressed file, in bytes when unpacked.
MOST_BYTES = 4_000_000_000
_CONTENT = re.compile(rb"[^\xef\xbb\xbf \t\r\n]")
#: Between the cells of a unit that several columns name.
JOINT = " · "


def file_cells(
    data: bytes, source: str, wanted: tuple[str, ...], faults: ReadFaults
) -> tuple[list[Cells], Codes]:
    """The wanted columns of a file of any format, and each row's line."""
    if not _CONTENT.search(data):
        raise UnreadableRatings(f"{source} is empty: expected a header and one row per rating")
    named = source if Path(source.removesuffix(".gz")).suffix.lower() in FORMATS else "ratings.csv"
    try:
        plain = plain_file(io.BytesIO(data), name=named, most_bytes=MOST_BYTES)
    except UnreadableFile as error:
        raise UnreadableRatings(f"{source} {error}") from None
    if plain.kind == "parquet":
        cells, lines = parquet_cells(plain.file, wanted, source)
    else:
        data = plain.file.read()
        _refuse_broken_text(data, source)
        if plain.kind == "jsonl":
            cells, lines = json_cells(data, wanted, source)
        else:
            cells, lines = csv_cells(data, plain.delimiter, wanted, faults)
            cells = [([cell_restored(cell) for cell in names], codes) for names, codes in cells]
    return cells, lines


def _refuse_broken_text(data: bytes, source: str) -> None:
    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise UnreadableRatings(f"{source}, line {line}: contains a NUL byte; expected text")
    try:
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        at = error.start - data.rfind(b"\n", 0, error.start)
        raise UnreadableRatings(
            f"{source}, line {line}, byte {at}: not UTF-8 (0x{data[error.start]:02x}); save the file as UTF-8"
        ) from None


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """One column's texts, and the code of each row's text; blank cells are -1."""

    names: list[str]
    codes: Codes


def coded_column(cells: Sequence[str], codes: Codes, read: Callable[[str], str]) -> CodedColumn:
    """Replace codes of cells as written in the file by codes of what ``read`` returns for them."""
    names: dict[str, int] = {}
    code = [names.setdefault(name, len(names)) if (name := read(cell)) else -1 for cell in cells]
    return CodedColumn(list(names), np.array(code, dtype=np.int32)[codes])


def joined_columns(columns: list[CodedColumn]) -> CodedColumn:
    """Several columns as one, their cells joined."""
    first, *others = columns
    names, codes = first.names, first.codes
    for other in others:
        pairs, codes = np.unique(
            codes.astype(np.int64) * max(len(other.names), 1) + other.codes, return_inverse=True
        )
        left, right = np.divmod(pairs, max(len(other.names), 1))
        names = [f"{names[a]}{JOINT}{other.names[b]}" for a, b in zip(left, right, strict=True)]
        codes = codes.astype(np.int32)
    if len(set(names)) < len(names):
        raise UnreadableRatings(f"unit: two units are called the same; {JOINT!r} must not be inside a cell")
    return CodedColumn(list(names), codes)


def sorted_codes(names: list[str]) -> tuple[tuple[str, ...], Codes]:
    """The names sorted, and the new code of each old one, so that results do not depend on the order of rows."""
    order = sorted(range(len(names)), key=names.__getitem__)
    code = np.empty(len(names), dtype=np.int32)
    code[order] = np.arange(len(names), dtype=np.int32)
    return tuple(names[index] for index in order), code
