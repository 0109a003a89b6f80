"""The page that researchers watch: three questions, an answer in words to each, and the rows that it rests on."""

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

from annotator.admin.study_pages.frame import VIEWER, address_of, render, study_page
from annotator.models import Message, Study
from annotator.selectors.live import Bin, Condition, Live, study_live
from annotator.selectors.progress import Progress, study_progress

#: Messages of one kind as a researcher counts them: one, several.
MESSAGES = {
    Message.Kind.QUESTION: ("question to answer", "questions to answer"),
    Message.Kind.FLAG: ("problem reported with an item", "problems reported with items"),
    Message.Kind.DELETION: (
        "person asks for deletion of their data",
        "people ask for deletion of their data",
    ),
}


@dataclass(frozen=True)
class Fact:
    """A figure, what it is, and where its rows are."""

    name: str
    value: str
    note: str = ""
    url: str = ""
    alarm: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar of the times: its height as a share of the tallest, its rows' address."""

    label: str
    n: int
    share: float
    url: str
    fast: bool


@dataclass(frozen=True)
class Answer:
    """A question, its answer in words, the figures below it."""

    name: str
    question: str
    says: str
    facts: tuple[Fact, ...] = ()
    rows: tuple[Any, ...] = field(default=())


@study_page(VIEWER)
def live(request: HttpRequest, study: Study) -> HttpResponse:
    """The page; asked by htmx, its three answers alone, and nothing where nothing has changed."""
    still = "still" in request.GET
    context = answers(study) | {"study": study, "live": study.state == Study.State.LIVE and not still}
    part = render_to_string("admin/annotator/study_pages/_live.html", context)
    mark = sha256(part.encode()).hexdigest()[:16]
    if request.headers.get("HX-Request"):
        if request.GET.get("seen") == mark:
            return HttpResponse(status=204)
        return HttpResponse(_framed(context, part, mark))
    return render(
        request, study, "live", tab="live", title=f"Live: {study.title}", part=_framed(context, part, mark),
        still=still, agreement_url=address_of("evaluation:live_agreement", study.pk), running=study.state == "live",
    )  # fmt: skip


def _framed(context: dict[str, Any], part: str, mark: str) -> str:
    return render_to_string(
        "admin/annotator/study_pages/_live_frame.html", context | {"part": part, "mark": mark}
    )


def answers(study: Study) -> dict[str, Any]:
    """The three answers of a study as it is now."""
    found, progress = study_live(study), study_progress(study)
    rows = reverse("admin:study_judgments", args=[study.pk])
    return {
        "going": Answer(
            "going",
            "Is it going well?",
            going_words(study, found),
            going_facts(study, found, progress, rows),
            tuple(
                {"label": one.name or ("Without a condition" if len(found.conditions) > 1 else "All items"),
                 "done": one.share, "held": one.held_share, "words": _strip_words(one),
                 "url": f"{rows}?{urlencode({'condition': one.name})}" if one.name else rows}
                for one in found.conditions
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
            "needs", "What needs me?", needs_words(found), needs_facts(study, found, progress), found.latest
        ),
        "flagged": [
            {"rater": one, "url": f"{rows}?{urlencode({'rater': one.name})}",
             "exclude_url": reverse("admin:study_exclude_rater", args=[study.pk, one.pk])}
            for one in found.flagged
        ],
    }  # fmt: skip


def _strip_words(one: Condition) -> str:
    return f"{intcomma(one.done)} of {intcomma(one.places)}" + (
        f", {intcomma(one.held)} in hand" if one.held else ""
    )


def money(amount: Any, study: Study) -> str:
    return f"{amount:,.2f} {study.currency}"


def going_words(study: Study, live: Live) -> str:
    """Whether it goes well, in one or two sentences."""
    if study.state == Study.State.DRAFT:
        return "It has not been launched."
    if not live.places:
        return "It has no places: judgments come from elsewhere."
    if live.done == live.places:
        return f"It is done: all {intcomma(live.places)} places are filled, for {money(live.spent, study)}."
    share = f"{100 * live.done // live.places} % is done"
    if study.state in (Study.State.PAUSED, Study.State.CLOSED):
        return f"It is {study.state}: {share}, and nothing more is given out."
    if not live.done:
        return f"Nobody has submitted anything yet; {intcomma(live.held)} in hand."
    if live.pace.stalled and live.pace.last_at:
        return f"It stands still: {share}, and nothing has come for {timesince(live.pace.last_at, depth=1)}."
    end = live.pace.end(live.places - live.done)
    words = f"{share}; it is too early to say when it will end."
    if end:
        words = f"Yes: {share}, the rest by {timezone.localtime(end):%A %-d %B, %H:%M} at this pace."
    return words + _lagging(live)


def _lagging(live: Live) -> str:
    """The condition that is far behind the first, if one is: nothing is compared before both are complete."""
    ordered = sorted(live.conditions, key=lambda one: one.share)
    if len(ordered) > 1 and ordered[-1].share - ordered[0].share > 0.2:
        return f" “{ordered[0].name or 'Without a condition'}” lags behind."
    return ""


def going_facts(study: Study, live: Live, progress: Progress, rows: str) -> tuple[Fact, ...]:
    left = live.places - live.done
    pace = f"{live.pace.per_hour:,.1f} an hour" if live.pace.per_hour else "not known yet"
    since = f"over the last {timesince(timezone.now() - live.pace.since, depth=1)}" if live.pace.since else ""
    people = reverse("admin:annotator_participation_changelist") + f"?study__id__exact={study.pk}"
    return (
        Fact(
            "Done",
            f"{intcomma(live.done)} of {intcomma(live.places)}",
            f"{intcomma(live.held)} in hand",
            rows,
        ),
        Fact("Pace", pace, since if live.pace.per_hour else "after five judgments", rows),
        Fact(
            "Cost so far",
            money(live.spent, study),
            f"{money(live.whole, study)} once all is done",
            reverse("admin:annotator_ledgerentry_changelist") + f"?study__id__exact={study.pk}",
        ),
        Fact("People", intcomma(progress.people), f"{intcomma(left)} places left for them", people),
    )


def trust_words(live: Live, progress: Progress, study: Study) -> str:
    """What speaks against the judgments, or that nothing does."""
    if not live.raters:
        return "There is too little to say: nobody has left five judgments."
    words = "Nothing speaks against it: nobody stands out."
    if live.flagged:
        n = len(live.flagged)
        words = f"{n} of {live.raters} raters stand{'s' if n == 1 else ''} out. Look before you count them."
    if progress.fast:
        words += f" {intcomma(progress.fast)} judgment{'s' if progress.fast > 1 else ''} took under {study.min_seconds:g} s."
    return words


def trust_facts(study: Study, live: Live, progress: Progress, rows: str) -> tuple[Fact, ...]:
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
            money(per_hour, study) if per_hour else "not known yet",
            f"on the median; the floor is {money(floor, study)}" if floor else "on the median",
            raters,
            alarm=per_hour is not None and per_hour < floor,
        ),
        Fact(
            "Excluded",
            intcomma(progress.excluded),
            "reversible; reports show both",
            reverse("admin:study_exclusions", args=[study.pk]),
        ),
        Fact("Came late", intcomma(live.late), "kept, paid, not counted", f"{rows}?standing=surplus"),
    )


def bars(times: tuple[Bin, ...], rows: str) -> tuple[Bar, ...]:
    """The times as bars, each with the address of its judgments."""
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
    """Seconds as people say them.

    >>> _span(40), _span(160), _span(5)
    ('40 s', '2:40 min', '5 s')
    """
    if seconds < 60:
        return f"{seconds:g} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def needs_words(live: Live) -> str:
    """What waits for a person, most urgent first; or that nothing does."""
    parts = []
    for kind in (Message.Kind.DELETION, Message.Kind.QUESTION, Message.Kind.FLAG):
        if n := live.open.get(kind, 0):
            parts.append(f"{n} {MESSAGES[kind][n > 1]}")
    if n := len(live.flagged):
        parts.append(f"{n} rater{'s' if n > 1 else ''} to look at")
    if not parts:
        return "Nothing waits for you."
    return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1] + "."


def needs_facts(study: Study, live: Live, progress: Progress) -> tuple[Fact, ...]:
    messages = (
        reverse("admin:annotator_message_changelist") + f"?study__id__exact={study.pk}&settled_at__isempty=1"
    )
    return (
        *(
            Fact(Message.Kind(kind).label.capitalize(), intcomma(live.open.get(kind, 0)), "not settled",
                 f"{messages}&kind__exact={kind}")
            for kind in (Message.Kind.QUESTION, Message.Kind.FLAG, Message.Kind.DELETION)
        ),
        Fact("Raters to look at", intcomma(len(live.flagged)), "", reverse("admin:study_raters", args=[study.pk])),
    )  # fmt: skip
