"""How a study was conducted: who took part, how long it took, what it cost. Everything that reports time, pay, people,
consents or exams of a study takes them from here. Only real participants count: rehearsal raters are synthetic, and
imported raters worked elsewhere. Each of those groups has its own figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Q, QuerySet, Sum

from annotator.core.kept_figures import StudyCount
from annotator.models import Consent, ExamAttempt, Judgment, LedgerEntry, Participation, Study
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.workload import study_workload

#: Judgments that participants made in the browser: they are timed, paid for and covered by consent.
BY_PARTICIPANTS = Q(source=Judgment.Source.WEB, rater__rehearsal=False)

# What participants earn by items, for each version, and the sums that they earn by exams and bonuses.
_EARNED = StudyCount(
    "what participants have earned",
    """
SELECT j.snapshot_id, count(*), 0 FROM annotator_judgment j JOIN annotator_rater r ON r.id = j.rater_id
WHERE j.study_id = %(study)s AND j.source = 'web' AND NOT r.rehearsal AND j.snapshot_id IS NOT NULL
GROUP BY j.snapshot_id
UNION ALL
SELECT NULL, 0, coalesce(sum(a.pay), 0) FROM annotator_examattempt a
JOIN annotator_participation p ON p.id = a.participation_id JOIN annotator_rater r ON r.id = p.rater_id
WHERE p.study_id = %(study)s AND NOT r.rehearsal
UNION ALL
SELECT NULL, 0, coalesce(sum(l.amount), 0) FROM annotator_ledgerentry l JOIN annotator_rater r ON r.id = l.rater_id
WHERE l.study_id = %(study)s AND NOT r.rehearsal AND l.kind <> 'payment' AND l.undone_at IS NULL
""",
)
# One pass over the study's judgments. Times are of judgments that count; fast judgments include late ones.
_WORK = StudyCount(
    "work by kind of rater",
    """
SELECT CASE WHEN r.kind = 'simulator' THEN 'simulators' WHEN r.rehearsal THEN 'rehearsal'
        WHEN j.source = 'web' THEN 'participants' ELSE 'imported' END AS who,
    count(DISTINCT j.rater_id), count(*), count(*) FILTER (WHERE j.standing = 'surplus'),
    count(j.seconds) FILTER (WHERE j.standing = 'counted'), avg(j.seconds) FILTER (WHERE j.standing = 'counted'),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY j.seconds) FILTER (WHERE j.standing = 'counted'),
    count(*) FILTER (WHERE j.seconds < %s)
FROM annotator_judgment j JOIN annotator_rater r ON r.id = j.rater_id WHERE j.study_id = %s GROUP BY who
""",
)


# Filled places; participants who stayed and did a task; those of them who did the most that one person can do.
_FINISHED = StudyCount(
    "participants who have finished",
    """
SELECT coalesce(sum(filled), 0), count(*) FILTER (WHERE stayed), count(*) FILTER (WHERE stayed AND n >= %(most)s) FROM (
    SELECT count(*) AS n, count(*) FILTER (WHERE j.standing = 'counted' AND i.withdrawn_at IS NULL) AS filled,
        EXISTS (SELECT 1 FROM annotator_participation p WHERE p.study_id = %(study)s AND p.rater_id = j.rater_id
            AND p.state NOT IN ('left', 'removed')) AS stayed
    FROM annotator_judgment j JOIN annotator_rater r ON r.id = j.rater_id JOIN annotator_item i ON i.id = j.item_id
    WHERE j.study_id = %(study)s AND j.source = 'web' AND NOT r.rehearsal GROUP BY j.rater_id) people
""",
)


@dataclass(frozen=True)
class GroupWork:
    """The work of one group of raters. Times are in seconds, None if nothing was timed. ``judgments`` counts all
    judgments, ``surplus`` those made after the item was full, ``timed`` those that the times are computed from (counted
    ones), and ``fast`` those under the study's shortest plausible time.
    """

    raters: int = 0
    judgments: int = 0
    surplus: int = 0
    timed: int = 0
    mean_seconds: float | None = None
    median_seconds: float | None = None
    fast: int = 0


@dataclass(frozen=True)
class Conduct:
    """The conduct of one study. ``joined`` to ``exams_passed`` count participants, never rehearsal raters.

    ``for_items``, ``for_exams`` and ``bonuses`` (with screen-outs, top-ups and the rest of a panel's reward) are what participants have
    earned, ``paid`` what was sent to them, in the study's currency. Every judgment earns the pay of its own version of the study. ``pay_per_hour`` is the pay for
    an item divided by the median time for an item, None if nothing was timed or items aren't paid.
    """

    participants: GroupWork
    rehearsal: GroupWork
    imported: GroupWork
    simulators: GroupWork
    joined: int
    finished: int
    left: int
    consents: int
    withdrawn: int
    consent_digests: tuple[str, ...]
    exams_taken: int
    exams_passed: int
    paid_items: int
    for_items: Decimal
    for_exams: Decimal
    bonuses: Decimal
    bonus_entries: int
    paid: Decimal
    pay_per_hour: float | None

    @property
    def earned(self) -> Decimal:
        """Everything that participants have earned: items, exams and bonuses."""
        return self.for_items + self.for_exams + self.bonuses

    @property
    def owed(self) -> Decimal:
        """Earned and not yet paid; negative if more was paid than earned."""
        return self.earned - self.paid


def study_conduct(*, study: Study) -> Conduct:
    """The conduct of a study, in a number of queries that doesn't depend on its size."""
    work = study_work(study)
    participants = work.get("participants", GroupWork())
    states = dict(_participations(study).values_list("state").annotate(n=Count("id")))
    consents = Consent.objects.filter(participation__study=study, participation__rater__rehearsal=False)
    taken, passed = _exams(study)
    paid_items, for_items = _earned_by_items(study)
    ledger = _ledger(study)
    pay, median = float(study.pay_per_item), participants.median_seconds
    return Conduct(
        participants=participants,
        rehearsal=work.get("rehearsal", GroupWork()),
        imported=work.get("imported", GroupWork()),
        simulators=work.get("simulators", GroupWork()),
        joined=sum(states.values()),
        finished=_finished(study),
        left=states.get(Participation.State.LEFT, 0) + states.get(Participation.State.REMOVED, 0),
        consents=consents.filter(withdrawn_at__isnull=True).values("participation").distinct().count(),
        withdrawn=consents.filter(withdrawn_at__isnull=False).values("participation").distinct().count(),
        consent_digests=tuple(sorted(set(consents.values_list("digest", flat=True)))),
        exams_taken=taken,
        exams_passed=passed,
        paid_items=paid_items,
        for_items=for_items,
        for_exams=_earned_by_exams(study),
        bonuses=sum((amount for kind, (amount, _) in ledger.items() if kind != "payment"), Decimal(0)),
        bonus_entries=sum(number for kind, (_, number) in ledger.items() if kind != "payment"),
        paid=ledger.get("payment", (Decimal(0), 0))[0],
        pay_per_hour=pay * 3600 / median if median and pay else None,
    )


def study_earned(study: Study) -> Decimal:
    """``Conduct.earned`` without the other figures; one query."""
    rows = _EARNED.rows({"study": study.pk})
    return sum(
        (
            amount if snapshot is None else n * Decimal(str(snapshot_content(snapshot)["pay_per_item"]))
            for snapshot, n, amount in rows
        ),
        Decimal(0),
    )


def study_work(study: Study) -> dict[str, GroupWork]:
    """The work of each group: ``participants``, ``rehearsal``, ``imported``, ``simulators``; one query."""
    return {who: GroupWork(*row) for who, *row in _WORK.rows([study.min_seconds, study.pk])}


def _participations(study: Study) -> QuerySet[Participation]:
    return Participation.objects.filter(study=study, rater__rehearsal=False).order_by()


def _finished(study: Study) -> int:
    """Participants who have done every task that they could: the most that one person can do or, once every place of
    the study is filled, any. From judgments, items and settings alone, which releases hold."""
    work = study_workload(study)
    [(filled, some, most)] = _FINISHED.rows({"study": study.pk, "most": max(work.tasks_each, 1)})
    return int(some if filled >= work.places else most)


def _exams(study: Study) -> tuple[int, int]:
    """How many participants handed in an exam, and how many of them passed in one of their attempts."""
    attempts = ExamAttempt.objects.filter(
        participation__study=study, participation__rater__rehearsal=False, submitted_at__isnull=False
    )
    results: dict[int, bool] = {}
    for person, score, mark in attempts.values_list("participation", "score", "pass_mark"):
        results[person] = results.get(person, False) or (score or 0) >= mark
    return len(results), sum(results.values())


def _earned_by_items(study: Study) -> tuple[int, Decimal]:
    """The number of paid judgments, including late ones, and what they earn."""
    rows = Judgment.objects.filter(BY_PARTICIPANTS, study=study, snapshot__isnull=False)
    number, amount = 0, Decimal(0)
    for snapshot, n in rows.order_by().values_list("snapshot_id").annotate(n=Count("id")):
        number += n
        amount += n * Decimal(str(snapshot_content(snapshot)["pay_per_item"]))
    return number, amount


def _earned_by_exams(study: Study) -> Decimal:
    attempts = ExamAttempt.objects.filter(participation__study=study, participation__rater__rehearsal=False)
    return attempts.aggregate(sum=Sum("pay"))["sum"] or Decimal(0)


def _ledger(study: Study) -> Mapping[str, tuple[Decimal, int]]:
    """Kind of entry -> (sum, number of entries), without rehearsal raters, who aren't paid."""
    rows = LedgerEntry.objects.filter(study=study, rater__rehearsal=False, undone_at__isnull=True).order_by()
    grouped = rows.values("kind").annotate(sum=Sum("amount"), n=Count("id"))
    return {row["kind"]: (row["sum"], row["n"]) for row in grouped}
