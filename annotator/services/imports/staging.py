# ruff: noqa: S608 - every statement below is built only from constants of this file
"""Write parsed rows to the database: COPY into a temporary table, then one statement for each table. Everything is
set-based, so that time is linear in the rows and this process's memory constant. The caller holds the transaction and
the lock on the study.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from annotator.core.canonical import text_digest
from annotator.core.tables.faults import KEPT, FaultLog
from annotator.hit_types.base import ItemDraft

_COLUMNS = (
    "line", "key", "payload", "gold", "condition", "instance_key", "instance_input", "gold_label",
    "gold_rationale", "system", "model", "method", "explanation", "output", "explanation_digest", "follow_up",
    "generator", "kind", "follow_up_gold", "follow_up_digest", "real_output", "parts", "units", "role", "attributes",
)  # fmt: skip
_TYPES = {
    "line": "integer",
    "payload": "jsonb",
    "gold": "jsonb",
    "parts": "jsonb",
    "units": "jsonb",
    "attributes": "jsonb",
}

#: The columns for a staged row's material. Rows without an explanation or a follow-up have NULL there.
_ROWS = """
    import_row r
    JOIN annotator_instance i ON i.dataset_id = %(dataset)s AND i.key = r.instance_key
    LEFT JOIN annotator_system y ON y.name = r.system AND r.explanation_digest <> ''
        AND y.workspace_id IS NOT DISTINCT FROM %(workspace)s
    LEFT JOIN annotator_explanation e
        ON e.instance_id = i.id AND e.system_id = y.id AND e.digest = r.explanation_digest
"""
_FOLLOW_UPS = """
    LEFT JOIN annotator_followup f ON f.instance_id = i.id AND f.digest = r.follow_up_digest
        AND f.explanation_id IS NOT DISTINCT FROM e.id
"""
_PARTS = """
    import_row r
    JOIN annotator_instance i ON i.dataset_id = %(dataset)s AND i.key = r.instance_key
    CROSS JOIN LATERAL jsonb_to_recordset(r.parts) AS p(unit text, system text, text text, digest text)
"""

_INSERTS = (
    (
        "instances",
        """INSERT INTO annotator_instance (dataset_id, key, input, gold_label, gold_rationale)
        SELECT DISTINCT ON (instance_key) %(dataset)s, instance_key, instance_input, gold_label, gold_rationale
        FROM import_row ORDER BY instance_key, line ON CONFLICT DO NOTHING""",
    ),
    (
        "systems",
        """INSERT INTO annotator_system (workspace_id, name, model, method)
        SELECT DISTINCT ON (name) %(workspace)s::bigint, name, model, method FROM (
            SELECT system AS name, model, method, line FROM import_row WHERE explanation_digest <> ''
            UNION ALL
            SELECT p.system, '', '', line FROM import_row r
            CROSS JOIN LATERAL jsonb_to_recordset(r.parts) AS p(system text)
        ) named ORDER BY name, model = '', line
        ON CONFLICT (workspace_id, name) DO UPDATE SET model = EXCLUDED.model, method = EXCLUDED.method
        WHERE annotator_system.model = '' AND annotator_system.method = ''
            AND (EXCLUDED.model <> '' OR EXCLUDED.method <> '')""",
    ),
    (
        "explanations",
        """INSERT INTO annotator_explanation (instance_id, system_id, text, output, digest)
        SELECT DISTINCT ON (i.id, y.id, r.explanation_digest)
            i.id, y.id, r.explanation, r.output, r.explanation_digest
        FROM import_row r
        JOIN annotator_instance i ON i.dataset_id = %(dataset)s AND i.key = r.instance_key
        JOIN annotator_system y ON y.name = r.system AND y.workspace_id IS NOT DISTINCT FROM %(workspace)s
        WHERE r.explanation_digest <> '' ORDER BY i.id, y.id, r.explanation_digest ON CONFLICT DO NOTHING""",
    ),
    (
        "explanations",
        f"""INSERT INTO annotator_explanation (instance_id, system_id, text, output, digest)
        SELECT DISTINCT ON (i.id, y.id, p.digest) i.id, y.id, p.text, '', p.digest
        FROM {_PARTS} JOIN annotator_system y ON y.name = p.system AND y.workspace_id IS NOT DISTINCT FROM %(workspace)s
        ORDER BY i.id, y.id, p.digest ON CONFLICT DO NOTHING""",
    ),
    (
        "units",
        """INSERT INTO annotator_atomicunit (explanation_id, number, role, text)
        SELECT e.id, u.number, u.unit->>0, u.unit->>1
        FROM (SELECT DISTINCT ON (instance_key, system, explanation_digest) * FROM import_row
            WHERE units IS NOT NULL ORDER BY instance_key, system, explanation_digest, line) r
        JOIN annotator_instance i ON i.dataset_id = %(dataset)s AND i.key = r.instance_key
        JOIN annotator_system y ON y.name = r.system AND y.workspace_id IS NOT DISTINCT FROM %(workspace)s
        JOIN annotator_explanation e
            ON e.instance_id = i.id AND e.system_id = y.id AND e.digest = r.explanation_digest
        CROSS JOIN LATERAL jsonb_array_elements(r.units) WITH ORDINALITY AS u(unit, number)
        ON CONFLICT DO NOTHING""",
    ),
    (
        "follow_ups",
        f"""INSERT INTO annotator_followup
            (instance_id, explanation_id, text, generator, kind, gold_label, digest)
        SELECT DISTINCT ON (i.id, e.id, r.follow_up_digest)
            i.id, e.id, r.follow_up, r.generator, r.kind, r.follow_up_gold, r.follow_up_digest
        FROM {_ROWS} WHERE r.follow_up <> ''
        ORDER BY i.id, e.id, r.follow_up_digest, r.line ON CONFLICT DO NOTHING""",
    ),
    (
        "outputs",
        f"""INSERT INTO annotator_output (follow_up_id, system_id, text)
        SELECT DISTINCT ON (f.id, y.id) f.id, y.id, r.real_output FROM {_ROWS} {_FOLLOW_UPS}
        WHERE r.real_output <> '' AND f.id IS NOT NULL AND y.id IS NOT NULL
        ORDER BY f.id, y.id, r.line ON CONFLICT DO NOTHING""",
    ),
    (
        "items",
        f"""INSERT INTO annotator_item (study_id, key, payload, gold, role, condition,
            instance_id, explanation_id, follow_up_id, parts, attributes, created_at)
        SELECT %(study)s, r.key, r.payload, r.gold, r.role, r.condition,
            i.id, e.id, f.id, COALESCE(parts.ids, '{{}}'), r.attributes, statement_timestamp()
        FROM {_ROWS} {_FOLLOW_UPS}
        LEFT JOIN (
            SELECT r.line, jsonb_object_agg(p.unit, x.id) AS ids FROM {_PARTS}
            JOIN annotator_system z ON z.name = p.system AND z.workspace_id IS NOT DISTINCT FROM %(workspace)s
            JOIN annotator_explanation x
                ON x.instance_id = i.id AND x.system_id = z.id AND x.digest = p.digest
            GROUP BY r.line
        ) parts ON parts.line = r.line
        ORDER BY r.line ON CONFLICT DO NOTHING""",
    ),
)

MANY = 1_000
_TABLES = {
    "instances": "annotator_instance (dataset_id, key)",
    "explanations": "annotator_explanation (instance_id, system_id, digest)",
    "follow_ups": "annotator_followup (instance_id, explanation_id, digest)",
    "outputs": "annotator_output (follow_up_id, system_id)",
}

#: Each returns (line, value) of faulty rows. The first two run before anything is written, the others after.
_BEFORE = (
    (
        "key",
        "this item is in the file already, on line {other}",
        """SELECT line, key, other FROM (
            SELECT line, key, min(line) OVER (PARTITION BY key) AS other FROM import_row) s
        WHERE line > other""",
    ),
    (
        "key",
        "this item is in the study already, with other content; give it another key or remove the old one",
        """SELECT r.line, r.key, NULL FROM import_row r
        JOIN annotator_item t ON t.study_id = %(study)s AND t.key = r.key
        WHERE t.payload <> r.payload OR t.gold IS DISTINCT FROM r.gold OR t.condition <> r.condition
            OR t.role <> r.role""",
    ),
)
_AFTER = (
    (
        "",
        "this instance has another input, label or gold rationale in an earlier row or import",
        """SELECT r.line, r.instance_key, NULL FROM import_row r
        JOIN annotator_instance i ON i.dataset_id = %(dataset)s AND i.key = r.instance_key
        WHERE (i.input, i.gold_label, i.gold_rationale) <> (r.instance_input, r.gold_label, r.gold_rationale)""",
    ),
    (
        "system",
        "this name has another model or method in an earlier row or in another study of this workspace; use another name",
        """SELECT r.line, r.system, NULL FROM import_row r JOIN annotator_system y ON y.name = r.system
            AND y.workspace_id IS NOT DISTINCT FROM %(workspace)s
        WHERE (r.model <> '' AND y.model <> r.model) OR (r.method <> '' AND y.method <> r.method)""",
    ),
    (
        "units",
        "this explanation has other units in an earlier row or import",
        f"""SELECT r.line, r.explanation, NULL FROM {_ROWS} CROSS JOIN LATERAL (
            SELECT jsonb_agg(jsonb_build_array(u.role, u.text) ORDER BY u.number) AS units
            FROM annotator_atomicunit u WHERE u.explanation_id = e.id) known
        WHERE r.units IS NOT NULL AND known.units IS DISTINCT FROM r.units""",
    ),
    (
        "follow_up",
        "this follow-up has another right answer in an earlier row or import",
        f"""SELECT r.line, r.follow_up, NULL FROM {_ROWS} {_FOLLOW_UPS}
        WHERE r.follow_up <> '' AND f.gold_label <> r.follow_up_gold""",
    ),
    (
        "real_output",
        "the system has another real output on this follow-up in an earlier row or import",
        f"""SELECT r.line, r.real_output, NULL FROM {_ROWS} {_FOLLOW_UPS}
        JOIN annotator_output o ON o.follow_up_id = f.id AND o.system_id = y.id
        WHERE r.real_output <> '' AND o.text <> r.real_output""",
    ),
)


@dataclass
class Staged:
    """The rows that one import wrote, by table, and how many of its items existed already."""

    rows: int = 0
    written: dict[str, int] = field(default_factory=dict)
    unchanged: int = 0


@contextmanager
def staging() -> Iterator[Any]:
    """Create a temporary table and the COPY that fills it; pass the result to ``stage_row``."""
    types = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in _COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS import_row")
        cursor.execute(f"CREATE TEMPORARY TABLE import_row ({types}) ON COMMIT DROP")
        with cursor.copy(f"COPY import_row ({', '.join(_COLUMNS)}) FROM STDIN") as copy:
            yield copy


def stage_row(copy: Any, line: int, draft: ItemDraft, *, unnamed: str) -> None:
    """Write one item to the staging table; ``unnamed`` is the system's name if the row has none."""
    m = draft.material
    explained = bool(m.explanation or m.output or m.real_output or m.units)
    parts = [
        {"unit": unit, "system": system or unnamed, "text": text, "digest": text_digest(text, "")}
        for unit, system, text in m.parts
    ]
    copy.write_row((
        line, draft.key, json.dumps(draft.payload), None if draft.gold is None else json.dumps(draft.gold),
        draft.condition, m.instance_key, m.instance_input, m.gold_label, m.gold_rationale,
        m.system or unnamed, m.model, m.method, m.explanation, m.output,
        text_digest(m.explanation, m.output) if explained else "",
        m.follow_up, m.generator, m.kind, m.follow_up_gold,
        text_digest(m.follow_up, m.generator, m.kind) if m.follow_up else "",
        m.real_output, json.dumps(parts) if parts else None, json.dumps(m.units) if m.units else None, draft.role,
        json.dumps(draft.attributes),
    ))  # fmt: skip


def staged_store(
    *, study_pk: int, dataset_pk: int, workspace_pk: int | None, log: FaultLog, columns: Iterable[str]
) -> Staged:
    """Check the staged rows against each other and the database, and write them; faults go to the log.

    Systems belong to the workspace: the same name in another workspace is a different system.
    """
    known = set(columns)
    values = {"study": study_pk, "dataset": dataset_pk, "workspace": workspace_pk}
    result = Staged()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE import_row (key, instance_key, system, explanation_digest, follow_up_digest)")
        cursor.execute("SELECT count(*) FROM import_row")
        result.rows = cursor.fetchone()[0]
        _look(cursor, _BEFORE, values, log, known)
        if log:
            return result
        for noun, statement in _INSERTS:
            cursor.execute(statement, values)
            result.written[noun] = result.written.get(noun, 0) + max(cursor.rowcount, 0)
            if noun in _TABLES and cursor.rowcount >= MANY:
                cursor.execute(
                    f"ANALYZE {_TABLES[noun]}"
                )  # without statistics, the planner would treat the table as empty in the next join
        _look(cursor, _AFTER, values, log, known)
    result.unchanged = result.rows - result.written["items"]
    return result


def _look(
    cursor: Any,
    checks: Iterable[tuple[str, str, str]],
    values: dict[str, int | None],
    log: FaultLog,
    known: set[str],
) -> None:
    for column, expected, query in checks:
        cursor.execute(f"SELECT * FROM ({query}) faults ORDER BY 1 LIMIT {KEPT + 1}", values)
        for line, value, other in cursor.fetchall():
            log.add(
                expected.format(other=other), line=line, field=column if column in known else "", value=value
            )
