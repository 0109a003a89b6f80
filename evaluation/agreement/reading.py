"""Read a long table of ratings (one row per rating) into a ratings table: all of it, or nothing and a list of its faults."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from annotator.core.labels import (
    Spelling,
    clean_label,
    gold_note,
    label_number,
    number_problem,
    remarks,
    write_number,
)
from annotator.core.tables.columns import Cells, some_names
from annotator.core.tables.faults import FaultLog
from annotator.hit_types.base import Level
from evaluation.agreement.reading_columns import (
    SHOWN,
    CodedColumn,
    coded_column,
    file_cells,
    joined_columns,
    sorted_codes,
)
from evaluation.core.free_memory import return_free_memory
from evaluation.core.ratings_table import Codes, Floats, Ratings


@dataclass(frozen=True, eq=False)
class ExtraColumn:
    """A further column: ``codes`` of shape (ratings,) are indices into ``names``, -1 where blank.

    ``unanswered`` holds the same of the rows without a value.
    """

    names: tuple[str, ...]
    codes: Codes
    unanswered: Codes


def _nothing() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ReadRatings:
    """The table, the number of rows without a value (blank, or a label that means missing), and remarks on the labels."""

    ratings: Ratings
    blank: int
    notes: tuple[str, ...] = ()
    #: Further columns by name, each row with a label.
    extra: dict[str, ExtraColumn] = field(default_factory=dict)
    #: (rater, unit) codes of the rows without a value.
    unanswered: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] = field(default_factory=_nothing)
    #: Each unit's correct label as a code, -1 where none is given; shape (units,).
    gold: Codes | None = None


@dataclass(frozen=True, eq=False)
class _Rows:
    """Each row as codes, numbered in order of appearance; ``value`` is -1 if the cell is blank."""

    raters: list[str]
    units: list[str]
    values: list[str]
    rater: Codes
    unit: Codes
    value: Codes
    line: Codes
    clusters: list[str] = field(default_factory=list)
    cluster: Codes | None = None
    extra: dict[str, CodedColumn] = field(default_factory=dict)
    gold: Codes | None = None
    gold_column: str = ""


def read_ratings(
    source: str | Path | BinaryIO,
    *,
    rater: str,
    unit: str | Sequence[str],
    value: str,
    cluster: str = "",
    gold: str = "",
    extra: Sequence[str] = (),
    level: Level = "nominal",
    order: Sequence[str] = (),
    simulators: Collection[str] = (),
    spelling: Spelling = Spelling(),  # noqa: B008 (frozen)
    name: str = "",
) -> ReadRatings:
    """Read a file with one row per rating. ``rater``, ``unit`` and ``value`` name its columns; others are ignored.

    It can be CSV with commas, semicolons or tabs, JSON lines, Parquet or an Excel workbook, gzipped or in UTF-16: every
    format that ``annotator.core.tables.plain_file`` lists. A file with any other extension is read as CSV.

    ``cluster`` names the column of the instance (explanation, document) that a unit belongs to; intervals resample
    instances. It must be the same on all rows of a unit.

    Several columns can name the unit together. ``gold`` names the column of the unit's correct label, read as labels are; it
    must be the same on all rows of a unit, and one that nobody gave counts as one of the labels (a note says so). ``extra`` are columns to keep, for groups and filters.

    Spaces around a cell are dropped and its text is normalised to Unicode's composed form. A blank value is a missing
    rating. ``order`` lists the labels from low to high; an ordinal level needs it unless all labels are numbers. At
    interval and ratio level, labels are finite numbers (ratio: 0 or more), and cells with the same number have the same
    label. ``spelling`` says which labels mean missing, which are read as others, and whether case matters; the result's
    notes list labels that look like two spellings of one. ``name`` is what error messages call the file.

    Raises :class:`FileRefused` if the file is not UTF-8 or not CSV, is empty, has NUL bytes or rows of unequal
    length, lacks a column or has it twice; if a rater or unit is blank, a rater has rated a unit twice, or a label is
    not in ``order`` or not a number that the level allows; or if a simulator is not among the raters.
    """
    shown = name or (str(source) if isinstance(source, str | Path) else "the file")
    log = FaultLog(shown, kept=SHOWN)
    unit_columns = (unit,) if isinstance(unit, str) else tuple(unit)
    wanted = _Wanted(rater, unit_columns, value, cluster, gold, tuple(extra))
    rows = _read_rows(source, wanted, spelling, log)
    _refuse_doubles(rows, log, " + ".join(unit_columns))
    clusters = _clusters(rows, log, cluster)
    labels, code = _labels(rows, level, [clean_label(label) for label in order], value, spelling, log)
    log.check()
    simulators = frozenset(map(clean_label, simulators))
    strange = sorted(simulators - set(rows.raters))
    if strange:
        log.refuse(
            f"no rater is called {strange[0]!r}; the raters are {some_names(sorted(rows.raters))}",
            field=rater,
        )
    rated = rows.value >= 0
    raters, rater_code = sorted_codes(rows.raters)
    units, unit_code = sorted_codes(rows.units)
    table = Ratings(
        raters=raters,
        units=units,
        labels=labels,
        rater=rater_code[rows.rater[rated]],
        unit=unit_code[rows.unit[rated]],
        value=code[rows.value[rated]],
        level=level,
        simulators=simulators,
        clusters=None if clusters is None else clusters[np.argsort(unit_code)],
    )
    kept = {
        name: ExtraColumn(tuple(column.names), column.codes[rated], column.codes[~rated])
        for name, column in rows.extra.items()
    }
    unanswered = (
        rater_code[rows.rater[~rated]].astype(np.int64),
        unit_code[rows.unit[~rated]].astype(np.int64),
    )
    correct = None if rows.gold is None else _gold(rows, rows.gold, code, unit_code, gold, log)
    log.check()
    blank = int((~rated).sum())
    notes = (*_notes(table, value, correct), *(_strange_gold(table, gold, correct, order)))
    del rows, rated
    return_free_memory()
    return ReadRatings(table, blank, notes, kept, unanswered, correct)


def _gold(rows: _Rows, correct: Codes, code: Codes, unit_code: Codes, column: str, log: FaultLog) -> Codes:
    """Each unit's correct label, shape (units,) in sorted order; a unit with two is a fault."""
    found = np.full(len(rows.units), -1, dtype=np.int32)
    given = np.flatnonzero(correct >= 0)
    found[rows.unit[given[::-1]]] = correct[given[::-1]]  # the first row's stays
    for row in given[found[rows.unit[given]] != correct[given]].tolist():
        own = rows.values[found[rows.unit[row]]]
        log.add(
            f"{rows.units[rows.unit[row]]!r} has {own!r} in an earlier line",
            line=int(rows.line[row]),
            field=column,
            value=rows.values[correct[row]],
        )
    in_order = np.full(len(rows.units), -1, dtype=np.int32)
    in_order[unit_code] = np.where(found >= 0, code[np.maximum(found, 0)], -1)
    return in_order


@dataclass(frozen=True)
class _Wanted:
    """The columns to read."""

    rater: str
    unit: tuple[str, ...]
    value: str
    cluster: str
    gold: str
    extra: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns; further ones that have another meaning too only once."""
        own = (self.rater, *self.unit, self.value, *filter(None, (self.cluster, self.gold)))
        return (*own, *(name for name in dict.fromkeys(self.extra) if name not in own))


def _read_rows(source: str | Path | BinaryIO, asked: _Wanted, spelling: Spelling, log: FaultLog) -> _Rows:
    wanted = asked.names
    cells, lines = file_cells(source, wanted, log)
    of = dict(zip(wanted, cells, strict=True))
    texts = {
        name: coded_column(*of[name], clean_label) for name in wanted if name not in (asked.value, asked.gold)
    }
    required = [(asked.rater, "rater"), *((name, "unit") for name in asked.unit)]
    for name, what in [*required, *([(asked.cluster, "cluster")] if asked.cluster else [])]:
        for line in lines[texts[name].codes < 0].tolist():
            log.add(f"blank; expected a {what}", line=line, field=name)
    log.check()
    raters, units = texts[asked.rater], joined_columns([texts[name] for name in asked.unit], log)
    values, correct = _values_and_gold(of[asked.value], of.get(asked.gold), spelling)
    if not lines.size:
        log.refuse("has a header and no rows; expected one row per rating")
    rows = _Rows(raters.names, units.names, values.names, raters.codes, units.codes, values.codes, lines)
    if asked.cluster:
        rows = replace(rows, clusters=texts[asked.cluster].names, cluster=texts[asked.cluster].codes)
    extra = {name: texts.get(name, values) for name in asked.extra}
    return replace(rows, extra=extra, gold=correct, gold_column=asked.gold)


def _values_and_gold(
    value: Cells, gold: Cells | None, spelling: Spelling
) -> tuple[CodedColumn, Codes | None]:
    """The labels' column; and the correct labels as codes of the same labels."""
    if gold is None:
        return coded_column(*value, spelling.read), None
    size = len(value[0])
    both = coded_column([*value[0], *gold[0]], np.concatenate((value[1], gold[1] + size)), spelling.read)
    rows = value[1].size
    return CodedColumn(both.names, both.codes[:rows]), both.codes[rows:]


def _clusters(rows: _Rows, log: FaultLog, column: str) -> Codes | None:
    """Each unit's cluster, shape (units,), numbered by name, so that a resample doesn't depend on the order of the file; a
    unit in two clusters is a fault."""
    if rows.cluster is None:
        return None
    _, first = np.unique(rows.unit, return_index=True)
    own = rows.cluster[first]
    for row in np.flatnonzero(own[rows.unit] != rows.cluster).tolist():
        unit, before = rows.units[rows.unit[row]], int(rows.line[first[rows.unit[row]]])
        log.add(
            f"{unit!r} belongs to {rows.clusters[own[rows.unit[row]]]!r} in line {before}",
            line=int(rows.line[row]),
            field=column,
            value=rows.clusters[rows.cluster[row]],
        )
    rank = np.empty(len(rows.clusters), dtype=np.int32)
    rank[sorted(range(len(rows.clusters)), key=rows.clusters.__getitem__)] = np.arange(len(rows.clusters))
    return rank[own]


def _refuse_doubles(rows: _Rows, log: FaultLog, unit: str) -> None:
    """Add a fault for every repeated rating of a unit by one rater, with the line of the first."""
    rated = np.flatnonzero(rows.value >= 0)
    key = rows.unit[rated].astype(np.int64) * len(rows.raters) + rows.rater[rated]
    ordered = np.sort(key)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first: dict[int, int] = {}
    for index in np.sort(order[np.isin(ordered, ordered[1:][ordered[1:] == ordered[:-1]])]).tolist():
        row, pair = int(rated[index]), int(key[index])
        if pair in first:
            who, what = rows.raters[rows.rater[row]], rows.units[rows.unit[row]]
            log.add(
                f"{who!r} has rated {what!r} twice, first in line {first[pair]}",
                line=int(rows.line[row]),
                field=unit,
            )
        else:
            first[pair] = int(rows.line[row])


def _labels(
    rows: _Rows, level: Level, order: Sequence[str], column: str, spelling: Spelling, log: FaultLog
) -> tuple[tuple[str, ...], Codes]:
    """The labels in order, and the code of each value that occurs."""
    if order and level in ("interval", "ratio"):
        log.refuse(f"order: not needed at {level} level, whose labels are numbers")
    if len(set(order)) < len(order):
        log.refuse(f"order: a label occurs twice in {', '.join(order)}")
    given = np.bincount(rows.value[rows.value >= 0], minlength=len(rows.values)).tolist()
    if order or level == "nominal":
        one_name = spelling.one_name(dict(zip(rows.values, given, strict=True)), declared=order)
        values = [one_name.get(label, label) for label in rows.values]
        names = tuple(order) or tuple(sorted(set(values)))
        return names, _known(rows, values, names, column, log)
    numbers = _numbers(rows, level, column, log)
    distinct = sorted(set(numbers.tolist()))
    place = {number: index for index, number in enumerate(distinct)}
    code = np.array([place[number] for number in numbers.tolist()], dtype=np.int32)
    return tuple(map(write_number, distinct)), code


def _known(rows: _Rows, values: Sequence[str], labels: Sequence[str], column: str, log: FaultLog) -> Codes:
    place = {label: index for index, label in enumerate(labels)}
    code = np.array([place.get(label, -1) for label in values], dtype=np.int32)
    expected = f"one of the order's labels, {some_names(labels)}; --recode OLD=NEW reads one label as another"
    _fault_values(rows, code < 0, lambda _: expected, column, log)
    return np.maximum(code, 0)


def _notes(ratings: Ratings, column: str, gold: Codes | None) -> tuple[str, ...]:
    """Remarks on the labels that were given or are correct; numbers cannot be spelled in two ways."""
    if ratings.level in ("interval", "ratio"):
        return ()
    size = len(ratings.labels)
    given = np.bincount(ratings.value, minlength=size)
    if gold is not None:
        given = np.where(given, given, np.bincount(gold[gold >= 0], minlength=size))
    counts = {label: count for label, count in zip(ratings.labels, given.tolist(), strict=True) if count}
    return tuple(remarks(column, counts))


def _strange_gold(ratings: Ratings, column: str, gold: Codes | None, order: Sequence[str]) -> tuple[str, ...]:
    """A note on correct labels that nobody gave; those of a declared order are labels in any case."""
    if gold is None or order:
        return ()
    only = np.setdiff1d(gold[gold >= 0], ratings.value).tolist()
    return (gold_note(column, [ratings.labels[code] for code in only]),) if only else ()


def _numbers(rows: _Rows, level: Level, column: str, log: FaultLog) -> Floats:
    numbers: Floats = np.array([label_number(text) for text in rows.values], dtype=np.float64)
    bad = ~np.isfinite(numbers) | ((numbers < 0) if level == "ratio" else False)
    given = np.unique(rows.value[rows.value >= 0])
    if level == "ordinal" and bad[given].any():
        log.refuse(
            "ordinal labels that are not numbers need their order, from low to high: "
            f"{some_names(sorted(rows.values[code] for code in given.tolist()))}",
            field=column,
        )
    least = ", 0 or more" if level == "ratio" else ""
    _fault_values(rows, bad, lambda text: number_problem(text, least=least), column, log)
    return np.where(bad, 0.0, numbers)


def _fault_values(
    rows: _Rows,
    bad: npt.NDArray[np.bool_],
    expected: Callable[[str], str],
    column: str,
    log: FaultLog,
) -> None:
    """A fault for each label, and each correct one, that is ``bad``."""
    if not bad.any():
        return
    for codes, name in ((rows.value, column), (rows.gold, rows.gold_column)):
        if codes is None:
            continue
        for row in np.flatnonzero((codes >= 0) & bad[np.maximum(codes, 0)]).tolist():
            text = rows.values[codes[row]]
            log.add(f"expected {expected(text)}", line=int(rows.line[row]), field=name, value=text)
