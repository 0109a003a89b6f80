"""Estimate the calls and cost of a run, without sending anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from django.core.exceptions import ValidationError

from evaluation.models import Call, Run
from evaluation.providers.base import ChatRequest
from evaluation.runs.claim import build
from evaluation.runs.create import all_jobs
from evaluation.runs.earlier import earlier_replies
from evaluation.runs.registry import step_get
from evaluation.runs.request import BYTES_PER_TOKEN, LIKELY_REPLY, Prices, most_tokens
from evaluation.runs.step import ClaimedCall, Step
from evaluation.runs.tokens import prompt_tokens

#: Calls whose requests are built; the others are assumed to be like them.
SAMPLE = 200
#: Bytes per token are estimated from the latest replies of the latest runs, at least this many.
LATEST_RUNS, LEARN_FROM, LEAST_REPLIES = 5, 100, 5


@dataclass(frozen=True)
class CostEstimate:
    """Number of calls, with their tokens and cost: ``likely``, and ``most`` as an upper bound.

    Likely input tokens are counted with the model's vocabulary where it is at hand (``evaluation.runs.tokens``), otherwise
    estimated from the bytes of the prompts: as many in a token as in the model's latest replies, or four.

    Likely output tokens are those of the model's latest replies to the same kind of step (``evaluation.runs.earlier``): ``low``
    and ``high`` are the cost if all replies are as short or as long as a tenth of these, and ``earlier`` is how many there were.
    Without earlier replies, a reply is assumed to have ``LIKELY_REPLY`` tokens, and there is no range.

    Covers the first attempt at the first stage of each item. Later stages and retries are extra; ``stages`` is
    the number of stages of the longest item.
    """

    calls: int
    tokens_in: int
    tokens_out: int
    likely: Decimal
    most: Decimal
    stages: int = 1
    first_prompt: str = ""
    #: The item that ``first_prompt`` asks about, and the JSON schema sent with it, if any.
    first_key: str = ""
    schema: str = ""
    low: Decimal | None = None
    high: Decimal | None = None
    earlier: int = 0


def run_estimate(*, run: Run, key: str = "") -> CostEstimate:
    """Estimate what the run still has to send, or what a draft would send; nothing is sent or written.

    ``key``: the item whose request is shown; the first one if empty. Raises ``ValidationError`` (preview_item) if the
    run has no call about it.
    """
    step: Step = step_get(run.kind)
    total, rows = _saved_calls(run, key) if run.pk else _draft_calls(run, step, key)
    if key and not (rows and rows[0].key == key):
        raise ValidationError({"preview_item": f"There is nothing to ask about {key!r}. Give an item's key."})
    things = step.load(run, rows)
    rows = [replace(row, thing=things.get(row.id)) for row in rows]
    endpoint = run.endpoint
    requests = [build(run, endpoint, step, row) for row in rows]
    if not requests:
        return CostEstimate(0, 0, 0, Decimal(0), Decimal(0))
    sizes = [most_tokens(request) for request in requests]
    share = total / len(sizes)
    most_in, most_out = sum(size[0] for size in sizes) * share, sum(size[1] for size in sizes) * share
    tokens_in, tokens_out = int(_likely_in(run, requests) * share), int(min(most_out, LIKELY_REPLY * total))
    prices, low, high = Prices.of(endpoint), None, None
    earlier = earlier_replies(kind=run.kind, model=run.model, endpoint=endpoint) if endpoint.pk else None
    if earlier is not None:
        tokens_out = int(min(most_out, earlier.tokens_out * total))
        low = prices.cost(tokens_in, int(min(most_out, earlier.shortest * total)))
        high = prices.cost(tokens_in, int(min(most_out, earlier.longest * total)))
    return CostEstimate(
        calls=total,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        likely=prices.cost(tokens_in, tokens_out),
        most=prices.cost(int(most_in), int(most_out)),
        low=low,
        high=high,
        earlier=earlier.count if earlier else 0,
        stages=max(step.stages(run, row, row.thing) for row in rows),
        first_prompt="\n\n".join(f"[{m['role']}]\n{m['content']}" for m in requests[0].messages),
        first_key=rows[0].key,
        schema=json.dumps(requests[0].schema, indent=1, ensure_ascii=False) if requests[0].schema else "",
    )


def _likely_in(run: Run, requests: Sequence[ChatRequest]) -> float:
    """The likely number of input tokens of all ``requests`` together."""
    counted = [prompt_tokens(request) for request in requests]
    known = [tokens for tokens in counted if tokens is not None]
    if len(known) == len(requests):
        return sum(known)
    return sum(most_tokens(request)[0] for request in requests) / bytes_per_token(run)


def bytes_per_token(run: Run) -> float:
    """Bytes of prompt in a token, by what the run's endpoint counted for the same model; four if it hasn't yet."""
    runs = Run.objects.filter(endpoint=run.endpoint, model=run.model, together=1).order_by("-pk")[
        :LATEST_RUNS
    ]
    rows = (
        Call.objects.filter(run__in=list(runs), from_cache=False, tokens_in__gt=0)
        .order_by("-pk")
        .values_list("request", "tokens_in")[:LEARN_FROM]
    )
    replies = [
        (most_tokens(ChatRequest.of_body(body))[0], tokens) for body, tokens in rows if body and tokens
    ]
    if len(replies) < LEAST_REPLIES:
        return BYTES_PER_TOKEN
    return sum(size for size, _ in replies) / sum(tokens for _, tokens in replies)


def _saved_calls(run: Run, key: str) -> tuple[int, list[ClaimedCall]]:
    """How many calls are pending, and some of them; those about ``key`` come first."""
    pending = Call.objects.filter(run=run, state=Call.State.PENDING)
    wanted = list(pending.filter(key=key).order_by("pk")[:1]) if key else []
    others = [call for call in pending.order_by("pk")[:SAMPLE] if call not in wanted]
    return pending.count(), [ClaimedCall.of_row(call) for call in (*wanted, *others)]


def _draft_calls(run: Run, step: Step, key: str) -> tuple[int, list[ClaimedCall]]:
    """The same for an unsaved run."""
    total = 0
    wanted: list[ClaimedCall] = []
    others: list[ClaimedCall] = []
    for job in all_jobs(run, step):
        total += 1
        if key and job.key == key and not wanted:
            wanted.append(ClaimedCall.of_job(job, total))
        elif len(others) < SAMPLE:
            others.append(ClaimedCall.of_job(job, total))
    return total, wanted + others
