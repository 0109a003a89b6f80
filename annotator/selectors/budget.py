"""What a study has cost, with the work that is in hand, against its caps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.db import connection
from django.utils import timezone

from annotator.models import Assignment, Participation, Study

#: A task whose time ran out stays reserved for this long, for an answer that comes late.
LATE = timedelta(days=1)

# Judgments earn the pay of their version whether they are accepted yet or not, but for those that a decision leaves unpaid. Work in hand is reserved: open leases at the pay of their
# version; those that lapsed a short time ago, since an answer that comes late is paid too; and exams that were begun and not submitted, by people who
# haven't been paid for an earlier attempt, at what they were offered or the exam pays now, whichever is more.
_COMMITTED = """
WITH rates AS (
    SELECT s.id, (s.content->>'pay_per_item')::numeric AS item, coalesce(s.content->>'exam_pay', '0')::numeric AS exam
    FROM annotator_snapshot s WHERE s.study_id = %(study)s
), judged AS (
    SELECT coalesce(sum(j.n * r.item), 0) AS amount FROM (
        SELECT w.snapshot_id, count(*) AS n FROM annotator_judgment w WHERE w.study_id = %(study)s AND w.source = 'web'
            AND NOT EXISTS (SELECT 1 FROM annotator_unpaidwork u WHERE u.judgment_id = w.id)
        GROUP BY w.snapshot_id) j JOIN rates r ON r.id = j.snapshot_id
), exams AS (
    SELECT coalesce(sum(e.pay), 0) AS amount FROM annotator_examattempt e
    JOIN annotator_participation p ON p.id = e.participation_id JOIN annotator_rater r ON r.id = p.rater_id
    WHERE p.study_id = %(study)s AND NOT r.rehearsal
), entries AS (
    SELECT coalesce(sum(l.amount), 0) AS amount FROM annotator_ledgerentry l JOIN annotator_rater r ON r.id = l.rater_id
    WHERE l.study_id = %(study)s AND NOT r.rehearsal AND l.kind <> 'payment' AND l.undone_at IS NULL
), tasks AS (
    SELECT coalesce(sum(t.n * coalesce(r.item, %(item)s)), 0) AS amount, coalesce(sum(t.n), 0)::int AS number FROM (
        SELECT a.snapshot_id, count(*) AS n FROM annotator_participation p JOIN annotator_rater w ON w.id = p.rater_id
        JOIN annotator_assignment a ON a.participation_id = p.id
        WHERE p.study_id = %(study)s AND NOT w.rehearsal AND (a.state = 'leased'
            OR (a.state = 'expired' AND p.state IN ('active', 'finished') AND a.lease_until > %(since)s))
        GROUP BY a.snapshot_id) t LEFT JOIN rates r ON r.id = t.snapshot_id
), sitting AS (
    SELECT coalesce(sum(greatest(coalesce(e.offered, 0), (SELECT exam FROM rates WHERE id = %(snapshot)s))), 0) AS amount,
        count(*)::int AS number
    FROM annotator_examattempt e JOIN annotator_participation p ON p.id = e.participation_id
    JOIN annotator_rater r ON r.id = p.rater_id
    WHERE p.study_id = %(study)s AND NOT r.rehearsal AND p.state <> 'removed' AND e.submitted_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM annotator_examattempt o
            WHERE o.participation_id = e.participation_id AND o.submitted_at IS NOT NULL)
)
SELECT judged.amount, exams.amount, entries.amount, tasks.amount, tasks.number, sitting.amount, sitting.number
FROM judged, exams, entries, tasks, sitting
"""


@dataclass(frozen=True)
class Budget:
    """What a study costs so far, in its currency. ``items``, ``exams`` and ``entries`` (bonuses, screen-outs, top-ups, rewards) are
    earned, accepted or not; ``in_hand`` is reserved for ``tasks`` that are open or may still come late, ``exam_in_hand`` for ``sitting``
    exams. ``notice`` and ``cap`` are the study's settings, None if there are none; ``next_pay`` is what the next task
    pays."""

    items: Decimal
    exams: Decimal
    entries: Decimal
    in_hand: Decimal
    tasks: int
    exam_in_hand: Decimal
    sitting: int
    notice: Decimal | None = None
    cap: Decimal | None = None
    next_pay: Decimal = Decimal(0)

    @property
    def earned(self) -> Decimal:
        """Earned so far, accepted or not."""
        return self.items + self.exams + self.entries

    @property
    def reserved(self) -> Decimal:
        """For work in hand."""
        return self.in_hand + self.exam_in_hand

    @property
    def committed(self) -> Decimal:
        """Earned or reserved."""
        return self.earned + self.reserved

    @property
    def noticed(self) -> bool:
        """Whether the amount for the notice is reached."""
        return self.notice is not None and self.committed >= self.notice

    @property
    def left(self) -> Decimal | None:
        """What can still be given out under the cap, never negative; None without a cap."""
        return None if self.cap is None else max(self.cap - self.committed, Decimal(0))

    @property
    def full(self) -> bool:
        """Whether the cap leaves no room for another task."""
        return not self.admits(self.next_pay)

    def admits(self, amount: Decimal) -> bool:
        """Whether work with this pay can be given out under the cap. Unpaid work always can.

        >>> zero = Decimal(0)
        >>> budget = Budget(Decimal("9"), zero, zero, Decimal("0.50"), 2, zero, 0, cap=Decimal("10"))
        >>> budget.admits(Decimal("0.50")), budget.admits(Decimal("0.51")), budget.left
        (True, False, Decimal('0.50'))
        """
        return self.cap is None or amount <= 0 or self.committed + amount <= self.cap


def budget_of(study: Study) -> Budget:
    """What a study costs so far; one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            _COMMITTED,
            {
                "study": study.pk,
                "item": study.pay_per_item,
                "snapshot": study.snapshot_id,
                "since": timezone.now() - LATE,
            },
        )
        row = cursor.fetchone()
    items, exams, entries, in_hand, tasks, exam_in_hand, sitting = row
    return Budget(
        items, exams, entries, in_hand, tasks, exam_in_hand, sitting, notice=study.budget_notice, cap=study.budget_cap,
        next_pay=Decimal(study.pay_per_item),
    )  # fmt: skip


def is_reserved(assignment: Assignment) -> bool:
    """Whether ``budget_of`` counts the pay of a task that has no judgment yet."""
    if assignment.state == Assignment.State.LEASED:
        return True
    stays = assignment.participation.state in (Participation.State.ACTIVE, Participation.State.FINISHED)
    late = assignment.state == Assignment.State.EXPIRED and assignment.lease_until > timezone.now() - LATE
    return stays and late


def cap_reached(study: Study) -> bool:
    """Whether the study's cap leaves no room for another task; False without a query if it has none."""
    return study.budget_cap is not None and budget_of(study).full
