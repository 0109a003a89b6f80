"""Requests and replies in readable form: of one call, and of the calls of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Min, Q, QuerySet

from annotator.hit_types.base import JSON, HitType, answers_in_words
from annotator.hit_types.images import ImageText, images_by_digest, parts_of
from annotator.models import Item
from annotator.selectors.study import known_hit_type
from evaluation.models import Call, Run
from evaluation.providers.base import content_text
from evaluation.providers.registry import PROVIDERS

State = Call.State
#: Outcome -> (its name on the page, the calls that have it).
OUTCOMES: dict[str, tuple[str, Q]] = {
    "all": ("All", Q()),
    "done": ("Read", Q(state=State.DONE)),
    "again": ("Asked again", ~Q(history=[])),
    "unparsable": ("Unparsable", Q(state=State.UNPARSABLE)),
    "failed": ("Failed", Q(state=State.FAILED)),
    "held": ("Failed, to be sent again", Q(state=State.PENDING, attempts__gt=0) & ~Q(error_kind="")),
    "flagged": ("Flagged", ~Q(flags=[])),
    "cached": ("From the cache", Q(from_cache=True)),
    "open": ("Not answered yet", Q(state__in=[State.PENDING, State.IN_FLIGHT])),
}
#: Calls on one page.
ON_A_PAGE = 20


@dataclass(frozen=True)
class ShownMessage:
    """One message of a chat, in parts: texts, and the images that were sent."""

    role: str
    parts: tuple[str | ImageText, ...]


@dataclass(frozen=True)
class Attempt:
    """One request and its reply. The first ``repeated`` messages are the same as in the previous attempt and left out."""

    number: int
    chat: tuple[ShownMessage, ...]
    repeated: int
    reply: str
    thoughts: str
    problem: str
    model: str
    tokens_in: int | None
    tokens_out: int | None
    cost: Decimal
    seconds: float | None


@dataclass(frozen=True)
class CallShown:
    """One call: the item, every attempt that had a reply, and the answers that were read from the last one."""

    call: Call
    item: tuple[tuple[str, str], ...]
    attempts: tuple[Attempt, ...]
    answers: tuple[tuple[str, str], ...]


def calls_with(
    *,
    run: Run,
    outcome: str,
    text: str = "",
    failure: str = "",
    answer: str = "",
    among: Collection[int] | None = None,
) -> QuerySet[Call]:
    """The calls of a run with an outcome (see ``OUTCOMES``), in order; all for an unknown one.

    ``text``: only those whose key, reply or error contains it, in any case. ``failure``: only those that failed in this way.
    ``answer``: only those with one of ``answers_of``. ``among``: only those with these primary keys.
    """
    calls = Call.objects.filter(OUTCOMES.get(outcome, OUTCOMES["all"])[1], run=run)
    if text := text.replace("\x00", "").strip():
        found = Q(key__icontains=text) | Q(text__icontains=text) | Q(error__icontains=text)
        calls = calls.filter(found)
    if failure:
        calls = calls.filter(error_kind=failure, state__in=[State.FAILED, State.UNPARSABLE])
    if answer:
        name, _, value = answer.partition(":")
        calls = calls.filter(Q(parsed__contains={name: value}) | Q(parsed__contains={name: [value]}))
    if among is not None:
        calls = calls.filter(pk__in=among)
    return calls.order_by("pk")


def answers_of(*, run: Run) -> list[tuple[str, str]]:
    """(FIELD:VALUE, in words) of each answer that could be chosen about the study's first item; none for other steps."""
    kind = _kind(run)
    item = Item.objects.filter(study=run.study_id).order_by("pk").first() if run.study_id else None
    if kind is None or item is None:
        return []
    return [
        (f"{asked.name}:{option.value}", f"{asked.label} {option.label}")
        for stage in kind.stages(item.payload)
        for asked in stage.fields
        for option in asked.options
    ]


def failures_of(*, run: Run) -> list[tuple[str, int, Call]]:
    """(kind, how many, the first of them) of the calls of a run that have failed, the most frequent kind first."""
    failed = Call.objects.filter(run=run, state__in=[State.FAILED, State.UNPARSABLE]).order_by()
    rows = (
        failed.values_list("error_kind").annotate(n=Count("pk"), first=Min("pk")).order_by("-n", "error_kind")
    )
    counts = list(rows)
    examples = Call.objects.defer("request", "reply").in_bulk([first for _, _, first in counts])
    return [(kind, n, examples[first]) for kind, n, first in counts]


def calls_shown(*, run: Run, calls: Sequence[Call]) -> list[CallShown]:
    """Calls of one run in readable form; one query."""
    items = Item.objects.in_bulk({call.item_id for call in calls if call.item_id is not None})
    return [_shown(run, call, items.get(call.item_id or 0)) for call in calls]


def _shown(run: Run, call: Call, item: Item | None) -> CallShown:
    kind = _kind(run)
    shown: list[tuple[str, str]] = []
    answers: list[tuple[str, str]] = []
    if item is not None and kind is not None:
        stages = kind.stages(item.payload, call.context.get("presentation"))
        stage = stages[min(call.stage, len(stages) - 1)]
        shown = [(block.label, block.text or "\n".join(block.items)) for block in stage.blocks]
        answers = answers_in_words([stage], call.parsed or {})
    elif call.parsed:
        answers = [(name, _plain(value)) for name, value in call.parsed.items()]
    return CallShown(
        call,
        tuple(shown),
        tuple(_attempts(run, call, images_by_digest(item.payload) if item else {})),
        tuple(answers),
    )


def _attempts(run: Run, call: Call, images: Mapping[str, ImageText]) -> Iterable[Attempt]:
    last: JSON = {
        "request": call.request,
        "reply": call.reply,
        "text": call.text,
        "error": call.error,
        "error_kind": call.error_kind,
        "model_returned": call.model_returned,
        "tokens_in": call.tokens_in,
        "tokens_out": call.tokens_out,
        "cost": call.cost - sum((Decimal(str(one.get("cost") or 0)) for one in call.history), Decimal(0)),
        "seconds": call.seconds,
    }
    attempts = [*call.history, *([last] if call.text or call.reply or not call.history else [])]
    before: tuple[ShownMessage, ...] = ()
    for number, one in enumerate(attempts, 1):
        chat = _chat(one.get("request"), images)
        repeated = len(before) if before and chat[: len(before)] == before else 0
        yield Attempt(
            number=number,
            chat=chat[repeated:],
            repeated=repeated,
            reply=str(one.get("text") or ""),
            thoughts=thoughts_of(run, one.get("reply")),
            problem=": ".join(filter(None, (str(one.get("error_kind") or ""), str(one.get("error") or "")))),
            model=str(one.get("model_returned") or ""),
            tokens_in=one.get("tokens_in"),
            tokens_out=one.get("tokens_out"),
            cost=Decimal(str(one.get("cost") or 0)),
            seconds=one.get("seconds"),
        )
        before = chat


def _chat(request: Any, images: Mapping[str, ImageText]) -> tuple[ShownMessage, ...]:
    messages = request.get("messages") if isinstance(request, dict) else None
    found = messages if isinstance(messages, list) else []
    return tuple(
        ShownMessage(str(one.get("role")), tuple(parts_of(content_text(one.get("content")), images)))
        for one in found
    )


def thoughts_of(run: Run, reply: Any) -> str:
    """The model's reasoning, from the place where its provider puts it; empty if the provider isn't installed any more."""
    name = run.endpoint.protocol
    return PROVIDERS.get(name).reasoning(reply) if isinstance(reply, dict) and name in PROVIDERS else ""


def _plain(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _kind(run: Run) -> HitType | None:
    return known_hit_type(run.study) if run.study else None
