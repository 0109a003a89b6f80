"""The review desk: the submissions of a study that need a decision, with their evidence, and what may be decided about each."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

from django.utils import timezone

from annotator.core.kept_figures import StudyCount
from annotator.models import PanelConnection, Participation, ReviewDecision, Study
from annotator.recruitment.registry import panel_get
from annotator.recruitment.review_rules import RejectReason, ReviewRules, SubmissionFacts
from annotator.recruitment.webhooks import ENDED, REJECTED
from annotator.selectors.evidence import SIGNS, Evidence, evidence_of
from annotator.selectors.owed import excluded_raters
from annotator.selectors.panel_connection import connection_of, may_spend

Kind = ReviewDecision.Kind
#: The lists of the desk, and their names; the first is the default.
SHOWN = {
    "waiting": "to decide",
    "signs": "to decide, with signs",
    "clean": "to decide, without signs",
    "held": "decided, not yet carried out",
    "decided": "decided",
    "all": "everybody",
}
#: Fewer people who have finished have no mean time that anybody could be compared with.
ENOUGH_TIMES = 10

_PEOPLE = StudyCount(
    "submissions of a study",
    """
WITH work AS (
    SELECT j.rater_id, count(*) AS done, count(v.id) AS accepted, sum(j.seconds) AS seconds,
        count(u.id) FILTER (WHERE v.id IS NULL) AS unpaid
    FROM annotator_judgment j LEFT JOIN annotator_review v ON v.judgment_id = j.id
    LEFT JOIN annotator_unpaidwork u ON u.judgment_id = j.id
    WHERE j.study_id = %(study)s AND j.source = 'web' GROUP BY j.rater_id
), exams AS (
    SELECT e.participation_id, bool_or(coalesce(e.score, 0) >= e.pass_mark) AS passed FROM annotator_examattempt e
    JOIN annotator_participation p ON p.id = e.participation_id
    WHERE p.study_id = %(study)s AND e.submitted_at IS NOT NULL GROUP BY e.participation_id
)
SELECT p.id, p.rater_id, r.name, p.state, p.recruiter, p.recruiter_id, p.recruiter_session, p.panel_status, p.joined_at,
    p.finished_at, coalesce(w.done, 0), coalesce(w.accepted, 0), w.seconds::float, x.passed,
    coalesce(w.unpaid, 0)
FROM annotator_participation p JOIN annotator_rater r ON r.id = p.rater_id
LEFT JOIN work w ON w.rater_id = p.rater_id LEFT JOIN exams x ON x.participation_id = p.id
WHERE p.study_id = %(study)s AND NOT r.rehearsal
    AND (w.done > 0 OR p.panel_status = 'AWAITING REVIEW' OR EXISTS (
        SELECT 1 FROM annotator_reviewdecision d WHERE d.participation_id = p.id AND d.in_force))
ORDER BY p.id
""",
)


class _PersonRow(NamedTuple):
    pk: int
    rater: int
    name: str
    state: str
    recruiter: str
    recruiter_id: str
    session: str
    status: str
    joined_at: datetime
    finished_at: datetime | None
    done: int
    accepted: int
    seconds: float | None
    passed: bool | None
    unpaid: int


@dataclass(frozen=True)
class Submission:
    """One person's submission on the desk. ``pk`` is the participation's, ``seconds`` the time on their tasks (None if nothing was
    timed), ``failed_exam`` whether they took the exam and never passed, ``decision`` the one in force.
    """

    pk: int
    rater: int
    name: str
    state: str
    recruiter: str
    recruiter_id: str
    session: str
    status: str
    joined_at: datetime
    finished_at: datetime | None
    done: int
    accepted: int
    seconds: float | None
    failed_exam: bool
    excluded: bool
    evidence: Evidence
    decision: ReviewDecision | None
    facts: SubmissionFacts
    unpaid: int = 0

    @property
    def unreviewed(self) -> int:
        """Judgments that are neither accepted yet nor left unpaid."""
        return self.done - self.accepted - self.unpaid

    @property
    def ended(self) -> bool:
        """Whether the person has stopped working: finished, left, or over at the panel."""
        return (
            bool(self.finished_at)
            or self.state != Participation.State.ACTIVE
            or self.status in ENDED | {"AWAITING REVIEW"}
        )

    @property
    def decided(self) -> bool:
        """Whether a decision is in force that covers all work: an acceptance, and leaving work unpaid, don't cover what came after it,
        and a rejection that the panel has taken back covers nothing."""
        one = self.decision
        if one is None or one.done_at is None:
            return one is not None
        if one.kind == Kind.REJECT:
            return self.status in ("", REJECTED)
        return not (one.kind in (Kind.ACCEPT, Kind.NOT_PAID) and self.unreviewed > 0)

    @property
    def waits(self) -> bool:
        """Whether somebody should decide: the work has ended or something about it is unusual, and it isn't accepted."""
        if self.decided:
            return False
        return self.status == "AWAITING REVIEW" or (
            self.unreviewed > 0 and (self.ended or bool(self.evidence.signs))
        )

    @property
    def seconds_each(self) -> float | None:
        return self.seconds / self.done if self.seconds is not None and self.done else None

    @property
    def state_words(self) -> str:
        return str(Participation.State(self.state).label)


@dataclass(frozen=True)
class Desk:
    """A study's submissions, those with the most signs first, then the longest wait. ``rules`` are the panel's, None if its API takes
    no decisions or the workspace isn't connected; ``median_seconds`` is per task."""

    submissions: tuple[Submission, ...]
    panel: str
    panel_title: str
    connection: PanelConnection | None
    rules: ReviewRules | None
    median_seconds: float | None
    #: The conditions under which the study's terms leave work unpaid.
    terms: tuple[str, ...] = ()

    def shown(self, name: str, sign: str = "") -> list[Submission]:
        """One of the lists ``SHOWN``, of people with this kind of sign."""
        chosen = self._lists[name]
        return [one for one in chosen if not sign or any(had.kind == sign for had in one.evidence.signs)]

    @cached_property
    def _lists(self) -> dict[str, list[Submission]]:
        """The submissions of each list, in one pass: there may be thousands."""
        found: dict[str, list[Submission]] = {name: [] for name in SHOWN}
        for submission in self.submissions:
            for name in _in_lists(submission):
                found[name].append(submission)
        return found

    @property
    def counts(self) -> dict[str, int]:
        """How many submissions each list has."""
        return {name: len(found) for name, found in self._lists.items()}

    @property
    def sign_counts(self) -> list[tuple[str, str, int]]:
        """(kind, name, how many that wait have it) of each kind of sign that somebody has."""
        found = Counter(sign.kind for one in self.shown("waiting") for sign in one.evidence.signs)
        return [(kind, title, found[kind]) for kind, title in SIGNS.items() if found[kind]]

    def at_panel(self, one: Submission) -> bool:
        """Whether the panel has to be told what is decided about a submission."""
        return self.rules is not None and one.recruiter == self.panel and bool(one.session) and one.status in self.rules.open  # fmt: skip

    def fault(self, one: Submission, kind: str, *, now: datetime | None = None) -> str:
        """Why this can't be decided about a submission now; empty if it can."""
        now = now or timezone.now()
        held = one.decision
        if (
            held is not None
            and one.decided
            and not (held.kind == Kind.ASK_RETURN and held.done_at is not None)
        ):
            return f"{one.name} has a decision already ({held.get_kind_display()}). Undo it first, if it can be undone."
        if kind == Kind.ACCEPT:
            return (
                ""
                if one.unreviewed or self.at_panel(one)
                else f"{one.name} has no work that waits to be accepted."
            )
        if kind == Kind.NOT_PAID:
            return self.unpaid_fault(one)
        if not one.recruiter or self.rules is None or one.recruiter != self.panel or not one.session:
            where = self.panel_title or "a recruitment panel"
            return f"{one.name} didn't come from {where}." if not one.session else f"This can only be decided on {where}: connect it under Settings > Recruitment."  # fmt: skip
        if kind == Kind.ASK_RETURN:
            already = held is not None and held.kind == kind
            return f"{one.name} was asked already." if already else self.rules.decide_fault(one.facts, now)
        return self.rules.reject_fault(one.facts, now)

    def unpaid_fault(self, one: Submission) -> str:
        """Why a person's work can't be left unpaid; empty if it can, for one of the ``terms``."""
        panel = panel_get(one.recruiter) if one.recruiter else None
        if panel is not None and panel.review_rules is not None:
            return (
                f"{one.name} came from {panel.title}, where submissions are accepted, returned or rejected."
            )
        if not self.terms:
            return "The study's terms leave no work unpaid. They can be changed until the launch: Settings, “Work that isn't paid”."
        if one.failed_exam:
            return f"{one.name} failed the exam, which is never a reason not to pay work."
        if not one.ended:
            return f"{one.name} is still at work."
        return "" if one.unreviewed else f"{one.name} has no work that waits to be accepted."

    def reasons(self, one: Submission) -> tuple[RejectReason, ...]:
        """The panel's reasons for which a submission may be rejected now; empty if it may not be."""
        if self.rules is None or self.fault(one, Kind.REJECT):
            return ()
        return self.rules.reasons_for(one.facts)


def _in_lists(one: Submission) -> Iterator[str]:
    yield "all"
    decided = one.decided
    if decided:
        yield "decided"
    elif one.waits:
        yield "waiting"
        yield "signs" if one.evidence.signs else "clean"
    if one.decision is not None and one.decision.done_at is None:
        yield "held"


def review_desk(study: Study, *, raters: Sequence[int] | None = None) -> Desk:
    """The study's submissions with their evidence and decisions (or those of ``raters``), in a constant number of queries.

    Evidence compares people with all others of the study, also if only some are asked for.
    """
    rows = [_PersonRow(*row) for row in _PEOPLE.rows({"study": study.pk})]
    wanted = [row for row in rows if raters is None or row.rater in set(raters)]
    evidence = evidence_of(study, [row.rater for row in rows])
    decisions = {
        review_decision.participation_id: review_decision
        for review_decision in ReviewDecision.objects.filter(study=study, in_force=True).select_related("by")
    }
    excluded = excluded_raters(study)
    quick_under, short = _times(rows)
    made = [
        Submission(
            *row[:13], failed_exam=row.passed is False, excluded=row.rater in excluded, evidence=evidence[row.rater],
            decision=decisions.get(row.pk), facts=_facts(row, evidence[row.rater], quick_under, short), unpaid=row.unpaid,
        )
        for row in wanted
    ]  # fmt: skip
    made.sort(key=lambda one: (-len(one.evidence.signs), one.finished_at or one.joined_at, one.pk))
    panel, connection = panel_get(study.panel), connection_of(study)
    each = [row.seconds / row.done for row in rows if row.seconds is not None and row.done]
    return Desk(
        submissions=tuple(made),
        panel=study.panel,
        panel_title=panel.title if panel else "",
        connection=connection,
        rules=panel.review_rules if panel is not None and connection is not None else None,
        median_seconds=statistics.median(each) if each else None,
        terms=unpaid_terms(study),
    )


def unpaid_terms(study: Study) -> tuple[str, ...]:
    r"""The conditions under which the study's terms leave work unpaid, one a line.

    >>> unpaid_terms(Study(unpaid_terms="Empty answers.\n\n  Copied texts. "))
    ('Empty answers.', 'Copied texts.')
    """
    return tuple(line.strip() for line in study.unpaid_terms.splitlines() if line.strip())


def _took(row: _PersonRow) -> float | None:
    """Seconds from joining to finishing, as panels measure them."""
    return (row.finished_at - row.joined_at).total_seconds() if row.finished_at and row.done else None


def _times(rows: Sequence[_PersonRow]) -> tuple[float, bool]:
    """The time under which somebody is exceptionally fast (three standard deviations below the mean; 0 if that can't be said), and
    whether the median is under five minutes."""
    times = [took for row in rows if (took := _took(row)) is not None]
    if len(times) < ENOUGH_TIMES:
        return 0.0, False
    return statistics.fmean(times) - 3 * statistics.stdev(times), statistics.median(times) < 300


def _facts(row: _PersonRow, evidence: Evidence, quick_under: float, short: bool) -> SubmissionFacts:
    took = _took(row)
    return SubmissionFacts(
        status=row.status,
        tasks=row.done,
        failed_exam=row.passed is False,
        quick=took is not None and took < quick_under,
        checks_failed=evidence.attention[0],
        short=short,
        ended_at=row.finished_at,
    )


def decide_fault(*, user: Any, study: Study) -> str:
    """Why a reviewer of the study may not decide here; empty if they may. Deciding at a panel uses the workspace's account, so it's for
    its editors."""
    panel = panel_get(study.panel)
    if (
        panel is None
        or panel.review_rules is None
        or connection_of(study) is None
        or may_spend(user=user, study=study)
    ):
        return ""
    return f"Decisions are sent to {panel.title} with the workspace's account. Only its editors may use it."


def undoable_until(decision: ReviewDecision, rules: ReviewRules | None) -> datetime | None:
    """Until when a decision that was carried out can be undone; None if it can't be. Only rejections can, if the panel allows it."""
    if decision.done_at is None or decision.kind != Kind.REJECT or rules is None or not rules.unreject:
        return None
    return decision.done_at + timedelta(days=rules.days)
