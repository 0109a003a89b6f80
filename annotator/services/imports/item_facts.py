"""What a file of judgments states about its items and raters: instance, correct labels, attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from annotator.core.tables.faults import FaultLog
from annotator.core.tables.rows import Line
from annotator.hit_types.base import JSON, FieldErrors
from annotator.models import Rater
from annotator.services.imports.value_columns import JudgmentColumns, Reading, cell_text


@dataclass
class ItemFact:
    """One item: its instance (its own key if no column names one), correct labels by field, and attributes."""

    instance: str = ""
    gold: JSON = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)


class Facts:
    """Facts collected row by row. A row that contradicts an earlier one is a fault, reported with both lines."""

    def __init__(self, columns: JudgmentColumns, log: FaultLog):
        self.columns, self.log = columns, log
        self.raters: dict[str, dict[str, str]] = {}
        self._items: dict[str, ItemFact] = {}
        self._lines: dict[tuple[str, ...], int] = {}

    def item(self, key: str) -> ItemFact:
        return self._items.get(key) or ItemFact(instance=key)

    def gather(self, rows: Iterable[Line], reading: Reading) -> None:
        """Collect what the rows state about their items besides the raters' labels."""
        if not (self.columns.cluster or self.columns.attributes or any(v.gold for v in self.columns.values)):
            return
        for line, values in rows:
            try:
                gold = gold_of(reading, values)
            except FieldErrors as error:
                for column, message in error.errors.items():
                    self.log.add(message, line=line, field=column, value=values.get(column))
                continue
            if key := self.columns.key(values):
                self.add_item(line, key, values, gold)

    def add_item(self, line: int, key: str, values: Mapping[str, Any], gold: Mapping[str, str]) -> None:
        """A row about the item; ``gold`` are the correct labels that it gives, by field."""
        fact = self._items.setdefault(key, ItemFact(instance=key))
        if self.columns.cluster:
            instance = cell_text(values.get(self.columns.cluster))
            if not instance:
                self.log.add("is blank; expected the instance", line=line, field=self.columns.cluster)
            elif self._agrees(line, self.columns.cluster, instance, key, fact.instance):
                fact.instance = instance
        columns = {value.name: value.gold for value in self.columns.values}
        for name, label in gold.items():
            column = columns.get(name.partition(".")[0], "")
            if self._agrees(line, column, label, f"{key} {name}", fact.gold.get(name, label), key):
                fact.gold[name] = label
        for column in self.columns.attributes:
            text = cell_text(values.get(column))
            if text and self._agrees(line, column, text, key, fact.attributes.get(column, text)):
                fact.attributes[column] = text

    def add_rater(self, line: int, rater: str, values: Mapping[str, Any]) -> None:
        attributes = self.raters.setdefault(rater, {})
        for column in self.columns.rater_attributes:
            text = cell_text(values.get(column))
            if text and self._agrees(
                line, column, text, f"rater {rater}", attributes.get(column, text), rater
            ):
                attributes[column] = text

    def _agrees(self, line: int, column: str, text: str, about: str, before: str, who: str = "") -> bool:
        """Whether the row is the first to state this, or agrees with the first."""
        first = self._lines.setdefault((column, about), line)
        if first == line or text == before:
            return True
        self.log.add(f"{who or about} has {before!r} on line {first}", line=line, field=column, value=text)
        return False


def gold_of(reading: Reading, values: Mapping[str, Any]) -> dict[str, str]:
    """The correct labels of a row, by response field; variables without a gold column or with a blank cell have none.

    Raises ``FieldErrors`` keyed by column, as labels of raters do.
    """
    gold: dict[str, str] = {}
    for value in reading.columns.values:
        if not value.gold or not cell_text(values.get(value.gold)):
            continue
        named = replace(value, column=value.gold)
        own = Reading(replace(reading.columns, values=(named,), aside={}), reading.one_name)
        for variable, unit, label in own.external(values):
            gold[f"{variable}.{unit}" if unit else variable] = label
    return gold


def rater_attributes_store(*, source: str, attributes: Mapping[str, Mapping[str, str]]) -> None:
    """Add attributes to the raters of one source."""
    wanted = {name: found for name, found in attributes.items() if found}
    raters = list(Rater.objects.filter(source=source, name__in=wanted))
    for rater in raters:
        rater.attributes = {**rater.attributes, **wanted[rater.name]}
    Rater.objects.bulk_update(raters, ["attributes"], batch_size=1_000)
