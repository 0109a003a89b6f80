"""Columns of a file of ratings as codes, whatever its format."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from annotator.core.csv_cells import cell_restored
from annotator.core.tables.columns import Cells, columns_read
from annotator.core.tables.faults import FaultLog
from annotator.core.tables.plain_file import FORMATS, Limits
from evaluation.core.free_memory import return_free_memory
from evaluation.core.ratings_table import Codes

#: The person who runs the command chose the file, so only its size is limited.
LIMITS = Limits(size=4_000_000_000, rows=1_000_000_000, columns=100_000)
#: Faults of a file of ratings that are listed; more are only counted.
SHOWN = 20
#: Between the cells of a unit that several columns name.
JOINT = " · "


def file_cells(
    source: str | Path | IO[bytes], wanted: tuple[str, ...], log: FaultLog
) -> tuple[list[Cells], Codes]:
    """The wanted columns of a file of any format, and each row's line; raises ``FileRefused``.

    A file with an unknown extension is read as CSV. Cells are as they were before an export made them safe for spreadsheets.
    """
    if len(set(wanted)) < len(wanted):
        log.refuse(f"each column can have one meaning only, got {', '.join(wanted)}")
    name = log.file if Path(log.file.removesuffix(".gz")).suffix.lower() in FORMATS else "ratings.csv"
    data = Path(source).read_bytes() if isinstance(source, str | Path) else source.read()
    with io.BytesIO(data) as file:
        del data
        cells, lines = columns_read(file, name=name, wanted=wanted, log=log, limits=LIMITS)
    return_free_memory()
    return [([cell_restored(cell) for cell in names], codes) for names, codes in cells], lines


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


def joined_columns(columns: list[CodedColumn], log: FaultLog) -> CodedColumn:
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
        log.refuse(f"unit: two units are called the same; {JOINT!r} must not be inside a cell")
    return CodedColumn(list(names), codes)


def sorted_codes(names: list[str]) -> tuple[tuple[str, ...], Codes]:
    """The names sorted, and the new code of each old one, so that results do not depend on the order of rows."""
    order = sorted(range(len(names)), key=names.__getitem__)
    code = np.empty(len(names), dtype=np.int32)
    code[order] = np.arange(len(names), dtype=np.int32)
    return tuple(names[index] for index in order), code
