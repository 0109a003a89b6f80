"""The home page's studies: the progress of each and what needs the researcher's attention. A fixed number of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from annotator.core.kept_figures import BeingCounted, StudyCount, figures_kept
from annotator.core.words import listed, plural
from annotator.models import DataRequest, Message, Rehearsal, Study
from annotator.selectors.places import REPLACED
from annotator.selectors.study import studies_for, with_size
from annotator.selectors.workload import Workload, study_workloads, unit_rows

STALLED = timedelta(days=1)

_PLACES = StudyCount(
    "places of studies",
    """
SELECT p.study_id, count(*), count(*) FILTER (WHERE a.state = 'submitted') FROM annotator_place p
JOIN annotator_item i ON i.id = p.item_id AND i.withdrawn_at IS NULL
LEFT JOIN annotator_assignment a ON a.id = p.assignment_id
WHERE p.study_id = ANY(%s) AND NOT p.rehearsal AND p.id NOT IN {replaced} GROUP BY p.study_id
""".replace("{replaced}", REPLACED),
)
# Running studies and judgments by participants only: how many aren't accepted yet, the latest, the median time.
_WORK = StudyCount(
    "work in studies",
    """
SELECT j.study_id, count(*) FILTER (WHERE v.id IS NULL AND u.id IS NULL), max(j.created_at),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY j.seconds) FILTER (WHERE j.standing = 'counted')
FROM annotator_judgment j LEFT JOIN annotator_review v ON v.judgment_id = j.id
LEFT JOIN annotator_unpaidwork u ON u.judgment_id = j.id
WHERE j.study_id = ANY(%s) AND j.source = 'web' GROUP BY j.study_id
""",
)
_ITEMS = StudyCount(
    "items of studies",
    "SELECT study_id, count(*) FROM annotator_item WHERE study_id = ANY(%s) AND withdrawn_at IS NULL GROUP BY study_id",
)
_JUDGMENTS = StudyCount(
    "judgments of studies",
    "SELECT study_id, count(*) FROM annotator_judgment WHERE study_id = ANY(%s) AND source <> 'rehearsal' GROUP BY study_id",
)


@dataclass(frozen=True)
class NextStep:
    """Something to do in a study, in words, and the page where it's done (its URL name, which takes the study's id); empty if there is nothing to do."""

    says: str
    page: str = ""

    def __str__(self) -> str:
        return self.says


@dataclass(frozen=True)
class StudyRow:
    """One study of the home page. ``needs`` is what needs the researcher's attention, the most urgent first; ``next`` the
    study's one next step.
    """

    study: Study
    items: int
    judgments: int
    places: int
    done: int
    #: Whether a job is counting its figures for the first time; until then they are 0.
    counting: bool
    #: What the study pays in an hour, if that is below its minimum.
    low_pay: float | None
    needs: tuple[NextStep, ...]
    next: NextStep

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


_COUNTING = NextStep("Its figures are being counted")


class _StudyFigures:
    """Counts of some studies: those of small ones are counted now, those of large ones (found ``sized``) kept where the page keeps figures.
    ``counting``: a job is counting one of the large ones' figures for the first time, so they have none."""

    def __init__(self, studies: Sequence[Study]) -> None:
        self.large = {study.pk for study in studies if getattr(study, "is_large", False)}
        self.counting = False

    def of(
        self, count: Callable[[list[int]], list[tuple[Any, ...]]], pks: Sequence[int]
    ) -> dict[int, tuple[Any, ...]]:
        small = [pk for pk in pks if pk not in self.large]
        large = [pk for pk in pks if pk in self.large]
        with figures_kept():
            rows = count(small) if small else []
        if large:
            try:
                rows += count(large)
            except BeingCounted:
                self.counting = True
        return {pk: tuple(rest) for pk, *rest in rows}


def home_rows(studies: Sequence[Study]) -> list[StudyRow]:
    """The rows of these studies; the number of queries depends neither on how many there are nor on their size."""
    pks = [study.pk for study in studies]
    running = [study.pk for study in studies if study.state in (Study.State.LIVE, Study.State.PAUSED)]
    figures = _StudyFigures(studies)
    places = figures.of(lambda some: _PLACES.rows([some]), pks)
    work = figures.of(lambda some: _WORK.rows([some]), running)
    items = figures.of(lambda some: _ITEMS.rows([some]), pks)
    judgments = figures.of(lambda some: _JUDGMENTS.rows([some]), pks)
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
    paid = [
        study for study in studies if study.pk in work and study.pay_floor_per_hour and study.pay_per_item
    ]
    units = figures.of(unit_rows, [study.pk for study in paid])
    without = figures.large if figures.counting else set()
    workloads = study_workloads([study for study in paid if study.pk not in without], units)
    rows = []
    for study in studies:
        counting = study.pk in without
        all_, done = places.get(study.pk, (0, 0))
        [of_items], [of_judgments] = items.get(study.pk, (0,)), judgments.get(study.pk, (0,))
        unreviewed, last, median = work.get(study.pk, (0, None, None))
        low_pay = _low_pay(study, median, workloads.get(study.pk))
        needs = _needs(
            study,
            messages=messages.get(study.pk, 0),
            unreviewed=unreviewed,
            last=last,
            low_pay=low_pay,
            left=all_ - done,
        )
        if study.pk in requests:
            needs.insert(0, NextStep(_deletion_words(*requests[study.pk]), "admin:study_data_requests"))
        if study.pk in failed:
            needs.append(NextStep("the rehearsal failed", "admin:study_rehearsal"))
        rows.append(
            StudyRow(
                study=study,
                items=of_items,
                judgments=of_judgments,
                places=all_,
                done=done,
                counting=counting,
                low_pay=low_pay,
                needs=tuple(needs),
                next=_COUNTING if counting and not needs else _next(study, of_items, all_, done, needs),
            )
        )
    return rows


def _needs(
    study: Study,
    *,
    messages: int,
    unreviewed: int,
    last: datetime | None,
    low_pay: float | None,
    left: int,
) -> list[NextStep]:
    needs = []
    if messages:
        needs.append(NextStep(f"{plural(messages, 'message')} to answer", "admin:study_messages"))
    if unreviewed:
        needs.append(NextStep(f"{plural(unreviewed, 'judgment')} to accept", "admin:study_payments"))
    if study.state == Study.State.LIVE and left and last and timezone.now() - last > STALLED:
        needs.append(NextStep("nothing submitted for a day", "admin:study_live"))
    if low_pay is not None:
        says = f"pays {low_pay:.2f} {study.currency} an hour, below your minimum"
        needs.append(NextStep(says, "admin:annotator_study_change"))
    return needs


def _low_pay(study: Study, median: float | None, workload: Workload | None) -> float | None:
    """What a study pays in an hour at the tasks' median time, if that is below its minimum."""
    if not median or not workload:
        return None
    per_hour = workload.per_hour_at(median / 60)
    return per_hour if per_hour < study.pay_floor_per_hour else None


def _deletion_words(count: int, due: datetime) -> str:
    when = "overdue" if due < timezone.now() else f"by {due:%Y-%m-%d}"
    return f"{plural(count, 'deletion request')} to answer, {when}"


def _next(study: Study, items: int, places: int, done: int, needs: Sequence[NextStep]) -> NextStep:
    """The one thing to do next: what people wait for, else what moves the study on."""
    if needs:
        return needs[0]
    if study.state == Study.State.DRAFT:
        if items:
            return NextStep("Prepare and launch it", "admin:study_live")
        return NextStep("Import material", "admin:annotator_study_import")
    if study.state == Study.State.PAUSED:
        return NextStep("Resume or close it", "admin:study_live")
    if study.state == Study.State.LIVE:
        return (
            NextStep("Close it", "admin:study_live")
            if places and done == places
            else NextStep("Wait for judgments")
        )
    return NextStep("Compute a report", "evaluation:reports")


def needs_words(rows: Sequence[StudyRow]) -> str:
    """One sentence that says how many studies need the researcher's attention."""
    waiting = [f"“{row.study.title}”" for row in rows if row.needs]
    if not waiting:
        return "Nothing needs your attention."
    return f"{plural(len(waiting), 'study needs', 'studies need')} your attention: {listed(waiting[:3])}{' and others' if len(waiting) > 3 else ''}."
