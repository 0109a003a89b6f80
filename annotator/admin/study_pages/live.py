"""The live page: three questions, an answer in words to each, and links to the rows behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.timesince import timesince

from annotator.admin.study_pages.frame import EDITOR, VIEWER, address_of, may, render, study_page
from annotator.admin.study_pages.overview import next_of
from annotator.core.replica import PAGE_SECONDS, replica_read
from annotator.core.words import listed, plural
from annotator.models import Message, Study
from annotator.selectors.live import Bin, Live, study_live
from annotator.selectors.progress import Condition, StudyProgress, study_progress
from annotator.selectors.study import study_hit_type

#: Kind of message -> its name in the singular and in the plural.
MESSAGES = {
    Message.Kind.QUESTION: ("question to answer", "questions to answer"),
    Message.Kind.FLAG: ("problem reported with an item", "problems reported with items"),
    Message.Kind.DELETION: (
        "deletion request to answer",
        "deletion requests to answer",
    ),
}


@dataclass(frozen=True)
class Fact:
    """A figure, its name, and a link to its rows."""

    name: str
    value: str
    note: str = ""
    url: str = ""
    alarm: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar of the histogram of times: its share of the tallest, and a link to its rows."""

    label: str
    n: int
    share: float
    url: str
    fast: bool


@dataclass(frozen=True)
class Answer:
    """A question, its answer in words, and the figures below it."""

    name: str
    question: str
    says: str
    facts: tuple[Fact, ...] = ()
    rows: tuple[Any, ...] = field(default=())


@study_page(VIEWER, people="progress")
def live(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the page; for htmx only the three answers, and 204 if nothing has changed."""
    still = "still" in request.GET

    def counted() -> tuple[StudyProgress, dict[str, Any], str]:
        progress = study_progress(study)
        running = {"study": study, "live": study.state == Study.State.LIVE and not still}
        context = answers(study, progress) | running
        return progress, context, render_to_string("admin/annotator/study_pages/_live.html", context)

    progress, context, part = replica_read(counted, patience=PAGE_SECONDS)
    mark = sha256(part.encode()).hexdigest()[:16]
    if request.headers.get("HX-Request"):
        if request.GET.get("seen") == mark:
            return HttpResponse(status=204)
        return HttpResponse(_framed(context, part, mark))
    return render(
        request, study, "live", tab="overview", title=study.title, part=_framed(context, part, mark),
        next=next_of(request, study, progress, editor=may(request, study, EDITOR), external=study_hit_type(study).external),
        still=still, agreement_url=address_of("evaluation:live_agreement", study.pk), plan_url=address_of("evaluation:live_plan", study.pk), running=study.state == "live",
    )  # fmt: skip


def _framed(context: dict[str, Any], part: str, mark: str) -> str:
    return render_to_string(
        "admin/annotator/study_pages/_live_frame.html", context | {"part": part, "mark": mark}
    )


def answers(study: Study, progress: StudyProgress) -> dict[str, Any]:
    """The three answers for a study's current state."""
    found = study_live(study, progress)
    rows = reverse("admin:study_judgments", args=[study.pk])
    return {
        "going": Answer(
            "going",
            "Is it going well?",
            going_words(study, found),
            going_facts(study, found, progress, rows),
            tuple(
                {"label": condition.name or ("Without a condition" if len(found.conditions) > 1 else "All items"),
                 "done": condition.share, "held": condition.held_share, "words": _strip_words(condition),
                 "url": f"{rows}?{urlencode({'condition': condition.name})}" if condition.name else rows}
                for condition in found.conditions
            ),
        ),
        "trust": Answer(
            "trust",
            "Can I trust it?",
            trust_words(found, progress, study),
            trust_facts(study, found, progress, rows),
            bars(found.times, rows),
        ),
        "needs": Answer(
            "needs", "What needs my attention?", needs_words(found), needs_facts(study, found, progress), found.latest
        ),
        "flagged": [
            {"rater": one, "url": f"{rows}?{urlencode({'rater': one.name})}",
             "exclude_url": reverse("admin:study_exclude_rater", args=[study.pk, one.pk])}
            for one in found.flagged
        ],
    }  # fmt: skip


def _strip_words(one: Condition) -> str:
    return f"{intcomma(one.done)} of {intcomma(one.places)}" + (
        f", {intcomma(one.held)} in progress" if one.held else ""
    )


def in_currency(amount: Any, study: Study) -> str:
    return f"{amount:,.2f} {study.currency}"


def going_words(study: Study, live: Live) -> str:
    """Whether the study is going well, in one or two sentences."""
    if study.state == Study.State.DRAFT:
        return "The study is a draft."
    if not live.places:
        return "This study gives out no tasks; its judgments are imported."
    if live.done == live.places:
        return (
            f"Complete: all {intcomma(live.places)} places are filled, for {in_currency(live.spent, study)}"
            + (
                f", but {plural(live.excluded, 'judgment is', 'judgments are')} excluded."
                if live.excluded
                else "."
            )
        )
    share = f"{100 * live.done // live.places} % is done"
    if study.state in (Study.State.PAUSED, Study.State.CLOSED):
        return f"The study is {study.state}: {share}, and no more tasks are given out."
    if not live.done:
        return f"Nobody has submitted anything yet; {plural(live.held, 'task is', 'tasks are')} in progress."
    if live.pace.stalled and live.pace.last_at:
        return (
            f"Stalled: {share}, and nothing has been submitted for {timesince(live.pace.last_at, depth=1)}."
        )
    end = live.pace.end(live.places - live.done)
    words = f"{share}. It is too early to estimate when it will end."
    if end:
        words = f"Yes: {share}, the rest by {timezone.localtime(end):%Y-%m-%d %H:%M} at this pace."
    return words + _lagging(live)


def _excluded_words(live: Live) -> str:
    return f"; {intcomma(live.excluded)} of those done are excluded and not replaced" if live.excluded else ""


def _lagging(live: Live) -> str:
    """Name the condition that is more than 20 points behind the first: conditions cannot be compared until both are complete."""
    ordered = sorted(live.conditions, key=lambda one: one.share)
    if len(ordered) > 1 and ordered[-1].share - ordered[0].share > 0.2:
        return f" “{ordered[0].name or 'Without a condition'}” lags behind."
    return ""


def going_facts(study: Study, live: Live, progress: StudyProgress, rows: str) -> tuple[Fact, ...]:
    left = live.places - live.done
    pace = f"{live.pace.per_hour:,.1f} an hour" if live.pace.per_hour else "not known yet"
    since = f"over the last {timesince(timezone.now() - live.pace.since, depth=1)}" if live.pace.since else ""
    people = reverse("admin:annotator_participation_changelist") + f"?study__id__exact={study.pk}"
    return (
        Fact(
            "Done",
            f"{intcomma(live.done)} of {intcomma(live.places)}",
            f"{intcomma(live.held)} in progress" + _excluded_words(live),
            rows,
        ),
        Fact("Pace", pace, since if live.pace.per_hour else "after five judgments", rows),
        Fact(
            "Cost so far",
            in_currency(live.spent, study),
            f"{in_currency(live.whole, study)} once everything is done",
            reverse("admin:annotator_ledgerentry_changelist") + f"?study__id__exact={study.pk}",
        ),
        Fact(
            "Participants",
            intcomma(progress.people),
            people_words(progress, left),
            people,
            alarm=live.halted,
        ),
    )


def people_words(progress: StudyProgress, left: int) -> str:
    """How many people the study takes, and who isn't counted."""
    needed = f"at least {progress.workload.people:,} are needed" if left else f"{plural(left, 'place')} left"
    others = others_words(progress)
    return f"{needed}; {others}" if others else needed


def others_words(progress: StudyProgress) -> str:
    """A sentence about raters who aren't counted in this page's figures."""
    others = [
        plural(n, name)
        for n, name in (
            (progress.rehearsal_raters, "rehearsal rater"),
            (progress.imported_raters, "imported rater"),
        )
        if n
    ]
    one = progress.rehearsal_raters + progress.imported_raters == 1
    return f"{listed(others)} {'is' if one else 'are'} not counted" if others else ""


def trust_words(live: Live, progress: StudyProgress, study: Study) -> str:
    """Reasons to doubt the judgments, or that there are none."""
    if not live.raters:
        return "Too early to say: nobody has submitted five judgments yet."
    words = "No reason to doubt it: no rater stands out."
    if live.flagged:
        n = len(live.flagged)
        words = f"{n} of {live.raters} raters stand{'s' if n == 1 else ''} out. Check their judgments before you rely on them."
    if progress.fast:
        words += f" {intcomma(progress.fast)} judgment{'s' if progress.fast > 1 else ''} took under {study.min_seconds:g} s."
    return words


def trust_facts(study: Study, live: Live, progress: StudyProgress, rows: str) -> tuple[Fact, ...]:
    raters = reverse("admin:study_raters", args=[study.pk])
    floor = float(study.pay_floor_per_hour)
    median = progress.median_seconds
    per_hour = progress.pay_per_hour
    return (
        Fact(
            "Time per item",
            f"{median:.0f} s" if median is not None else "not known yet",
            f"median; {study.minutes_per_item * 60:.0f} s were planned",
            raters,
        ),
        Fact(
            "Pay per hour",
            in_currency(per_hour, study) if per_hour else "not known yet",
            f"{pay_basis_words(progress)}; the minimum is {in_currency(floor, study)}"
            if floor
            else pay_basis_words(progress),
            raters,
            alarm=per_hour is not None and per_hour < floor,
        ),
        Fact(
            "Excluded",
            intcomma(progress.excluded),
            "reversible; reports show figures with and without",
            reverse("admin:study_exclusions", args=[study.pk]),
        ),
        Fact("Late", intcomma(live.late), "kept and paid, but not counted", f"{rows}?standing=surplus"),
    )


def pay_basis_words(progress: StudyProgress) -> str:
    """What the pay per hour of the live page counts."""
    work = progress.workload
    tasks = plural(work.tasks_each, "task")
    return f"for {tasks} at the median time, with {work.preparation.minutes} min before the first"


def bars(times: tuple[Bin, ...], rows: str) -> tuple[Bar, ...]:
    """The times as bars, each with a link to its judgments."""
    tallest = max((one.n for one in times), default=0)
    found = []
    for one in times:
        query = {"seconds_from": f"{one.low:g}"} | ({"seconds_below": f"{one.high:g}"} if one.high else {})
        label = f"{_span(one.low)}–{_span(one.high)}" if one.high else f"over {_span(one.low)}"
        url = f"{rows}?{urlencode(query)}"
        found.append(
            Bar(
                label if one.low else f"under {_span(one.high or 0)}",
                one.n,
                one.n / tallest,
                url,
                not one.low,
            )
        )
    return tuple(found)


def _span(seconds: float) -> str:
    """Seconds in words.

    >>> _span(40), _span(160), _span(5)
    ('40 s', '2:40 min', '5 s')
    """
    if seconds < 60:
        return f"{seconds:g} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def needs_words(live: Live) -> str:
    """What the researcher should do, most urgent first."""
    parts = []
    for kind in (Message.Kind.DELETION, Message.Kind.QUESTION, Message.Kind.FLAG):
        if n := live.open.get(kind, 0):
            parts.append(f"{n} {MESSAGES[kind][n > 1]}")
    if n := len(live.flagged):
        parts.append(f"{plural(n, 'rater')} to check")
    if live.halted:
        n = live.out_of_reach.places
        parts.append(
            f"{plural(n, 'free place')} that nobody who has joined may take: invite at least"
            f" {plural(live.out_of_reach.people, 'more person', 'more people')}"
        )
    return f"{listed(parts)}." if parts else "Nothing needs your attention."


def needs_facts(study: Study, live: Live, progress: StudyProgress) -> tuple[Fact, ...]:
    messages = reverse("admin:study_messages", args=[study.pk])
    return (
        *(
            Fact(Message.Kind(kind).label.capitalize(), intcomma(live.open.get(kind, 0)), "not settled",
                 f"{messages}?kind={kind}")
            for kind in (Message.Kind.QUESTION, Message.Kind.FLAG, Message.Kind.DELETION)
        ),
        Fact("Raters to check", intcomma(len(live.flagged)), "", reverse("admin:study_raters", args=[study.pk])),
    )  # fmt: skip
