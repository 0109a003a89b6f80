"""A file with the columns of the ratings table, as the tables that metrics take: read by the same reader as ``agreement``, with the same faults."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from annotator.core.labels import Spelling
from annotator.core.tables.faults import FaultLog
from annotator.core.tables.plain_file import FORMATS
from annotator.core.tables.rows import table_open
from evaluation.agreement.reading import ExtraColumn, ReadRatings, read_ratings
from evaluation.agreement.reading_columns import LIMITS, SHOWN, file_cells
from evaluation.core.file_columns import FileColumns
from evaluation.core.ratings_table import Ratings

Mask = npt.NDArray[np.bool_]
#: Rows of JSON lines from which the columns are known: a file may leave out those that are blank.
_PEEKED = 1_000
#: Columns that say that a rating doesn't count, with what they hold if it does.
_COUNTING = {"standing": "counted", "role": "ordinary", "excluded": ""}


@dataclass(frozen=True, eq=False)
class FileRatings:
    """The ratings of one file that count.

    ``ratings`` has a unit for each unit, condition and variable of the file; ``of_unit`` maps what a column holds (``system``,
    ``real``) to each unit's value, of shape (units,), with "" where blank; only columns of the file are there. ``left_out`` counts
    ratings that don't count, by reason; ``blank`` those without a value.
    """

    ratings: Ratings
    of_unit: Mapping[str, npt.NDArray[np.object_]]
    blank: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def column(self, name: str, default: str = "") -> npt.NDArray[np.object_]:
        """Each unit's value of a column, shape (units,)."""
        found = self.of_unit.get(name)
        return np.full(len(self.ratings.units), default, dtype=object) if found is None else found

    def variable(self, name: str) -> FileRatings:
        """The ratings of one variable. Raises ``ValueError`` with the known ones."""
        held = self.column("variable")
        if name not in set(held):
            known = ", ".join(map(repr, sorted(set(held) - {""}))) or "none"
            raise ValueError(f"no rating has the variable {name!r}; there are {known}")
        return self.units_where(np.asarray(held == name))

    def units_where(self, kept: Mask) -> FileRatings:
        """The ratings of some units, ``kept`` of shape (units,)."""
        table = self.ratings.where(kept[self.ratings.unit])
        rated = table.grouped.sizes > 0
        return FileRatings(
            table.only_rated_units(),
            {name: values[rated] for name, values in self.of_unit.items()},
            self.blank,
            self.left_out,
            self.notes,
        )


def file_ratings(
    data: bytes,
    *,
    name: str,
    columns: FileColumns = FileColumns(),  # noqa: B008 (frozen)
    simulators: Collection[str] = (),
    abstain: Collection[str] = (),
    spelling: Spelling = Spelling(),  # noqa: B008 (frozen)
) -> FileRatings:
    """Read a file with one row per rating and the ratings table's columns, of any format that ``read_ratings`` reads.

    ``rater``, ``unit``, ``value`` must be there; other columns of ``columns`` are read if they are in the file. Ratings whose
    ``standing`` isn't counted, whose ``role`` isn't ordinary, or that have a reason in ``excluded`` don't count. Raters are simulators if
    ``rater_kind`` says so or ``simulators`` names them. Labels in ``abstain`` that occur make no statement. Raises ``FileRefused`` with
    every fault (file, line, column, value), and ``ValueError`` if a unit has two values of a column that belongs to it.
    """
    known = _known_columns(data, name)
    optional = {
        held: column
        for held in ("explanation", "system", "condition", "follow_up", "correct", "variable", "rater_kind")
        if (column := getattr(columns, held)) in known
    }
    units = [columns.unit, *(optional[held] for held in ("condition", "variable") if held in optional)]
    counting = [column for column in _COUNTING if column in known]
    # A cell of a unit's name can't be blank: a condition may be.
    names = [column for column in units if column == columns.unit or not _any_blank(data, name, column)]
    read = read_ratings(
        io.BytesIO(data),
        rater=columns.rater,
        unit=names,
        value=columns.value,
        cluster=columns.instance if columns.instance in known else "",
        gold=columns.real if columns.real in known else "",
        extra=[*optional.values(), *counting, *([columns.instance] if columns.instance in known else [])],
        spelling=spelling,
        name=name,
    )
    counts, left_out = _counting(read, counting)
    of_unit = {
        held: _by_unit(read, read.extra[column], column, name)
        for held, column in optional.items()
        if held != "rater_kind"
    }
    if columns.instance in known:
        of_unit["instance"] = _by_unit(read, read.extra[columns.instance], columns.instance, name)
    if read.gold is not None:
        labels = np.array([*read.ratings.labels, ""], dtype=object)
        of_unit["real"] = labels[read.gold]
    models = frozenset(simulators) | _simulators(read, optional.get("rater_kind", ""))
    if strange := sorted(set(simulators) - set(read.ratings.raters)):
        raise ValueError(f"{name}: {columns.rater}: no rater is called {strange[0]!r}")
    table = read.ratings
    found = Ratings(
        table.raters,
        table.units,
        table.labels,
        table.rater,
        table.unit,
        table.value,
        simulators=models,
        abstain=frozenset(abstain) & set(table.labels),
        clusters=table.clusters,
    ).where(counts)
    # That a real output isn't among the raters' labels is no mistake here: systems refuse.
    notes = tuple(note for note in read.notes if columns.real not in note or columns.value in note)
    return FileRatings(found, of_unit, read.blank, left_out, notes)


def _known_columns(data: bytes, name: str) -> set[str]:
    """The columns of a file."""
    log = FaultLog(name, kept=SHOWN)
    shown = name if Path(name.removesuffix(".gz")).suffix.lower() in FORMATS else "ratings.csv"
    table = table_open(io.BytesIO(data), name=shown, log=log, limits=LIMITS, skip_blank=True)
    if table.columns is not None:
        return set(table.columns)
    return {key for _, (_, row) in zip(range(_PEEKED), table.rows, strict=False) for key in row}


def _any_blank(data: bytes, name: str, column: str) -> bool:
    log = FaultLog(name, kept=SHOWN)
    [(cells, codes)], _ = file_cells(io.BytesIO(data), (column,), log)
    blank = [place for place, cell in enumerate(cells) if not cell.strip()]
    return bool(np.isin(codes, blank).any())


def _counting(read: ReadRatings, columns: list[str]) -> tuple[Mask, dict[str, int]]:
    """Which ratings count, and why how many of the others don't."""
    counts = np.ones(len(read.ratings), dtype=bool)
    left: Counter[str] = Counter()
    for column in columns:
        extra = read.extra[column]
        texts = np.array([*extra.names, ""], dtype=object)[extra.codes]
        out = counts & (texts != _COUNTING[column]) & ((texts != "") | (column == "excluded"))
        left.update(f"{column}: {text}" for text in texts[out])
        counts &= ~out
    return counts, dict(sorted(left.items()))


def _by_unit(read: ReadRatings, extra: ExtraColumn, column: str, name: str) -> npt.NDArray[np.object_]:
    """Each unit's value of a column; ``ValueError`` if one has two."""
    unit = read.ratings.unit
    codes = np.full(len(read.ratings.units), -1, dtype=np.int64)
    given = np.flatnonzero(extra.codes >= 0)
    codes[unit[given]] = extra.codes[given]
    wrong = given[codes[unit[given]] != extra.codes[given]]
    if wrong.size:
        at = int(wrong[0])
        two = sorted({extra.names[extra.codes[at]], extra.names[codes[unit[at]]]})
        raise ValueError(
            f"{name}: {column}: the unit {read.ratings.units[unit[at]]!r} has two values, {' and '.join(map(repr, two))}; expected one"
        )
    return np.array([*extra.names, ""], dtype=object)[codes]


def _simulators(read: ReadRatings, column: str) -> frozenset[str]:
    if not column:
        return frozenset()
    extra = read.extra[column]
    models = [place for place, text in enumerate(extra.names) if text == "simulator"]
    return frozenset(
        read.ratings.raters[code] for code in set(read.ratings.rater[np.isin(extra.codes, models)])
    )
