"""Figures of the live page: progress by condition, pace, times and flagged raters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Count, Q, Window
from django.utils import timezone

from annotator.core.kept_figures import StudyCount
from annotator.models import Item, Judgment, Message, Study
from annotator.selectors.conduct import study_earned
from annotator.selectors.progress import Condition, StudyProgress
from annotator.selectors.study import study_hit_type
from annotator.selectors.workload import OutOfReach, places_out_of_reach

#: The pace is computed from at most this many of the latest judgments.
LATEST = 200
#: Raters with fewer judgments aren't flagged.
ENOUGH = 5
#: Gold items are graded one at a time, so at most this many are.
MOST_GOLD = 5_000

_LATEST = StudyCount(
    "latest judgments",
    """
SELECT created_at FROM annotator_judgment
WHERE study_id = %s AND source = 'web' ORDER BY created_at DESC LIMIT %s
""",
)
# Bins double: up to 1, 2, 4, ... times the study's `min_seconds`. Bin 0 is too fast; the last bin is open.
_TIMES = StudyCount(
    "times of judgments",
    """
SELECT CASE WHEN seconds < %(least)s THEN 0
    ELSE least(%(most)s, 1 + floor(ln(seconds / %(least)s) / ln(2::float) + 1e-12))::int END AS bin, count(*)
FROM annotator_judgment WHERE study_id = %(study)s AND source = 'web' AND standing = 'counted'
    AND seconds IS NOT NULL GROUP BY bin
""",
)
_RATERS = StudyCount(
    "behaviour of raters",
    """
SELECT r.id, r.name, sum(d.n), sum(d.fast), max(d.n), sum(d.pasted), sum(d.left_page)
FROM (SELECT rater_id, digest, count(*) AS n, count(*) FILTER (WHERE seconds < %(least)s) AS fast,
        count(*) FILTER (WHERE signals->>'pastes' ~ '^[1-9]') AS pasted,
        count(*) FILTER (WHERE coalesce(signals->>'left', signals->>'leaves') ~ '^[1-9]') AS left_page
    FROM annotator_judgment WHERE study_id = %(study)s AND source = 'web'
    GROUP BY rater_id, digest) d JOIN annotator_rater r ON r.id = d.rater_id
GROUP BY r.id HAVING sum(d.n) >= %(enough)s ORDER BY r.name
""",
)


@dataclass(frozen=True)
class Pace:
    """Judgments per hour, over the latest ones until now; None until there are enough."""

    per_hour: float | None
    last_at: datetime | None
    since: timedelta | None

    @property
    def stalled(self) -> bool:
        """Whether nothing has been submitted for a day."""
        return self.last_at is not None and timezone.now() - self.last_at > timedelta(days=1)

    def end(self, left: int) -> datetime | None:
        """When ``left`` more will be done at this pace; None if that is unknown."""
        if not self.per_hour or self.stalled:
            return None
        hours = left / self.per_hour
        return timezone.now() + timedelta(hours=hours) if hours < 24 * 365 else None


@dataclass(frozen=True)
class Bin:
    """Judgments that took from ``low`` to ``high`` seconds; without ``high``, ``low`` seconds or longer."""

    low: float
    high: float | None
    n: int


@dataclass(frozen=True)
class Flagged:
    """A rater with unusual behaviour, and every reason in words. A flag doesn't exclude anyone: a researcher decides."""

    pk: int
    name: str
    judgments: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Live:
    """Everything that the page shows about one study. ``open`` counts open messages by kind. ``late`` counts judgments
    made after their item was full, which are kept and paid; ``spent`` is what participants have earned;
    ``out_of_reach`` are the free places that nobody who has joined may take. Only
    participants count: rehearsal raters, imported raters and simulators aren't included in any figure.
    """

    conditions: tuple[Condition, ...]
    pace: Pace
    times: tuple[Bin, ...]
    flagged: tuple[Flagged, ...]
    raters: int
    open: dict[str, int]
    latest: tuple[Message, ...]
    late: int
    spent: Decimal
    pay: Decimal
    out_of_reach: OutOfReach

    @property
    def places(self) -> int:
        return sum(condition.places for condition in self.conditions)

    @property
    def done(self) -> int:
        return sum(condition.done for condition in self.conditions)

    @property
    def excluded(self) -> int:
        return sum(condition.excluded for condition in self.conditions)

    @property
    def halted(self) -> bool:
        """Whether places are free but nobody who has joined may take any of them."""
        free = self.places - self.done - self.held
        return 0 < free <= self.out_of_reach.places

    @property
    def held(self) -> int:
        return sum(condition.held for condition in self.conditions)

    @property
    def whole(self) -> Decimal:
        """What participants will have earned once every place is filled, at the current pay."""
        return self.spent + (self.places - self.done) * self.pay


def study_live(study: Study, progress: StudyProgress) -> Live:
    """The figures of a study beside its progress, in a constant number of queries."""
    latest = [row[0] for row in _LATEST.rows([study.pk, LATEST])]
    waiting, messages = open_messages(study)
    raters, flagged = flagged_raters(
        study, excluded=progress.excluded_raters, checks=None if progress.gold or progress.attention else {}
    )
    return Live(
        conditions=progress.conditions,
        pace=pace_of(latest, now=timezone.now()),
        times=times_of(study),
        flagged=flagged,
        raters=raters,
        open=waiting,
        latest=messages,
        late=progress.work.surplus,
        spent=study_earned(study),
        pay=study.pay_per_item,
        out_of_reach=places_out_of_reach(study, progress.workload),
    )


def open_messages(study: Study) -> tuple[dict[str, int], tuple[Message, ...]]:
    """How many messages of each kind are open, and the latest three overall, in one query."""
    found = study.messages.filter(settled_at__isnull=True).exclude(kind=Message.Kind.REPLY)
    kinds = [str(kind) for kind in Message.Kind if kind != Message.Kind.REPLY]
    counts = {f"all_{kind}": Window(Count("pk", filter=Q(kind=kind))) for kind in kinds}
    latest = found.annotate(**counts).select_related("rater", "item").order_by("-created_at")[:3]
    rows = tuple(latest)
    return {kind: getattr(rows[0], f"all_{kind}") if rows else 0 for kind in kinds}, rows


def pace_of(latest: list[datetime], *, now: datetime) -> Pace:
    """Judgments per hour from the oldest of the latest ones until now, including nights and pauses.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> pace_of([noon - timedelta(hours=h) for h in (1, 1, 2, 2, 2)], now=noon).per_hour
    2.5
    """
    if len(latest) < ENOUGH:
        return Pace(None, latest[0] if latest else None, None)
    since = max(now - latest[-1], timedelta(minutes=1))
    return Pace(len(latest) * 3600 / since.total_seconds(), latest[0], since)


def times_of(study: Study) -> tuple[Bin, ...]:
    """How long judgments took, in bins that double from the study's ``min_seconds``."""
    least, most = max(study.min_seconds, 1.0), 7
    found: dict[int, int] = dict(_TIMES.rows({"study": study.pk, "least": least, "most": most}))
    if not found:
        return ()
    edges = [0.0, *(least * 2**power for power in range(most))]
    return tuple(
        Bin(edges[number], edges[number + 1] if number < most else None, found.get(number, 0))
        for number in range(max(found) + 1)
    )


class _RaterCounts(NamedTuple):
    """A row of ``_RATERS``: the number of a rater's judgments, and how many of them are unusual in each way."""

    pk: int
    name: str
    n: int
    fast: int
    same: int
    pasted: int
    left: int


def flagged_raters(
    study: Study, *, excluded: frozenset[int], checks: dict[int, tuple[int, int]] | None = None
) -> tuple[int, tuple[Flagged, ...]]:
    """The number of raters with enough judgments to be flagged, and those who are flagged and not in ``excluded``.

    ``checks`` are the study's ``gold_checks``, if the caller has them already.
    """
    count, signs = behaviour_signs(study)
    wrong = gold_checks(study) if checks is None else checks
    found = []
    for sign in signs:
        failed, of = wrong.get(sign.pk, (0, 0))
        reasons = dict(sign.signs)
        if of >= 2 and failed * 5 >= of * 2:
            reasons["checks"] = f"{failed} of {of} checks failed"
        if reasons and sign.pk not in excluded:
            words = tuple(reasons[kind] for kind in _SIGNS if kind in reasons)
            found.append(Flagged(sign.pk, sign.name, sign.judgments, words))
    return count, tuple(found)


#: Kinds of unusual behaviour, in the order in which they are told.
_SIGNS = ("fast", "same", "checks", "pasted", "left")


@dataclass(frozen=True)
class BehaviourSigns:
    """A rater with enough judgments, and what is unusual in their behaviour: kind of sign -> words with the numbers."""

    pk: int
    name: str
    judgments: int
    signs: dict[str, str]


def behaviour_signs(study: Study) -> tuple[int, list[BehaviourSigns]]:
    """The number of raters with enough judgments, and each of them: too fast (``fast``), the same answer almost always
    (``same``), pasted texts (``pasted``), often away from the page (``left``). One query."""
    asked = {"study": study.pk, "least": study.min_seconds, "enough": ENOUGH}
    rows = [_RaterCounts(*row) for row in _RATERS.rows(asked)]
    # Some studies have one usual answer, and in some everybody leaves the page: only behaviour that others don't show
    # counts.
    usual_same = lower_median([row.same / row.n for row in rows], none=1.0)
    usual_left = lower_median([row.left / row.n for row in rows], none=0.0)
    found = []
    for row in rows:
        signs = {}
        if row.fast * 5 > row.n:
            signs["fast"] = f"{row.fast} of {row.n} in under {study.min_seconds:g} s"
        if row.n >= 10 and row.same * 20 >= row.n * 19 and usual_same < 0.8:
            signs["same"] = f"the same answer in {row.same} of {row.n}"
        if row.pasted * 5 > row.n:
            signs["pasted"] = f"pasted text into {row.pasted} of {row.n}"
        if row.left * 2 > row.n and usual_left < 0.2:
            signs["left"] = f"left the page during {row.left} of {row.n}"
        found.append(BehaviourSigns(row.pk, row.name, row.n, signs))
    return len(rows), found


def lower_median(values: list[float], *, none: float) -> float:
    """The lower of the two middle values; ``none`` if there are no values.

    >>> lower_median([3.0, 1.0, 2.0, 4.0], none=0.0)
    2.0
    """
    return sorted(values)[(len(values) - 1) // 2] if values else none


def gold_checks(study: Study) -> dict[int, tuple[int, int]]:
    """Rater -> (failed, given) over gold items and attention checks."""
    found: dict[int, tuple[int, int]] = {}
    for rater, _, failed, of in _GOLD.rows([study.pk]):
        before = found.get(rater, (0, 0))
        found[rater] = (before[0] + failed, before[1] + of)
    return found


def checks_by_role(study: Study) -> dict[tuple[int, str], tuple[int, int]]:
    """(rater, role of the item) -> (failed, given); gold items and attention checks apart."""
    return {(rater, role): (failed, of) for rater, role, failed, of in _GOLD.rows([study.pk])}


def _gold_counted(study_pk: int) -> list[tuple[int, str, int, int]]:
    given = Judgment.objects.filter(
        study=study_pk,
        source=Judgment.Source.WEB,
        item__role__in=[Item.Role.GOLD, Item.Role.ATTENTION],
        item__gold__isnull=False,
    )
    rows = list(
        given.order_by("id").values_list("rater_id", "item__role", "response", "item__gold")[:MOST_GOLD]
    )
    if not rows:
        return []
    kind = study_hit_type(Study.objects.get(pk=study_pk))
    counts: dict[tuple[int, str], tuple[int, int]] = {}
    for rater, role, response, gold in rows:
        failed, of = counts.get((rater, role), (0, 0))
        counts[rater, role] = (failed + (not kind.grade(response, gold or {}).passed), of + 1)
    return [(rater, role, failed, of) for (rater, role), (failed, of) in counts.items()]


_GOLD = StudyCount("gold checks by role", count=_gold_counted)
