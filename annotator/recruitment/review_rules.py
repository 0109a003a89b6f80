"""A panel's rules for reviewing submissions: which decisions it takes, for which reasons, and until when. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

#: What a reason of rejection can presuppose: a time far below everybody's, or failed attention checks.
QUICK, CHECKS = "quick", "checks"


@dataclass(frozen=True)
class RejectReason:
    """A reason for which a panel lets submissions be rejected. ``id`` is the panel's name of it; ``needs`` is ``QUICK``,
    ``CHECKS`` or empty."""

    id: str
    title: str
    needs: str = ""


@dataclass(frozen=True)
class SubmissionFacts:
    """What a panel's rules ask about a submission. ``status`` is one of ``webhooks.STATUSES`` or empty; ``tasks`` were done;
    ``failed_exam``: they took the study's exam and never passed; ``quick``: three standard deviations below the mean time of
    those who finished; ``checks_failed`` counts attention checks; ``short``: the median time is under five minutes."""

    status: str = ""
    tasks: int = 0
    failed_exam: bool = False
    quick: bool = False
    checks_failed: int = 0
    short: bool = False
    ended_at: datetime | None = None


@dataclass(frozen=True)
class ReviewRules:
    """The rules of one panel. ``open`` are the statuses in which it takes decisions; ``days`` how long after a submission's end;
    ``least_text`` the shortest text of a rejection, in characters; ``unreject``: a rejection can be taken back in that time.
    """

    title: str
    reasons: tuple[RejectReason, ...]
    open: frozenset[str]
    days: int
    least_text: int
    unreject: bool

    def decide_fault(self, submitted: SubmissionFacts, now: datetime) -> str:
        """Why the panel takes no decision about a submission now; empty if it does.

        >>> rules = ReviewRules("Panel", (), frozenset({"AWAITING REVIEW"}), 21, 100, True)
        >>> rules.decide_fault(SubmissionFacts("RETURNED"), datetime(2026, 1, 1))
        'The submission is returned on Panel, so it can no longer be decided there.'
        """
        if submitted.status not in self.open:
            what = submitted.status.lower() or "not known to be finished"
            return f"The submission is {what} on {self.title}, so it can no longer be decided there." if submitted.status else (
                f"{self.title} hasn't said that the submission waits for a review. Compare both sides first."
            )  # fmt: skip
        if submitted.ended_at is not None and now - submitted.ended_at > timedelta(days=self.days):
            return (
                f"It ended more than {self.days} days ago: {self.title} approves such submissions by itself."
            )
        return ""

    def reject_fault(self, submitted: SubmissionFacts, now: datetime) -> str:
        """Why a submission can't be rejected; empty if it can be, for one of ``reasons_for``.

        >>> rules = ReviewRules("Panel", (), frozenset({"AWAITING REVIEW"}), 21, 100, True)
        >>> rules.reject_fault(SubmissionFacts("AWAITING REVIEW", tasks=2, failed_exam=True), datetime(2026, 1, 1))
        'A failed exam is no reason for a rejection.'
        """
        if fault := self.decide_fault(submitted, now):
            return fault
        if submitted.failed_exam:
            return "A failed exam is no reason for a rejection."
        if not submitted.tasks:
            return "They have submitted no task, so there is nothing to reject. Ask them to return the submission."
        return ""

    def reasons_for(self, submitted: SubmissionFacts) -> tuple[RejectReason, ...]:
        """The reasons that the panel accepts for this submission: checks and speed only where the evidence is there.

        >>> rules = ReviewRules("Panel", (RejectReason("C", "checks", CHECKS),), frozenset(), 21, 100, True)
        >>> [len(rules.reasons_for(SubmissionFacts(checks_failed=n, short=short))) for n, short in [(1, False), (2, False), (1, True)]]
        [0, 1, 1]
        """
        met = {
            "": True,
            QUICK: submitted.quick,
            CHECKS: submitted.checks_failed >= (1 if submitted.short else 2),
        }
        return tuple(reason for reason in self.reasons if met[reason.needs])
