"""A dry run: what a run would ask, and about what it would cost, without asking."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from django.core.exceptions import ValidationError

from evaluation.models import Call, Run
from evaluation.pipelines.registry import step_get
from evaluation.pipelines.step import Asked, Step
from evaluation.runs.claim import build
from evaluation.runs.request import Prices, most_tokens

#: Calls that are really built; the rest is taken to be like them.
SAMPLE = 200
#: Bytes of English text in a token, about.
BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Estimate:
    """Calls, and tokens and cost of them all: ``likely`` by rule of thumb, ``most`` what they can reach at worst.

    Counts first attempts of first stages; later stages of a staged HIT and repeats come on top (``stages``
    says of how many stages the longest item consists).
    """

    calls: int
    tokens_in: int
    tokens_out: int
    likely: Decimal
    most: Decimal
    stages: int = 1
    first_prompt: str = ""
    #: What the shown request is about, and the JSON schema that its reply would be held to.
    first_key: str = ""
    schema: str = ""


def run_estimate(*, run: Run, key: str = "") -> Estimate:
    """Look at what the run still has to ask; nothing is sent and nothing changes.

    ``key``: the item whose request is shown; the first one without. Raises ``ValidationError`` (preview_item)
    where it is not to be asked about.
    """
    step: Step = step_get(run.kind)
    pending = Call.objects.filter(run=run, state=Call.State.PENDING)
    calls = pending.count()
    endpoint = run.endpoint
    looked_at = list(islice(pending.order_by("pk"), SAMPLE))
    if key:
        wanted = pending.filter(key=key).order_by("pk").first()
        if wanted is None:
            raise ValidationError({"preview_item": f"nothing would be asked about {key!r}"})
        looked_at = [wanted, *(call for call in looked_at if call.pk != wanted.pk)]
    rows = [
        Asked(c.pk, c.key, c.item_id, c.subject, c.sample, c.stage, c.context, 0, 0, 0) for c in looked_at
    ]
    things = step.load(run, rows)
    requests = [
        build(run, endpoint, step, Asked(**{**vars(row), "thing": things.get(row.id)})) for row in rows
    ]
    if not requests:
        return Estimate(0, 0, 0, Decimal(0), Decimal(0))
    sizes = [most_tokens(request) for request in requests]
    share = calls / len(sizes)
    most_in, most_out = sum(size[0] for size in sizes) * share, sum(size[1] for size in sizes) * share
    tokens_in, tokens_out = int(most_in / BYTES_PER_TOKEN), int(most_out / 4)
    prices = Prices(endpoint.price_in, endpoint.price_out)
    return Estimate(
        calls=calls,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        likely=prices.cost(tokens_in, tokens_out),
        most=prices.cost(int(most_in), int(most_out)),
        stages=max(step.stages(run, row, things.get(row.id)) for row in rows),
        first_prompt="\n\n".join(f"[{m['role']}]\n{m['content']}" for m in requests[0].messages),
        first_key=rows[0].key,
        schema=json.dumps(requests[0].schema, indent=1, ensure_ascii=False) if requests[0].schema else "",
    )
