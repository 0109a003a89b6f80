"""Checks the rows of a release before they are put into the database: their columns, types and references."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db.models import (
    NOT_PROVIDED,
    BooleanField,
    DateTimeField,
    DecimalField,
    Field,
    FloatField,
    IntegerField,
    JSONField,
)
from django.utils.dateparse import parse_datetime

from annotator.core.printable import printable
from annotator.models import Declaration, Explanation, Item
from evaluation.releases.archive import ArchiveError, table_file
from evaluation.releases.tables import ReleasedTable, refers_to

#: More digits than any number of a study has.
_MOST_DIGITS = 40
_MOST_INTEGER = 2**31 - 1


class RowChecks:
    """Checks the rows of all tables, which must come in the order of ``TABLES``: a reference is the number of an earlier row."""

    def __init__(self) -> None:
        self._rows: dict[type[Any], int] = {}
        self._declared: set[str] = set()

    def checked(self, table: ReleasedTable, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The rows of a table. Raises ``ArchiveError`` with the file and line of the first one that is wrong."""
        fields = {field.attname: field for field in table.model._meta.concrete_fields}
        needed = {"id", *(name for name in table.columns if fields[name].db_default is NOT_PROVIDED)}
        known, columns, number = {"id", *table.columns}, None, 0
        for number, row in enumerate(rows, 1):
            where = f"{table_file(table.name)}, line {number}"
            names = tuple(row)
            if names != columns:
                missing, strange = sorted(needed - row.keys()), sorted(row.keys() - known)
                if missing or strange or columns is not None:
                    said = (
                        f"{missing[0]} is missing"
                        if missing
                        else "has other columns than the lines before it"
                    )
                    said = (
                        f"{printable(strange[0], most=100)} is no column of this table" if strange else said
                    )
                    raise ArchiveError(f"{where}: {said}")
                columns = names
            if row["id"] != number or isinstance(row["id"], bool | float):
                raise ArchiveError(f"{where}: id is {_shown(row['id'])}; rows are numbered from 1")
            for name, value in row.items():
                if name != "id":
                    self._check(fields[name], value, f"{where}: {name}")
            if table.model is Declaration:
                self._declared.add(row["digest"])
            yield row
        self._rows[table.model] = number

    def _check(self, field: Field[Any, Any], value: Any, where: str) -> None:
        if value is None:
            if not field.null:
                raise ArchiveError(f"{where} is empty")
            return None
        if target := refers_to(field):
            return self._number(target, value, where)
        if (field.model, field.attname) == (Item, "parts") and isinstance(value, dict):
            for part in value.values():
                self._number(Explanation, part, where)
        if field.remote_field is not None and field.remote_field.model is Declaration:
            if value not in self._declared:
                raise ArchiveError(
                    f"{where} is {_shown(value)}, and the release has no file of a HIT type with that SHA-256"
                )
            return None
        fault = _fault(field, value)
        if fault:
            raise ArchiveError(f"{where} is {_shown(value)}; expected {fault}")
        return None

    def _number(self, model: type[Any], value: Any, where: str) -> None:
        most = self._rows.get(model, 0)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ArchiveError(f"{where} is {_shown(value)}, which is no row of the table it refers to")


def _fault(field: Field[Any, Any], value: Any) -> str:
    """What a column holds, if it isn't this value; empty if it is."""
    if isinstance(field, JSONField):
        wants_list = isinstance(field.get_default(), list)
        return (
            ""
            if isinstance(value, list if wants_list else dict)
            else ("a list" if wants_list else "an object")
        )
    if isinstance(field, BooleanField):
        return "" if isinstance(value, bool) else "true or false"
    if isinstance(field, DecimalField):
        return "" if isinstance(value, str) and _is_decimal(value) else "a decimal number as text"
    if isinstance(field, FloatField):
        number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
        return "" if number and math.isfinite(value) else "a number"
    if isinstance(field, IntegerField):
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MOST_INTEGER
        return "" if whole else "a whole number"
    if isinstance(field, DateTimeField):
        return "" if isinstance(value, str) and _is_moment(value) else "a date and time"
    if not isinstance(value, str):
        return "a text"
    most = getattr(field, "max_length", None)
    return f"a text of at most {most} characters" if most and len(value) > most else ""


def _is_decimal(text: str) -> bool:
    try:
        return len(text) <= _MOST_DIGITS and Decimal(text).is_finite() and abs(Decimal(text).adjusted()) < 20
    except InvalidOperation:
        return False


def _is_moment(text: str) -> bool:
    try:
        return parse_datetime(text) is not None
    except ValueError:
        return False


def _shown(value: Any) -> str:
    return printable(str(value) if not isinstance(value, Mapping | list) else type(value).__name__, most=60)
