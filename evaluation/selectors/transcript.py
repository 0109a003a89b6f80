"""Requests and replies in readable form: of one call, of the calls of a run, and of two runs compared item by item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Q, QuerySet

from annotator.hit_types.base import JSON, HitType, answers_in_words
from annotator.hit_types.images import ImageText, images_by_digest, parts_of
from annotator.hit_types.registry import hit_type_get
from annotator.models import Item
from evaluation.models import Call, Run
from evaluation.providers.base import content_text

State = Call.State
#: Outcome -> (its name on the page, the calls that have it).
OUTCOMES: dict[str, tuple[str, Q]] = {
    "all": ("All", Q()),
    "done": ("Read", Q(state=State.DONE)),
    "again": ("Asked again", ~Q(history=[])),
    "unparsable": ("Unparsable", Q(state=State.UNPARSABLE)),
    "failed": ("Failed", Q(state=State.FAILED)),
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


def calls_with(*, run: Run, outcome: str) -> QuerySet[Call]:
    """The calls of a run with an outcome (see ``OUTCOMES``), in order; all for an unknown one."""
    return Call.objects.filter(OUTCOMES.get(outcome, OUTCOMES["all"])[1], run=run).order_by("pk")


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
        tuple(_attempts(call, images_by_digest(item.payload) if item else {})),
        tuple(answers),
    )


def _attempts(call: Call, images: Mapping[str, ImageText]) -> Iterable[Attempt]:
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
            thoughts=_thoughts(one.get("reply")),
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


def _thoughts(reply: Any) -> str:
    """The model's reasoning, from the place where its protocol puts it."""
    if not isinstance(reply, dict):
        return ""
    choices, blocks, candidates = (reply.get(name) for name in ("choices", "content", "candidates"))
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message")
        found = message if isinstance(message, dict) else {}
        return str(found.get("reasoning_content") or found.get("reasoning") or "")
    if isinstance(blocks, list):
        return "".join(str(one.get("thinking") or "") for one in blocks if isinstance(one, dict))
    if isinstance(candidates, list) and candidates and isinstance(candidates[0], dict):
        content = candidates[0].get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        listed = parts if isinstance(parts, list) else []
        return "".join(str(p.get("text") or "") for p in listed if isinstance(p, dict) and p.get("thought"))
    return ""


def _plain(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _kind(run: Run) -> HitType | None:
    if run.study is None:
        return None
    try:
        return hit_type_get(run.study.hit_type)
    except KeyError:
        return None


# -- two runs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """The last-stage results of two runs for one item and sample, in words; None if a run has none."""

    key: str
    sample: int
    first: tuple[tuple[str, str], ...] | None
    second: tuple[tuple[str, str], ...] | None
    calls: tuple[int, int]

    @property
    def same(self) -> bool:
        return self.first == self.second


@dataclass(frozen=True)
class RunComparison:
    """Two runs item by item. ``both`` items have a result in both; ``agreeing`` of them have the same one."""

    both: int
    agreeing: int
    only_first: int
    only_second: int
    differences: list[Difference] = field(default_factory=list)

    @property
    def share(self) -> float | None:
        """The share of items with the same result, among those with both, in [0, 1]; None if there are none."""
        return self.agreeing / self.both if self.both else None


def runs_compare(*, first: Run, second: Run, most: int = 200) -> RunComparison:
    """Compare two runs' results for the same items, in three queries; ``differences`` has at most ``most`` of them."""
    found = [_results(run) for run in (first, second)]
    pks = {row[0] for results in found for row in results.values() if row[0]}
    payloads = dict(Item.objects.filter(pk__in=pks).values_list("pk", "payload"))
    keys = list(dict.fromkeys([*found[0], *found[1]]))
    both = [key for key in keys if key in found[0] and key in found[1]]
    agreeing = 0
    differences: list[Difference] = []
    for key in both:
        said = [
            _in_words(run, results[key], payloads)
            for run, results in zip((first, second), found, strict=True)
        ]
        if said[0] == said[1]:
            agreeing += 1
        elif len(differences) < most:
            pair = (found[0][key][3], found[1][key][3])
            differences.append(Difference(key[0], key[1], said[0], said[1], pair))
    return RunComparison(
        len(both), agreeing, len(found[0]) - len(both), len(found[1]) - len(both), differences
    )


def _results(run: Run) -> dict[tuple[str, int], tuple[Any, ...]]:
    """(key, sample) -> (item, context, result of all stages, call), for calls whose last stage is done."""
    rows = Call.objects.filter(run=run, state=State.DONE, parsed__isnull=False).order_by("stage", "pk")
    values = rows.values_list("key", "sample", "item_id", "stage", "context", "parsed", "pk")
    return {
        (key, sample): (item, context, context.get("before", {}) | parsed, pk)
        for key, sample, item, _, context, parsed, pk in values.iterator(2000)
    }


def _in_words(run: Run, result: tuple[Any, ...], payloads: dict[int, JSON]) -> tuple[tuple[str, str], ...]:
    item, context, parsed, _ = result
    kind = _kind(run)
    if kind is None or item not in payloads:
        return tuple((name, _plain(value)) for name, value in parsed.items())
    return tuple(answers_in_words(kind.stages(payloads[item], context.get("presentation")), parsed))
