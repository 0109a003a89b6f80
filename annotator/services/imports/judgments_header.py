"""Complete the choice of columns from the header of a file of judgments, and check that every column exists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from annotator.core.tables.faults import FaultLog
from annotator.hit_types.base import JSON
from annotator.services.imports.label_counts import COUNTED
from annotator.services.imports.value_columns import (
    MTURK_ANSWER,
    MTURK_INPUT,
    MTURK_SECONDS,
    MTURK_WORKER,
    JudgmentColumns,
    variable_name,
)


def columns_settle(
    columns: JudgmentColumns, *, header: tuple[str, ...], strict: bool, external: bool, log: FaultLog
) -> JudgmentColumns:
    """Fill in the raters, times and variables that ``columns`` leaves open, and log columns that can't be used.

    ``strict`` says that the file has no other columns than those in ``header``; rows of JSON lines may. ``external``
    says that the study is of ``external_labels``, whose variables and items come from the file.
    """
    columns = replace(columns, **_found(columns, header, external=external, log=log))
    wanted = [*columns.item_columns, columns.rater, columns.seconds, *columns.counts]
    wanted += [value.column for value in columns.values if value.column != COUNTED]
    wanted += [*columns.show, columns.cluster, *columns.attributes, *columns.rater_attributes]
    wanted += [value.gold for value in columns.values]
    for column in dict.fromkeys(filter(None, wanted)) if strict else ():
        if column not in header:
            log.add(f"this column is missing; the file has: {', '.join(header)}"[:400], line=1, field=column)
    names = Counter(value.name for value in columns.values)
    for name, count in names.items():
        if name and count > 1:
            log.add("two columns have this name", field=name)
    if not external:
        _refuse_facts(columns, log)
    return columns


def columns_as_declared(columns: JudgmentColumns, variables: Sequence[JSON]) -> JudgmentColumns:
    """The columns with the levels and labels of the study's existing variables, whatever this import declares."""
    known = {variable["name"]: variable for variable in variables}
    values = (
        replace(value, level=own["level"], labels=tuple(own["labels"]))
        if (own := known.get(value.name))
        else value
        for value in columns.values
    )
    return replace(columns, values=tuple(values))


def _found(
    columns: JudgmentColumns, header: tuple[str, ...], *, external: bool, log: FaultLog
) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "values": tuple(
            replace(value, name=value.name or (variable_name(value.column) if external else ""))
            for value in columns.values
        )
    }
    if not (columns.rater or columns.rater_name or columns.unnamed):
        if MTURK_WORKER in header:
            changes["rater"] = MTURK_WORKER
        elif any(name.startswith(MTURK_ANSWER) for name in header):
            changes["unnamed"] = True
        else:
            log.add("say which column names the rater, one name for all, or that they are unnamed")
    if not columns.seconds and MTURK_SECONDS in header:
        changes["seconds"] = MTURK_SECONDS
    if not columns.show and external:
        changes["show"] = tuple(
            name for name in header if name.startswith(MTURK_INPUT) and name not in columns.item_columns
        )
    return changes


def _refuse_facts(columns: JudgmentColumns, log: FaultLog) -> None:
    """Refuse columns about items for types whose items already have their material and gold."""
    facts = {
        "cluster": columns.cluster,
        "attribute": ", ".join(columns.attributes),
        "counts": ", ".join(columns.counts),
        "gold": ", ".join(value.gold for value in columns.values if value.gold),
    }
    for name, column in facts.items():
        if column:
            log.add(f"{name}: only labels collected elsewhere take it from this file", field=column)
