"""Parquet files with columns that no label can be in: they are no obstacle unless they are used."""

from __future__ import annotations

import io
from datetime import datetime, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotator.core.tables.columns import columns_read
from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.core.tables.plain_file import Limits
from annotator.core.tables.rows import table_open

LIMITS = Limits(size=10_000_000, rows=1_000, columns=50)
LABELS = {"who": ["a", "b"], "item": ["u", "u"], "says": ["x", "y"]}
OTHERS: dict[str, tuple[Any, Any]] = {
    "nanoseconds": (pa.array([1, 2], pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
    "beyond Python's years": (
        pa.array([2**62] * 2, pa.timestamp("us")),
        "<value out of range: 4611686018427387904>",
    ),
    "bytes": (pa.array([b"\xff\x00"] * 2), None),
    "text as bytes": (pa.array([b"yes"] * 2), "yes"),
    "duration": (pa.array([timedelta(seconds=90)] * 2), "0:01:30"),
    "time": (pa.array([time(1, 2)] * 2), "01:02:00"),
    "list": (pa.array([["a"], []]), ["a"]),
    "list of bytes": (pa.array([[b"\xff"], []]), [None]),
    "object": (pa.array([{"at": datetime(2024, 1, 1)}] * 2), {"at": "2024-01-01 00:00:00"}),  # noqa: DTZ001 - without a zone, as files have it
    "nothing": (pa.nulls(2), None),
}


def file_of(**columns: Any) -> io.BytesIO:
    out = io.BytesIO()
    pq.write_table(pa.table(LABELS | columns), out)
    out.seek(0)
    return out


@pytest.mark.parametrize("name", OTHERS)
def test_an_unused_column_is_no_obstacle(name: str) -> None:
    column, first = OTHERS[name]
    log = FaultLog("t.parquet")
    table = table_open(file_of(other=column), name="t.parquet", log=log, limits=LIMITS)
    rows = list(table.rows)
    log.check()
    assert [values["says"] for _, values in rows] == ["x", "y"]
    assert rows[0][1]["other"] == first
    cells, lines = columns_read(
        file_of(other=column), name="t.parquet", wanted=["who", "says"], log=log, limits=LIMITS
    )
    assert [[names[code] for code in codes] for names, codes in cells] == [["a", "b"], ["x", "y"]]
    assert np.array_equal(lines, [1, 2])


@pytest.mark.parametrize("name", ["list", "object", "bytes"])
def test_a_column_of_lists_has_no_labels(name: str) -> None:
    log = FaultLog("t.parquet")
    with pytest.raises(
        FileRefused, match=r"other: is a column of type .*; expected text, numbers, true or false"
    ):
        columns_read(
            file_of(other=OTHERS[name][0]), name="t.parquet", wanted=["who", "other"], log=log, limits=LIMITS
        )
