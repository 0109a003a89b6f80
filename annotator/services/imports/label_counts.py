"""Tables of label counts: one row per item and one column per label, with how often the item got it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from annotator.core.labels import cell_text, label_number
from annotator.core.tables.faults import FaultLog
from annotator.core.tables.rows import Line
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn

#: The column that holds the label once a row of counts is taken apart.
COUNTED = "(label counts)"
#: The name of the only variable, unless the import names it.
VARIABLE = "label"
#: Fields of ``JudgmentColumns`` that mean nothing for a table of label counts: it has no raters, and labels are headings.
NOT_WITH_COUNTS = (
    "rater", "rater_name", "simulators", "seconds", "aside", "rater_attributes", "recode", "missing", "fold_case",
    "decimal_comma",
)  # fmt: skip
#: No item has more raters than this.
MOST = 100_000


def counts_taken_apart(rows: Iterator[Line], columns: Sequence[str], log: FaultLog) -> Iterator[Line]:
    """Each row once for each rater that its counts stand for, with the label as the value of ``COUNTED``.

    A blank count is 0. Counts that aren't whole numbers from 0 go to the ``log``.

    >>> rows = iter([(2, {"q": "1", "yes": "2", "no": ""})])
    >>> [values[COUNTED] for _, values in counts_taken_apart(rows, ["yes", "no"], FaultLog("f"))]
    ['yes', 'yes']
    """
    for line, values in rows:
        for column in columns:
            text = cell_text(values.get(column))
            count = label_number(text) if text else 0.0
            if not 0 <= count <= MOST or count != int(count):
                log.add(
                    f"expected a count, a whole number from 0 to {MOST:,}",
                    line=line,
                    field=column,
                    value=text,
                )
                continue
            for _ in range(int(count)):
                yield line, {**values, COUNTED: column}


def count_columns(
    *,
    item: Sequence[str],
    counts: Sequence[str],
    level: str = "nominal",
    variable: str = "",
    gold: str = "",
    **more: Any,
) -> JudgmentColumns:
    """What the columns of a table of label counts mean; ``counts`` are its labels, in order. Raters have no names.
    ``gold`` is the column of the correct label.

    >>> count_columns(item=["q"], counts=["yes", "no"]).values[0].labels
    ('yes', 'no')
    """
    labels = tuple(counts) if level in ("nominal", "ordinal") else ()
    value = ValueColumn(COUNTED, variable or VARIABLE, level=level, labels=labels, gold=gold)
    return JudgmentColumns(tuple(item), (value,), unnamed=True, counts=tuple(counts), **more)
