"""Turn the cells of a row into a response: which columns hold labels, and how labels are spelled."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from annotator.core.labels import (
    Spelling,
    cell_text,
    exact_number,
    gold_note,
    label_number,
    number_problem,
    remarks,
    write_number,
)
from annotator.hit_types.base import JSON, MARKER, FieldErrors, HitType, Unparsable
from annotator.hit_types.confidence import confidence_fields

MTURK_INPUT, MTURK_ANSWER, MTURK_WORKER = "Input.", "Answer.", "WorkerId"
MTURK_SECONDS, MTURK_STATUS = "WorkTimeInSeconds", "AssignmentStatus"
#: Separates the cells when several columns together name an item.
KEY_SEPARATOR = " · "
#: Labels are declared in each item; a variable with more of them declares none, and takes any text.
MOST_LABELS = 200


@dataclass(frozen=True)
class ValueColumn:
    """One column of labels. ``name`` is their field or variable, empty if there is only one. ``listed`` are units of
    the item: the cell lists those for which the variable is "yes". ``labels`` are declared in order if the level needs
    it, and otherwise collected from the file. ``gold`` is the column of the correct label.
    """

    column: str
    name: str = ""
    level: str = "nominal"
    labels: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    gold: str = ""


@dataclass(frozen=True)
class JudgmentColumns:
    """What the columns of a file of judgments mean.

    ``item`` names the item; several columns can name it together. ``cluster`` names the instance that it belongs to,
    ``attributes`` are further columns about the item, and ``rater_attributes`` about the rater.
    ``rater_name`` is one rater for all rows; ``unnamed`` numbers the raters of each item from 1. ``aside`` maps
    a value that is no label ("-9": needs more information, which is also the -9.0 that pandas writes) to the name of a
    variable of its own. ``recode`` maps the
    file's spellings to labels, ``missing`` lists labels that mean no answer, and ``fold_case`` merges labels that
    differ only in case or form. ``decimal_comma`` reads 2,5 as a number. ``show`` lists columns that say what was judged. ``counts`` are columns of a table of label counts, each
    named after its label (see ``label_counts.count_columns``).
    """

    item: str | tuple[str, ...]
    values: tuple[ValueColumn, ...]
    rater: str = ""
    rater_name: str = ""
    unnamed: bool = False
    seconds: str = ""
    separator: str = "|"
    skip_blank: bool = False
    recode: Mapping[str, str] = field(default_factory=dict)
    aside: Mapping[str, str] = field(default_factory=dict)
    simulators: frozenset[str] = frozenset()
    show: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    fold_case: bool = False
    decimal_comma: bool = False
    cluster: str = ""
    attributes: tuple[str, ...] = ()
    rater_attributes: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()

    @property
    def item_columns(self) -> tuple[str, ...]:
        return (self.item,) if isinstance(self.item, str) else tuple(self.item)

    @property
    def item_title(self) -> str:
        """The item's column as messages name it; several are joined with a plus."""
        return " + ".join(self.item_columns)

    def key(self, values: Mapping[str, Any]) -> str:
        """The item's name in a row: its cells, joined; empty if one of them is blank.

        >>> JudgmentColumns(("question", "system"), ()).key({"question": "q1", "system": "gpt"})
        'q1 · gpt'
        """
        cells = [cell_text(values.get(column)) for column in self.item_columns]
        return KEY_SEPARATOR.join(cells) if all(cells) else ""

    def cell(self, values: Mapping[str, Any], column: ValueColumn) -> str:
        """The text of a row's cell; a list of units, as JSON has, as other files write it."""
        cell = values.get(column.column)
        if column.listed and isinstance(cell, list):
            return self.separator.join(map(cell_text, cell))
        return cell_text(cell)

    def unlabelled(self, values: Mapping[str, Any]) -> bool:
        """Whether a row has no label: its cells are blank or have a label that means no answer. A blank list of units is an
        answer, that none is "yes", unless blank rows are skipped.

        >>> columns = JudgmentColumns("q", (ValueColumn("says"),), "who", missing=("NA",))
        >>> columns.unlabelled({"says": "NA"}), columns.unlabelled({"says": "yes"})
        (True, False)
        """
        cells = [self.cell(values, value) for value in self.values]
        if any(map(self.spelling.read, cells)):
            return False
        lists_none = any(value.listed and not cell for value, cell in zip(self.values, cells, strict=True))
        return self.skip_blank or not lists_none

    @cached_property
    def spelling(self) -> Spelling:
        return Spelling(self.missing, self.recode, self.fold_case, self.decimal_comma)


def variable_name(column: str) -> str:
    """The name of a column of labels as a variable.

    >>> variable_name("Answer.acceptable")
    'acceptable'
    """
    return re.sub(r"[^\w -]+", "_", column.removeprefix(MTURK_ANSWER)).strip("_ -")[:60] or "label"


class Reading:
    """Reads rows by ``columns`` into raw responses of a HIT type; raises ``FieldErrors`` keyed by column.

    ``one_name`` maps, for each variable, a spelling to the label that it is read as (see ``Spelling.one_name``).
    """

    def __init__(self, columns: JudgmentColumns, one_name: Mapping[str, Mapping[str, str]] | None = None):
        self.columns = columns
        self.one_name = one_name or {}

    def label(self, values: Mapping[str, Any], column: ValueColumn) -> str:
        """The label of a cell; empty if it is blank or means no answer."""
        if isinstance(values.get(column.column), dict if column.listed else dict | list):
            raise FieldErrors({column.column: "expected one label: text, a number, true or false"})
        text = self.columns.spelling.read(self.columns.cell(values, column))
        if (aside := self._aside(text)) is not None:
            return aside
        if column.level in ("interval", "ratio") and text:
            return self._number(text, column)
        return self.one_name.get(column.name, {}).get(text, text)

    def _aside(self, text: str) -> str | None:
        """The value of ``aside`` that a text is, however its number is written."""
        if not text or text in self.columns.aside:
            return text or None
        number = exact_number(text) if self.columns.aside else None
        if number is None:
            return None
        return next((value for value in self.columns.aside if exact_number(value) == number), None)

    def _number(self, text: str, column: ValueColumn) -> str:
        number = label_number(text)
        if math.isnan(number) or (column.level == "ratio" and number < 0):
            least = ", 0 or more" if column.level == "ratio" else ""
            expected, semicolon, hint = number_problem(text, least=least).partition("; ")
            kind = f"as {column.level} labels are"
            raise FieldErrors({column.column: f"expected {expected}, {kind}{semicolon}{hint}"})
        return write_number(number)

    def listed(self, text: str, column: ValueColumn) -> list[str]:
        """The units that a cell lists; raises ``FieldErrors`` for an unknown or repeated one."""
        units = [part.strip() for part in text.split(self.columns.separator)] if text else []
        for unit in units:
            if unit not in column.listed:
                raise FieldErrors(
                    {column.column: f"{unit!r} is not among {', '.join(column.listed)}; listed with"
                     f" {self.columns.separator!r} between them"}
                )  # fmt: skip
        if len(set(units)) != len(units):
            raise FieldErrors({column.column: "lists the same entry twice"})
        return units

    def external(self, values: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        """(variable, unit, label) of a row of labels collected elsewhere; blank cells give none."""
        for column in self.columns.values:
            text = self.label(values, column)
            if column.listed:
                if not text and self.columns.cell(values, column):
                    continue  # a label that means no answer, which lists nothing: not even that none is "yes"
                units = self.listed(text, column)
                for unit in column.listed:
                    yield column.name, unit, "yes" if unit in units else "no"
                continue
            for value, name in self.columns.aside.items():
                if text:
                    yield f"{column.name}_{name}", "", "yes" if text == value else "no"
            if text and text not in self.columns.aside:
                yield column.name, "", text

    def asked(self, kind: HitType, payload: JSON, values: Mapping[str, Any]) -> JSON:
        """The raw response of a row, for types that aren't external. A column without a name holds the field of the
        same name, or the only field, or a whole answer, which is read as a model's reply would be. A cell with an
        object is a whole response.
        """
        fields = {f.name: f for stage in kind.every_stage(payload) for f in stage.fields}
        sure = confidence_fields(kind, payload)
        raw: JSON = {}
        for column in self.columns.values:
            cell = values.get(column.column)
            if isinstance(cell, dict):
                return cell
            name = column.name or variable_name(column.column)
            multi = name in fields and fields[name].kind == "multi"
            if multi and isinstance(cell, list):
                raw[name] = [cell_text(one) for one in cell]
                continue
            text = self.label(values, column)
            if name in fields:
                raw[name] = text.split(self.columns.separator) if multi and text else text
            elif column.name and column.name not in [v.name for v in kind.variables]:
                if not text:  # a question about a turn or a point that only other items have
                    continue
                raise FieldErrors({column.column: f"{column.name!r} is none of: {', '.join(fields)}"})
            elif len(own := [name for name in fields if name not in sure]) == 1:
                raw[own[0]] = text
            else:
                raw |= self._answer(kind, payload, column, text)
        return raw

    def _answer(self, kind: HitType, payload: JSON, column: ValueColumn, text: str) -> JSON:
        sure = confidence_fields(kind, payload)
        answers = [one for one in self.columns.values if (one.name or variable_name(one.column)) not in sure]
        if len(kind.stages(payload)) > 1 or len(answers) > 1:
            names = ", ".join(f.name for stage in kind.stages(payload) for f in stage.fields)
            raise FieldErrors({column.column: f"say which of these it is, as FIELD=COLUMN: {names}"})
        try:
            return kind.parse_reply(f"{MARKER}: {text.replace('_', ' ')}", payload)
        except Unparsable:
            labels = {label for variable in kind.variables for label in variable.labels}
            raise FieldErrors({column.column: f"expected one of: {', '.join(sorted(labels))}"}) from None


@dataclass
class Gathered:
    """What a first pass over the file finds about its variables: the labels of each, in their declared order or sorted."""

    columns: JudgmentColumns
    labels: dict[str, Counter[str]] = field(default_factory=dict)
    #: How often each label is a correct one.
    gold: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, variable: str, label: str) -> None:
        """A label that a rater gave."""
        self._count(self.labels, variable, label)

    def add_gold(self, variable: str, label: str) -> None:
        """A label that is the correct one; one that nobody gave counts as one of the labels."""
        self._count(self.gold, variable, label)

    def _count(self, counts: dict[str, Counter[str]], variable: str, label: str) -> None:
        counts.setdefault(variable, Counter())[label] += 1

    def counted(self) -> dict[str, Counter[str]]:
        """The labels of each variable: how often they were given or, if never, how often they are correct.

        Variables are in the order of their columns, each followed by those of its values set aside.
        """
        names = [column.name for column in self.columns.values]
        asides = [*self.columns.aside.values()]
        order = [name for own in names for name in (own, *(f"{own}_{aside}" for aside in asides))]
        totals = {}
        for name in dict.fromkeys([*order, *self.labels, *self.gold]):
            given, correct = self.labels.get(name, Counter()), self.gold.get(name, Counter())
            if given or correct:
                totals[name] = given + Counter({k: n for k, n in correct.items() if k not in given})
        return totals

    def one_name(self) -> dict[str, dict[str, str]]:
        """For each variable, maps each spelling found to the label that it is read as, however many there are."""
        columns = {column.name: column for column in self.columns.values}
        return {name: self._names(columns.get(name), counts) for name, counts in self.counted().items()}

    def _names(self, column: ValueColumn | None, counts: Counter[str]) -> dict[str, str]:
        if column is not None and column.level == "ordinal" and not column.labels:
            numbers = {label: label_number(label) for label in counts}
            if not any(map(math.isnan, numbers.values())):  # equal numbers are one step of the scale
                return {label: write_number(number) for label, number in numbers.items()}
        return self.columns.spelling.one_name(counts, declared=column.labels if column else ())

    def notes(self, one_name: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Remarks on the labels as read, with counts. Numbers get none, since they can't be spelled in two ways."""
        notes = []
        levels = {column.name: column.level for column in self.columns.values}
        declared = {column.name for column in self.columns.values if column.labels or column.listed}
        for name, counts in self.counted().items():
            names = one_name.get(name, {})
            if levels.get(name) not in ("interval", "ratio"):
                read: Counter[str] = Counter()
                for label, count in counts.items():
                    read[names.get(label, label)] += count
                notes += remarks(name, read)
            given = {names.get(label, label) for label in self.labels.get(name, ())}
            only = dict.fromkeys(names.get(label, label) for label in self.gold.get(name, ()))
            if name not in declared and (never := [label for label in only if label not in given]):
                notes.append(gold_note(name, never))
        return notes

    def variables(self) -> list[JSON]:
        """The declarations for ``external_labels``; a variable without any label is left out, unless all are. Raises
        ``FieldErrors`` if ordinal labels that aren't numbers have no declared order, or are too many to declare.
        """
        if not self.counted():
            return [{"name": column.name} for column in self.columns.values]
        declared = {column.name: column for column in self.columns.values}
        asides = {f"{c.name}_{name}" for c in self.columns.values for name in self.columns.aside.values()}
        one_name = self.one_name()
        variables: list[JSON] = []
        for name, found in self.counted().items():
            column = declared.get(name)
            if name in asides and set(found) == {"no"}:
                continue
            spelled = {one_name.get(name, {}).get(label, label) for label in found}
            labels = list(column.labels) if column and column.labels else in_order(spelled, column)
            if column is None or column.listed:
                labels = ["no", "yes"]
            many = len(labels) > MOST_LABELS and not (column and column.labels)
            if many and column and column.level == "ordinal":
                raise FieldErrors({
                    column.column: f"{len(labels):,} different labels; an ordinal variable has at most {MOST_LABELS}. Import "
                    "numbers at interval or ratio level, or read several labels as one with --recode"
                })  # fmt: skip
            variables.append({
                "name": name,
                "level": column.level if column else "nominal",
                "labels": [] if many else labels,
                "units": list(column.listed) if column else [],
            })  # fmt: skip
        return variables


def in_order(labels: Collection[str], column: ValueColumn | None) -> list[str]:
    """Sort undeclared labels: numbers by value, text by name (not an order for ordinal labels).

    >>> in_order({"10", "9", "2"}, None)
    ['2', '9', '10']
    """
    numbers = {label: number for label in labels if (number := exact_number(label)) is not None}
    if len(numbers) == len(labels):
        return sorted(labels, key=lambda label: (numbers[label], label))
    if column is not None and column.level == "ordinal":
        shown = ", ".join(map(repr, sorted(labels)[:20]))
        raise FieldErrors({
            column.column: f"ordinal labels that are not numbers need their order, from low to high, as in "
            f"--labels {column.name}=low,mid,high; the file has: {shown}"
        })  # fmt: skip
    return sorted(labels)
