"""Write imported judgments to the database: COPY the checked rows, then one statement for each table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotator.core.canonical import digest_of
from annotator.core.tables.faults import KEPT, FaultLog
from annotator.hit_types.base import JSON
from annotator.models import Rater

_TABLE = """
DROP TABLE IF EXISTS import_judgment;
CREATE TEMPORARY TABLE import_judgment (line integer, item_id bigint, item text, rater text, kind text,
    response jsonb, digest text, seconds double precision) ON COMMIT DROP
"""
_COLUMNS = "line, item_id, item, rater, kind, response, digest, seconds"

_TWICE = """
SELECT line, item, rater, first FROM (
    SELECT line, item, rater, min(line) OVER (PARTITION BY item_id, kind, rater) AS first FROM import_judgment) s
WHERE line > first ORDER BY line LIMIT %(kept)s
"""
_OTHERWISE = """
SELECT s.line, s.item, s.rater FROM import_judgment s
JOIN annotator_rater r ON r.kind = s.kind AND r.source = %(source)s AND r.name = s.rater
JOIN annotator_judgment j ON j.item_id = s.item_id AND j.rater_id = r.id
WHERE j.response <> s.response ORDER BY s.line LIMIT %(kept)s
"""
_RATERS = """
INSERT INTO annotator_rater (kind, source, name, rehearsal, created_at)
SELECT DISTINCT kind, %(source)s, rater, false, statement_timestamp() FROM import_judgment ON CONFLICT DO NOTHING
"""
_JUDGMENTS = """
INSERT INTO annotator_judgment
    (study_id, item_id, rater_id, response, digest, standing, source, seconds, signals, created_at)
SELECT %(study)s, s.item_id, r.id, s.response, s.digest, 'counted', 'import', s.seconds,
    jsonb_build_object('file', %(file)s::text, 'line', s.line), statement_timestamp()
FROM import_judgment s JOIN annotator_rater r ON r.kind = s.kind AND r.source = %(source)s AND r.name = s.rater
ORDER BY s.line ON CONFLICT (item_id, rater_id) DO NOTHING
"""


@dataclass(frozen=True)
class StagedJudgment:
    """One checked row of the file."""

    line: int
    item_pk: int
    item: str
    rater: str
    simulator: bool
    response: JSON
    #: The response without how sure the rater is.
    answer: JSON
    seconds: float | None

    def cells(self) -> tuple[Any, ...]:
        kind = Rater.Kind.SIMULATOR if self.simulator else Rater.Kind.HUMAN
        response, digest = json.dumps(self.response), digest_of(self.answer)
        return (
            self.line, self.item_pk, self.item, self.rater, kind.value, response, digest, self.seconds
        )  # fmt: skip


def judgments_stage_open() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TABLE)


def judgments_stage(rows: Iterable[StagedJudgment]) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY import_judgment ({_COLUMNS}) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row.cells())


def judgments_store(
    *, study_pk: int, source: str, file: str, item_column: str, log: FaultLog
) -> tuple[int, int, int]:
    """Write the staged rows; returns (rows, new raters, new judgments). If there are faults, they go to the log and
    nothing is written."""
    values: dict[str, str | int] = {
        "study": study_pk,
        "source": source,
        "file": file[-200:],
        "kept": KEPT + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE import_judgment")
        cursor.execute("SELECT count(*) FROM import_judgment")
        rows = cursor.fetchone()[0]
        cursor.execute(_TWICE, values)
        for line, item, rater, first in cursor.fetchall():
            log.add(
                f"{rater} judged this item already, on line {first}", line=line, field=item_column, value=item
            )
        cursor.execute(_OTHERWISE, values)
        for line, item, rater in cursor.fetchall():
            log.add(
                f"{rater} has judged this item differently in an earlier import",
                line=line, field=item_column, value=item,
            )  # fmt: skip
        if log:
            return rows, 0, 0
        cursor.execute(_RATERS, values)
        raters = cursor.rowcount
        cursor.execute(_JUDGMENTS, values)
        return rows, raters, cursor.rowcount
