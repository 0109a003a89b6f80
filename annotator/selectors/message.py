"""Messages between participants and researchers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from annotator.models import Judgment, Message, MessageTemplate, Participation, Rater, Study
from annotator.recruitment.panel import Panel
from annotator.selectors.panel import panel_studies

#: At most this many messages of a thread are shown, the latest.
MOST_SHOWN = 100


def replies_unread(*, rater_id: int) -> list[Message]:
    """Researchers' replies to a participant who has not read them yet, oldest first; at most three."""
    unread = Message.objects.filter(rater_id=rater_id, kind=Message.Kind.REPLY, read_at=None)
    return list(unread.select_related("study").order_by("created_at")[:3])


@dataclass(frozen=True)
class Thread:
    """What one participant and the researchers of a study have written to each other, oldest first. ``waiting`` are the
    messages that aren't settled; ``shown`` at most the latest ``MOST_SHOWN`` messages.
    """

    study: Study
    rater: Rater
    waiting: int
    shown: tuple[Message, ...]

    @property
    def hidden(self) -> bool:
        return len(self.shown) == MOST_SHOWN


def message_waits(prefix: str = "") -> Q:
    """Messages that a researcher has yet to answer or settle."""
    return Q(**{f"{prefix}settled_at__isnull": True}) & ~Q(**{f"{prefix}kind": Message.Kind.REPLY})


def threads_of(
    studies: QuerySet[Study],
    *,
    everything: bool = False,
    kind: str = "",
    query: str = "",
    rater: int | None = None,
    limit: int = 20,
    offset: int = 0,
) -> list[Thread]:
    """The threads of these studies in which somebody waits (or ``everything``), the longest wait first; then the latest.

    ``kind`` keeps threads with a waiting message of this kind, ``query`` those with the words in a message or in the
    participant's name. Three queries, whatever their number.
    """
    found = Message.objects.filter(study__in=studies)
    if rater is not None:
        found = found.filter(rater=rater)
    if query:
        named = Message.objects.filter(Q(text__icontains=query) | Q(rater__name__icontains=query))
        found = found.filter(
            Exists(named.filter(study=OuterRef("study"), rater=OuterRef("rater"), study__in=studies))
        )
    wanted = message_waits() & (Q(kind=kind) if kind else Q())
    groups = (
        found.order_by()
        .values("study", "rater")
        .annotate(
            waiting=Count("id", filter=message_waits()),
            wanted=Count("id", filter=wanted),
            since=Min("created_at", filter=message_waits()),
            latest=Max("created_at"),
        )
    )
    if kind or not everything:
        groups = groups.filter(wanted__gt=0)
    rows = list(groups.order_by(F("since").asc(nulls_last=True), "-latest", "rater")[offset : offset + limit])
    pairs = {(row["study"], row["rater"]): row["waiting"] for row in rows}
    written: dict[tuple[int, int], list[Message]] = {pair: [] for pair in pairs}
    ranked = Message.objects.filter(
        study__in={study for study, _ in pairs}, rater__in={rater for _, rater in pairs}
    ).annotate(
        place=Window(RowNumber(), partition_by=["study", "rater"], order_by=["-created_at", "-id"]),
    )
    for one in ranked.filter(place__lte=MOST_SHOWN).select_related("study", "rater", "item", "author"):
        if (one.study_id, one.rater_id) in written:
            written[one.study_id, one.rater_id].append(one)
    return [
        Thread(messages[0].study, messages[0].rater, pairs[pair], tuple(sorted(messages, key=_order)))
        for pair, messages in written.items()
        if messages
    ]


def _order(message: Message) -> tuple[datetime, int]:
    return message.created_at, message.pk


def messages_of(study: Study, *, waiting: bool = False) -> QuerySet[Message]:
    """A study's messages by id, with who and what they are about."""
    found = study.messages.select_related("rater", "item", "author").order_by("id")
    return found.filter(message_waits()) if waiting else found


#: Who a message can go to besides people who were selected: name -> words.
AUDIENCES = {
    "unanswered": "everyone who has joined and submitted no task",
    "unfinished": "everyone who has begun and not finished",
    "everyone": "everyone who has joined",
}
#: Texts to begin with; a workspace's own templates come first.
TEMPLATES = (
    ("Reminder", "You joined our study but haven't submitted a task yet. There are still tasks for you. If something keeps you from it, write to us."),
    ("Please finish", "You have begun our study. Tasks are still waiting for you; what you have submitted is saved. If you don't want to continue, you can leave on your page."),
    ("Question about your answers", "We have read your answers and have a question about them. Could you tell us how you decided?"),
    ("Thank you", "Thank you for your careful work. We have accepted it."),
)  # fmt: skip


def audience_of(study: Study, name: str) -> list[int]:
    """The ids of the raters of one of ``AUDIENCES``, in the order in which they joined; people who left or were removed aren't
    reminded of anything."""
    # An erased person has no account any more.
    found = study.participations.filter(rater__rehearsal=False, rater__user__isnull=False).order_by("pk")
    judged = Judgment.objects.filter(study=study, rater=OuterRef("rater"))
    active = found.filter(state=Participation.State.ACTIVE, finished_at=None)
    if name == "unanswered":
        found = active.filter(~Exists(judged))
    elif name == "unfinished":
        found = active.filter(Exists(judged))
    return list(found.values_list("rater", flat=True))


def templates_of(study: Study) -> list[MessageTemplate]:
    """The templates of the study's workspace, by title."""
    if study.workspace_id is None:
        return []
    return list(MessageTemplate.objects.filter(workspace=study.workspace_id))


def participation_remote_study(study: Study, panel: Panel, participation: Participation) -> str:
    """The panel's study that somebody came from; empty if it isn't known."""
    kept = str(participation.join_parameters.get(panel.panel_study, ""))
    ids = panel_studies(study)
    return kept if kept in ids else next(iter(ids)) if len(ids) == 1 else ""
