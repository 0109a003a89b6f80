"""The home page's studies: the progress of each and what needs the researcher's attention. A fixed number of queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from annotator.core.kept_figures import StudyCount
from annotator.core.words import listed, plural
from annotator.models import DataRequest, Message, Rehearsal, Study
from annotator.selectors.study import studies_for, with_size

STALLED = timedelta(days=1)

_PLACES = StudyCount(
    "places of studies",
    """
SELECT p.study_id, count(*), count(*) FILTER (WHERE a.state = 'submitted') FROM annotator_place p
LEFT JOIN annotator_assignment a ON a.id = p.assignment_id
WHERE p.study_id = ANY(%s) AND NOT p.rehearsal GROUP BY p.study_id
""",
)
# Running studies and judgments by participants only: how many aren't accepted yet, the latest, the median time.
_WORK = StudyCount(
    "work in studies",
    """
SELECT j.study_id, count(*) FILTER (WHERE v.id IS NULL), max(j.created_at),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY j.seconds) FILTER (WHERE j.standing = 'counted')
FROM annotator_judgment j LEFT JOIN annotator_review v ON v.judgment_id = j.id
WHERE j.study_id = ANY(%s) AND j.source = 'web' GROUP BY j.study_id
""",
)
_ITEMS = StudyCount(
    "items of studies",
    "SELECT study_id, count(*) FROM annotator_item WHERE study_id = ANY(%s) GROUP BY study_id",
)
_JUDGMENTS = StudyCount(
    "judgments of studies",
    "SELECT study_id, count(*) FROM annotator_judgment WHERE study_id = ANY(%s) GROUP BY study_id",
)


@dataclass(frozen=True)
class StudyRow:
    """One study of the home page. ``needs`` says in words what needs the researcher's attention."""

    study: Study
    items: int
    judgments: int
    places: int
    done: int
    needs: tuple[str, ...]
    next: str

    @property
    def share(self) -> float:
        return self.done / self.places if self.places else 0.0


def home_studies(
    *, user: Any, query: str = "", state: str = "", archived: bool = False, workspace: int | None = None
) -> QuerySet[Study]:
    """The researcher's studies (of one workspace, if it is given), newest first; archived ones only if requested."""
    found = studies_for(user=user).filter(archived_at__isnull=not archived).order_by("-created_at", "-id")
    found = with_size(found)
    if query:
        found = found.filter(Q(title__icontains=query) | Q(slug__icontains=query))
    if workspace is not None:
        found = found.filter(workspace=workspace)
    if state in Study.State.values:
        found = found.filter(state=state)
    return found


def home_rows(studies: Sequence[Study]) -> list[StudyRow]:
    """The rows of these studies; the number of queries depends neither on how many there are nor on their size."""
    pks = [study.pk for study in studies]
    running = [study.pk for study in studies if study.state in (Study.State.LIVE, Study.State.PAUSED)]
    places = {pk: (all_, done) for pk, all_, done in _PLACES.rows([pks])}
    work = {pk: tuple(rest) for pk, *rest in _WORK.rows([running])}
    items: dict[int, int] = dict(_ITEMS.rows([pks]))
    judgments: dict[int, int] = dict(_JUDGMENTS.rows([pks]))
    # A message that asks for deletion is settled with its request, which is named with its deadline.
    open_messages = Message.objects.filter(study__in=pks, settled_at__isnull=True).exclude(
        kind__in=(Message.Kind.REPLY, Message.Kind.DELETION)
    )
    requests: dict[int, tuple[int, datetime]] = {
        pk: (n, due)
        for pk, n, due in DataRequest.objects.filter(study__in=pks, state=DataRequest.State.OPEN)
        .order_by()
        .values_list("study")
        .annotate(n=Count("id"), due=Min("due_at"))
    }
    messages: dict[int, int] = dict(open_messages.order_by().values_list("study").annotate(n=Count("id")))
    failed = set(
        Rehearsal.objects.filter(study__in=pks, state=Rehearsal.State.FAILED).values_list("study", flat=True)
    )
    rows = []
    for study in studies:
        all_, done = places.get(study.pk, (0, 0))
        unreviewed, last, median = work.get(study.pk, (0, None, None))
        needs = _needs(study, messages.get(study.pk, 0), unreviewed, last, median, all_ - done)
        if study.pk in requests:
            needs.insert(0, _deletion_words(*requests[study.pk]))
        if study.pk in failed:
            needs.append("the rehearsal failed")
        rows.append(
            StudyRow(
                study=study,
                items=items.get(study.pk, 0),
                judgments=judgments.get(study.pk, 0),
                places=all_,
                done=done,
                needs=tuple(needs),
                next=_next(study, items.get(study.pk, 0), all_, done, unreviewed),
            )
        )
    return rows


def _needs(
    study: Study, messages: int, unreviewed: int, last: datetime | None, median: float | None, left: int
) -> list[str]:
    needs = []
    if messages:
        needs.append(f"{plural(messages, 'message')} to answer")
    if unreviewed:
        needs.append(f"{plural(unreviewed, 'judgment')} to accept")
    if study.state == Study.State.LIVE and left and last and timezone.now() - last > STALLED:
        needs.append("nothing submitted for a day")
    if median and study.pay_floor_per_hour and study.pay_per_item:
        per_hour = study.pay_per_item * 3600 / Decimal(str(median))
        if per_hour < study.pay_floor_per_hour:
            needs.append(f"pays {per_hour:.2f} {study.currency} an hour, below your minimum")
    return needs


def _deletion_words(count: int, due: datetime) -> str:
    when = "overdue" if due < timezone.now() else f"by {due:%Y-%m-%d}"
    return f"{plural(count, 'deletion request')} to answer, {when}"


def _next(study: Study, items: int, places: int, done: int, unreviewed: int) -> str:
    if study.state == Study.State.DRAFT:
        return "Prepare and launch it" if items else "Import material"
    if study.state == Study.State.PAUSED:
        return "Resume or close it"
    if places and done == places:
        return "Close it" if study.state == Study.State.LIVE else "Compute a report"
    if study.state == Study.State.LIVE:
        return "Review new judgments" if unreviewed else "Wait for judgments"
    return "Compute a report"


def needs_words(rows: Sequence[StudyRow]) -> str:
    """One sentence that says how many studies need the researcher's attention."""
    waiting = [f"“{row.study.title}”" for row in rows if row.needs]
    if not waiting:
        return "Nothing needs your attention."
    return f"{plural(len(waiting), 'study needs', 'studies need')} your attention: {listed(waiting[:3])}{' and others' if len(waiting) > 3 else ''}."
