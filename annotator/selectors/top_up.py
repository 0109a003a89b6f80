"""Whether a study's participants earn its minimum pay per hour, and what would make it good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from statistics import median

from annotator.core.kept_figures import StudyCount
from annotator.models import Study
from annotator.selectors.owed import CENT

# For each participant who has done timed work: what they earn by tasks and the exam, accepted or not, with the top-ups that they got,
# and the seconds that they took, exam included. Somebody whose judgments have no time isn't among them.
_HOURS = StudyCount(
    "pay and hours of participants",
    """
WITH work AS (
    SELECT j.rater_id, j.snapshot_id, count(*) AS n, sum(j.seconds) AS seconds, count(v.id) AS accepted
    FROM annotator_judgment j LEFT JOIN annotator_review v ON v.judgment_id = j.id
    WHERE j.study_id = %(study)s AND j.source = 'web' AND j.seconds IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM annotator_unpaidwork u WHERE u.judgment_id = j.id AND v.id IS NULL) GROUP BY j.rater_id, j.snapshot_id
), items AS (
    SELECT w.rater_id, sum(w.n * (s.content->>'pay_per_item')::numeric) AS earned, sum(w.seconds) AS seconds,
        sum(w.accepted) AS accepted, sum(w.n) AS n
    FROM work w JOIN annotator_snapshot s ON s.id = w.snapshot_id GROUP BY w.rater_id
), exams AS (
    SELECT p.rater_id, sum(e.pay) AS pay, sum(extract(epoch FROM e.submitted_at - e.started_at)) AS seconds
    FROM annotator_examattempt e JOIN annotator_participation p ON p.id = e.participation_id
    WHERE p.study_id = %(study)s AND e.submitted_at IS NOT NULL GROUP BY p.rater_id
), entries AS (
    SELECT l.rater_id, sum(l.amount) AS amount FROM annotator_ledgerentry l
    WHERE l.study_id = %(study)s AND l.kind = 'top_up' AND l.undone_at IS NULL GROUP BY l.rater_id
)
SELECT r.id, r.name, i.earned + coalesce(e.pay, 0), coalesce(t.amount, 0),
    (i.seconds + CASE WHEN e.pay > 0 THEN e.seconds ELSE 0 END)::float, i.accepted::int,
    (i.n - i.accepted)::int
FROM items i JOIN annotator_rater r ON r.id = i.rater_id
JOIN annotator_participation p ON p.rater_id = r.id AND p.study_id = %(study)s
LEFT JOIN exams e ON e.rater_id = r.id LEFT JOIN entries t ON t.rater_id = r.id
WHERE NOT r.rehearsal AND i.seconds > 0 ORDER BY r.name, r.id
""",
)


@dataclass(frozen=True)
class Hours:
    """One participant's pay for their time, in the study's currency: ``earned`` by tasks and the exam, ``topped_up`` so far, ``seconds``
    of work, and how many of their judgments are accepted, and how many wait for that."""

    rater: int
    name: str
    earned: Decimal
    topped_up: Decimal
    seconds: float
    accepted: int
    waiting: int = 0

    @property
    def per_hour(self) -> Decimal:
        """The pay for an hour, top-ups included."""
        return (self.earned + self.topped_up) * 3600 / Decimal(str(self.seconds))


@dataclass(frozen=True)
class TopUp:
    """What everybody gets so that the median hour reaches the floor. ``per_hour`` is the median over ``people`` participants now, top-ups
    included; None if nobody's work was timed, and then ``why`` says so. ``amounts`` maps raters to what is missing."""

    currency: str
    floor: Decimal
    people: int
    per_hour: Decimal | None
    amounts: tuple[tuple[int, str, Decimal], ...] = ()
    why: str = ""

    @property
    def total(self) -> Decimal:
        """What the top-up costs, without a panel's fees."""
        return sum((amount for _, _, amount in self.amounts), Decimal("0.00"))


def top_up_of(study: Study) -> TopUp:
    """The top-up that a study's participants are due, in one query; see ``top_up_amounts``."""
    floor = study.pay_floor_per_hour
    if not floor:
        return TopUp(study.currency, floor, 0, None, why="The study has no minimum pay per hour.")
    hours = [Hours(*row) for row in _HOURS.rows({"study": study.pk})]
    if not hours:
        return TopUp(study.currency, floor, 0, None, why="Nobody's work was timed yet.")
    per_hour = median(one.per_hour for one in hours)
    return TopUp(study.currency, floor, len(hours), per_hour.quantize(CENT), top_up_amounts(hours, floor))


def top_up_amounts(hours: Sequence[Hours], floor: Decimal) -> tuple[tuple[int, str, Decimal], ...]:
    """What each participant is due so that the median hour reaches ``floor`` (in the study's currency); empty if it does.

    With the median m of pay per hour without top-ups, everybody's pay is raised in the same proportion, floor / m: each is due
    earned * (floor / m - 1), less the top-ups that they got, rounded up to cents. So somebody who left the page open for an hour doesn't
    get an hour's pay, and quick people, who did the same work, get the same. Where the median is 0 (unpaid work), everybody is due the
    floor for the median time. People are due the share of it that is the share of their judgments that are accepted.

    >>> hours = [Hours(n, "", Decimal("1.00"), Decimal(0), seconds, 4) for n, seconds in enumerate((300.0, 600.0, 1200.0))]
    >>> [str(amount) for _, _, amount in top_up_amounts(hours, Decimal("9"))]
    ['0.50', '0.50', '0.50']
    >>> top_up_amounts(hours, Decimal("6"))
    ()
    """
    if not hours or median(one.per_hour for one in hours) >= floor:
        return ()
    bare = median(one.earned * 3600 / Decimal(str(one.seconds)) for one in hours)
    typical = Decimal(str(median(one.seconds for one in hours)))
    found = []
    for one in hours:
        whole = one.earned * (floor / bare - 1) if bare else floor * typical / 3600
        wanted = whole * one.accepted / (one.accepted + one.waiting) if one.accepted else Decimal(0)
        exact = (wanted - one.topped_up).quantize(Decimal("0.00000001"))  # without the noise of the division
        missing = exact.quantize(CENT, ROUND_UP)
        if missing > 0:
            found.append((one.rater, one.name, missing))
    return tuple(found)
