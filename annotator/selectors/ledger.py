"""The ledger line by line: what a person has earned in a study, for what, whether it's certain, and who approved it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from django.db import connection

LineKind = Literal[
    "items", "checking", "unpaid", "exam", "bonus", "screen_out", "top_up", "reward", "payment", "on_its_way"
]
# Accepted tasks by the day on which, and the person by whom, they were accepted; the day is that of the database's time zone, UTC.
# Tasks that are still being checked are one line for each pay.
_LINES = """
WITH work AS (
    SELECT j.study_id, s.content->>'pay_per_item' AS pay, v.id IS NOT NULL AS accepted, date_trunc('day', v.at) AS day, v.by_id,
        d.id AS decision, count(*) AS n, max(coalesce(v.at, d.done_at, j.created_at)) AS at
    FROM annotator_judgment j JOIN annotator_snapshot s ON s.id = j.snapshot_id
    LEFT JOIN annotator_review v ON v.judgment_id = j.id
    LEFT JOIN annotator_unpaidwork x ON x.judgment_id = j.id AND v.id IS NULL
    LEFT JOIN annotator_reviewdecision d ON d.id = x.decision_id
    WHERE j.rater_id = %(rater)s AND j.source = 'web' GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT w.study_id, CASE WHEN w.accepted THEN 'items' WHEN w.decision IS NULL THEN 'checking' ELSE 'unpaid' END, w.at, w.n,
    w.pay::numeric, w.n * w.pay::numeric, coalesce(d.term || ': ' || d.text, ''), coalesce(u.username, '')
FROM work w LEFT JOIN annotator_reviewdecision d ON d.id = w.decision
LEFT JOIN annotator_user u ON u.id = coalesce(w.by_id, d.by_id)
UNION ALL
SELECT p.study_id, 'exam', e.submitted_at, 1, e.pay, e.pay, '', '' FROM annotator_examattempt e
JOIN annotator_participation p ON p.id = e.participation_id WHERE p.rater_id = %(rater)s AND e.pay > 0
UNION ALL
SELECT l.study_id, CASE WHEN l.kind = 'payment' AND t.state IN ('waiting', 'set_up', 'sending') THEN 'on_its_way' ELSE l.kind END,
    l.created_at, 1, l.amount, l.amount, CASE WHEN l.kind = 'payment' THEN '' ELSE l.reason END, coalesce(u.username, '')
FROM annotator_ledgerentry l LEFT JOIN annotator_user u ON u.id = l.created_by_id
LEFT JOIN annotator_payline y ON y.entry_id = l.id LEFT JOIN annotator_paypart t ON t.id = y.part_id
WHERE l.rater_id = %(rater)s AND l.undone_at IS NULL
ORDER BY 1, 3, 2
"""


@dataclass(frozen=True)
class LedgerLine:
    """One line: ``number`` tasks (1 for anything else) at ``each``, ``amount`` in all, in the study's currency, never negative: payments
    are told by their ``kind``. ``reason`` is what the researchers wrote, ``by`` who approved it; empty where a rule did."""

    kind: LineKind
    at: datetime
    number: int
    each: Decimal
    amount: Decimal
    reason: str
    by: str

    @property
    def sign(self) -> int:
        """1 for what is earned, -1 for what was paid, 0 for what isn't certain yet or isn't paid."""
        return {"payment": -1, "on_its_way": -1, "checking": 0, "unpaid": 0}.get(self.kind, 1)


def ledger_lines(*, rater_id: int) -> dict[int, list[LedgerLine]]:
    """A person's lines by study, oldest first, in one query. Their signed sum in a study is the person's balance there."""
    found: dict[int, list[LedgerLine]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_LINES, {"rater": rater_id})
        for study, *row in cursor.fetchall():
            found.setdefault(study, []).append(LedgerLine(*row))
    return found
