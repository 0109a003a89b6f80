"""Estimate the calls and cost of a run, without sending anything."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from decimal import Decimal

from django.core.exceptions import ValidationError

from evaluation.models import Call, Run
from evaluation.runs.claim import build
from evaluation.runs.create import all_jobs
from evaluation.runs.registry import step_get
from evaluation.runs.request import Prices, most_tokens
from evaluation.runs.step import ClaimedCall, Step

#: Calls whose requests are built; the others are assumed to be like them.
SAMPLE = 200
#: Average number of bytes of English text in a token.
BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class CostEstimate:
    """Number of calls, with their tokens and cost: ``likely`` by a rule of thumb, ``most`` as an upper bound.

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
    tokens_in, tokens_out = int(most_in / BYTES_PER_TOKEN), int(most_out / 4)
    prices = Prices.of(endpoint)
    return CostEstimate(
        calls=total,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        likely=prices.cost(tokens_in, tokens_out),
        most=prices.cost(int(most_in), int(most_out)),
        stages=max(step.stages(run, row, row.thing) for row in rows),
        first_prompt="\n\n".join(f"[{m['role']}]\n{m['content']}" for m in requests[0].messages),
        first_key=rows[0].key,
        schema=json.dumps(requests[0].schema, indent=1, ensure_ascii=False) if requests[0].schema else "",
    )


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
