"""What participants are owed: the ledger of a study, per participant and in total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

from annotator.core.kept_figures import StudyCount
from annotator.models import Study

CENT = Decimal("0.01")

# Judgments are grouped by version first: each is paid at the rate of its own version.
_OWED = StudyCount(
    "what participants are owed",
    """
WITH work AS (
    SELECT j.rater_id, j.snapshot_id, count(*) AS done, count(v.id) AS accepted,
        count(u.id) FILTER (WHERE v.id IS NULL) AS unpaid
    FROM annotator_judgment j LEFT JOIN annotator_review v ON v.judgment_id = j.id
    LEFT JOIN annotator_unpaidwork u ON u.judgment_id = j.id
    WHERE j.study_id = %(study)s AND j.source = 'web' GROUP BY j.rater_id, j.snapshot_id
), items AS (
    SELECT w.rater_id, sum(w.done) AS done, sum(w.accepted) AS accepted, sum(w.unpaid) AS unpaid,
        sum(w.accepted * (s.content->>'pay_per_item')::numeric) AS earned,
        sum((w.done - w.accepted - w.unpaid) * (s.content->>'pay_per_item')::numeric) AS waiting
    FROM work w JOIN annotator_snapshot s ON s.id = w.snapshot_id GROUP BY w.rater_id
), exams AS (
    SELECT p.rater_id, sum(e.pay) AS pay FROM annotator_examattempt e
    JOIN annotator_participation p ON p.id = e.participation_id WHERE p.study_id = %(study)s GROUP BY p.rater_id
), ledger AS (
    SELECT l.rater_id, sum(l.amount) FILTER (WHERE l.kind <> 'payment') AS bonus,
        sum(l.amount) FILTER (WHERE l.kind = 'payment') AS paid
    FROM annotator_ledgerentry l WHERE l.study_id = %(study)s AND l.undone_at IS NULL GROUP BY l.rater_id
)
SELECT r.id, r.name, p.recruiter, p.recruiter_id, p.state, coalesce(i.done, 0), coalesce(i.accepted, 0),
    coalesce(i.earned, 0), coalesce(i.waiting, 0), coalesce(e.pay, 0), coalesce(l.bonus, 0), coalesce(l.paid, 0),
    coalesce(i.unpaid, 0)::int
FROM annotator_participation p JOIN annotator_rater r ON r.id = p.rater_id
LEFT JOIN items i ON i.rater_id = r.id LEFT JOIN exams e ON e.rater_id = r.id LEFT JOIN ledger l ON l.rater_id = r.id
WHERE p.study_id = %(study)s AND NOT r.rehearsal AND (%(raters)s::bigint[] IS NULL OR r.id = ANY(%(raters)s))
ORDER BY r.name, r.id
""",
)


@dataclass(frozen=True)
class Balance:
    """What one participant has earned and been paid in one study, in its currency. ``items`` is the pay for accepted
    judgments, ``waiting`` for those not yet accepted, ``bonus`` everything else that the ledger credits them with: bonuses, screen-outs,
    top-ups and the rest of a panel's reward. ``done`` and ``accepted`` count judgments, including late ones,
    which are paid like any other; ``unpaid`` counts those that a decision leaves unpaid.
    """

    rater: int
    name: str
    recruiter: str
    recruiter_id: str
    state: str
    done: int
    accepted: int
    items: Decimal
    waiting: Decimal
    exam: Decimal
    bonus: Decimal
    paid: Decimal
    unpaid: int = 0

    @property
    def earned(self) -> Decimal:
        """Accepted judgments, exam and bonuses."""
        return self.items + self.exam + self.bonus

    @property
    def owed(self) -> Decimal:
        """Earned and not paid; negative if more was paid than earned."""
        return self.earned - self.paid

    @property
    def payable(self) -> Decimal:
        """What can be paid now: ``owed`` in whole cents, never negative. A fraction of a cent remains owed."""
        return max(self.owed.quantize(CENT, ROUND_HALF_UP), Decimal(0))

    @property
    def unreviewed(self) -> int:
        return self.done - self.accepted - self.unpaid


@dataclass(frozen=True)
class Acceptance:
    """Judgments that one researcher accepted within one minute, and what they earn."""

    at: datetime
    by: str
    judgments: int
    people: int
    amount: Decimal


_ACCEPTED = StudyCount(
    "acceptances of work",
    """
SELECT date_trunc('minute', v.at) AS minute, coalesce(u.username, ''), count(*), count(DISTINCT j.rater_id),
    sum((s.content->>'pay_per_item')::numeric)
FROM annotator_review v JOIN annotator_judgment j ON j.id = v.judgment_id
JOIN annotator_snapshot s ON s.id = j.snapshot_id LEFT JOIN annotator_user u ON u.id = v.by_id
WHERE j.study_id = %s AND j.source = 'web' GROUP BY 1, 2 ORDER BY 1 DESC LIMIT 50
""",
)


def acceptances_of(study: Study) -> list[Acceptance]:
    """The latest 50 acceptances of a study's work, newest first; one query."""
    return [Acceptance(*row) for row in _ACCEPTED.rows([study.pk])]


def excluded_raters(study: Study) -> frozenset[int]:
    """The ids of the raters who are excluded from the study's statistics now."""
    rows = study.exclusions.filter(lifted_at__isnull=True, rater__isnull=False).values_list(
        "rater", flat=True
    )
    return frozenset(pk for pk in rows if pk is not None)


@dataclass(frozen=True)
class Totals:
    """Sums over participants; ``payable`` is the sum of what each can be paid."""

    done: int
    accepted: int
    items: Decimal
    waiting: Decimal
    exam: Decimal
    bonus: Decimal
    paid: Decimal
    owed: Decimal
    payable: Decimal


def balances_of(study: Study, *, raters: Sequence[int] | None = None) -> list[Balance]:
    """The balance of every participant (or of ``raters``), in one query. Rehearsal raters are never owed anything."""
    asked = {"study": study.pk, "raters": list(raters) if raters is not None else None}
    return [Balance(*row) for row in _OWED.rows(asked)]


def totals_of(balances: Sequence[Balance]) -> Totals:
    """The sums of balances.

    >>> one = Balance(1, "a", "", "", "active", 3, 2, Decimal("1.00"), Decimal("0.50"), Decimal(0), Decimal(2), Decimal(1))
    >>> totals_of([one, one]).payable
    Decimal('4.00')
    """

    def total(name: str) -> Decimal:
        return sum((getattr(balance, name) for balance in balances), Decimal(0))

    return Totals(
        done=sum(balance.done for balance in balances),
        accepted=sum(balance.accepted for balance in balances),
        items=total("items"),
        waiting=total("waiting"),
        exam=total("exam"),
        bonus=total("bonus"),
        paid=total("paid"),
        owed=total("owed"),
        payable=total("payable"),
    )
