"""A person's current step in a study, and what they have done and earned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from django.db.models import Count, Q, Sum
from django.utils.formats import number_format
from django.utils.translation import gettext

from annotator.core.prepared import prepared_cursor
from annotator.models import GIVEN_BACK, ExamAttempt, Judgment, LedgerEntry, Participation, Study
from annotator.selectors.consent import consented
from annotator.selectors.places import near_end_sql
from annotator.selectors.qualification import qualification_revoked, qualified, requirements_missing
from annotator.selectors.questionnaire import BEFORE, questionnaire_due
from annotator.selectors.snapshot import snapshot_content

Step = Literal[
    "consent",
    "instructions",
    "practice",
    "exam",
    "questionnaire",
    "tasks",
    "left",
    "removed",
    "needs",
    "not_qualified",
]


def participation_get_for(*, user_id: int, slug: str) -> Participation | None:
    """A person's own participation in a study, or None."""
    return (
        Participation.objects.select_related("study", "rater")
        .filter(study__slug=slug, rater__user_id=user_id)
        .first()
    )


def participation_step(participation: Participation) -> Step:
    """The current step: the first one not done, in a fixed order. Steps can't be skipped."""
    if participation.state == Participation.State.LEFT:
        return "left"
    if participation.state == Participation.State.REMOVED:
        return "removed"
    rules = snapshot_content(participation.study.snapshot_id)
    workspace = participation.study.workspace_id
    if requirements_missing(rules=rules, rater_id=participation.rater_id, workspace_id=workspace):
        return "needs"
    if not consented(participation):
        return "consent"
    if participation.instructions_at is None:
        return "instructions"
    if (step := _training_step(participation, rules)) != "tasks":
        return step
    return "questionnaire" if questionnaire_due(participation, BEFORE) else "tasks"


def _training_step(participation: Participation, rules: Mapping[str, Any]) -> Step:
    to_practise = rules["practice_required"] and participation.practice_done < len(rules["practice"])
    if not rules["exam_required"]:
        return "practice" if to_practise else "tasks"
    if not qualified(participation):
        if qualification_revoked(participation):
            return "not_qualified"
        return "practice" if to_practise else "exam"
    return "tasks"


def exam_pay_words(rules: Mapping[str, Any]) -> str:
    """What a study pays for its exam, in words for annotators."""
    pay = Decimal(rules.get("exam_pay", "0"))
    if not pay:
        return gettext("The exam is not paid.")
    return gettext("The exam pays {amount} {currency} once, whatever your result.").format(
        amount=number_format(pay, 2), currency=rules["currency"]
    )


@dataclass(frozen=True)
class PersonProgress:
    """How much a person has done in a study. ``total`` is the most that they could do; ``unread`` counts the researchers' replies,
    in any study, that the person has not read.
    """

    done: int
    total: int
    pay: Decimal
    currency: str
    unread: int = 0

    @property
    def pay_so_far(self) -> str:
        return f"{number_format(self.pay, 2)} {self.currency}" if self.pay else ""


_DONE = """
SELECT state, snapshot_id, count(*), 0 FROM annotator_assignment
WHERE participation_id = %(participation)s AND state IN ('submitted', 'leased') GROUP BY state, snapshot_id
UNION ALL SELECT 'given back', NULL, count(*), 0 FROM annotator_assignment a
WHERE participation_id = %(participation)s AND state = 'expired' AND reason = %(given_back)s
    AND EXISTS (SELECT 1 FROM annotator_place p WHERE p.item_id = a.item_id AND p.assignment_id IS NULL
        AND p.rehearsal = (SELECT r.rehearsal FROM annotator_rater r WHERE r.id = a.rater_id))
UNION ALL SELECT 'free', NULL, free.near, free.tasks FROM ({free}) free
UNION ALL SELECT 'unread', NULL, count(*), 0 FROM annotator_message
WHERE rater_id = %(rater)s AND kind = 'reply' AND read_at IS NULL
"""


def progress_of(participation: Participation) -> PersonProgress:
    """The person's progress, in one query. Each task earns the pay of its own snapshot.

    ``total`` counts the tasks that are done, in hand (a guest's also while it is given back for an undo) and still free
    for the person. While many places are free
    (``near_end_sql``), it is the number that the study offers to one person.
    """
    study = participation.study
    rules = snapshot_content(study.snapshot_id)
    with prepared_cursor() as cursor:
        cursor.execute(
            _DONE.replace("{free}", near_end_sql(study.one_condition_per_instance)),
            {
                "participation": participation.pk,
                "study": study.pk,
                "rater": participation.rater_id,
                "given_back": GIVEN_BACK,
            },
        )
        rows = cursor.fetchall()
    counts = [(snapshot, n) for state, snapshot, n, _ in rows if state == "submitted"]
    done = sum(n for _, n in counts)
    pay = sum((n * _pay(snapshot, study) for snapshot, n in counts), Decimal(0))
    total = min(study.max_items_per_rater or rules["items"], rules["items"])
    in_hand = sum(n for state, _, n, _ in rows if state in ("leased", "given back"))
    near, free = next((near, tasks) for state, _, near, tasks in rows if state == "free")
    if near:
        total = min(total, done + in_hand + free)
    unread = sum(n for state, _, n, _ in rows if state == "unread")
    return PersonProgress(done, max(done, total), pay, study.currency, unread)


def _pay(snapshot: int | None, study: Study) -> Decimal:
    """The pay for a task with this snapshot; tasks from before snapshots were recorded earn the study's current pay."""
    return Decimal(snapshot_content(snapshot)["pay_per_item"]) if snapshot else study.pay_per_item


@dataclass(frozen=True)
class Earnings:
    """What a person has earned in a study. Every judgment earns the pay of its own snapshot. ``bonus`` has everything that the ledger
    credits beside items and the exam; ``unpaid`` counts judgments that a decision leaves unpaid, which earn nothing."""

    participation: Participation
    done: int
    surplus: int
    earned: Decimal
    bonus: Decimal
    paid: Decimal
    exam: Decimal
    accepted: int
    unpaid: int = 0

    @property
    def total(self) -> Decimal:
        return self.earned + self.exam + self.bonus

    @property
    def due(self) -> Decimal:
        return self.total - self.paid

    @property
    def earned_something(self) -> bool:
        """Whether there is work that a recruiting panel should pay or confirm."""
        return bool(self.done or self.total)

    @property
    def waiting(self) -> int:
        """Judgments that are awaiting review: done, and neither accepted nor left unpaid."""
        return self.done - self.accepted - self.unpaid


def earnings_in(participation: Participation) -> Earnings:
    """What a person has earned in one study."""
    every = earnings_of(rater_id=participation.rater_id)
    return next(one for one in every if one.participation.pk == participation.pk)


def earnings_of(*, rater_id: int) -> list[Earnings]:
    """A person's earnings in each of their studies; the number of queries doesn't grow with the work done."""
    participations = (
        Participation.objects.select_related("study", "rater")
        .filter(rater_id=rater_id)
        .order_by("-joined_at")
    )
    counts = (
        Judgment.objects.filter(rater_id=rater_id)
        .order_by()
        .values("study_id", "snapshot_id")
        .annotate(
            n=Count("id"),
            surplus=Count("id", filter=Q(standing="surplus")),
            accepted=Count("review"),
            left=Count("unpaid", filter=Q(review__isnull=True)),
        )
    )
    done: dict[int, int] = {}
    surplus: dict[int, int] = {}
    accepted: dict[int, int] = {}
    unpaid: dict[int, int] = {}
    earned: dict[int, Decimal] = {}
    for row in counts:
        study = row["study_id"]
        done[study] = done.get(study, 0) + row["n"]
        surplus[study] = surplus.get(study, 0) + row["surplus"]
        accepted[study] = accepted.get(study, 0) + row["accepted"]
        unpaid[study] = unpaid.get(study, 0) + row["left"]
        rate = (
            Decimal(snapshot_content(row["snapshot_id"])["pay_per_item"])
            if row["snapshot_id"]
            else Decimal(0)
        )
        earned[study] = earned.get(study, Decimal(0)) + (row["n"] - row["left"]) * rate
    paying = Q(kind=LedgerEntry.Kind.PAYMENT)
    ledger: dict[int, tuple[Decimal | None, Decimal | None]] = {
        row["study_id"]: (row["credited"], row["paid"])
        for row in LedgerEntry.objects.filter(rater_id=rater_id, undone_at__isnull=True)
        .order_by()
        .values("study_id")
        .annotate(credited=Sum("amount", filter=~paying), paid=Sum("amount", filter=paying))
    }
    exams: dict[int, Decimal] = dict(
        ExamAttempt.objects.filter(participation__rater_id=rater_id)
        .order_by()
        .values_list("participation__study_id")
        .annotate(sum=Sum("pay"))
    )
    zero = Decimal(0)
    return [
        Earnings(
            participation=p,
            done=done.get(p.study_id, 0),
            surplus=surplus.get(p.study_id, 0),
            earned=earned.get(p.study_id, zero),
            bonus=ledger.get(p.study_id, (zero, zero))[0] or zero,
            paid=ledger.get(p.study_id, (zero, zero))[1] or zero,
            exam=exams.get(p.study_id, zero),
            accepted=accepted.get(p.study_id, 0),
            unpaid=unpaid.get(p.study_id, 0),
        )
        for p in participations
    ]
