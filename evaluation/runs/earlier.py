"""How long a model's earlier replies were: the basis of a likely cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean, quantiles

from evaluation.models import Call, Endpoint, Run
from evaluation.runs.request import Prices

#: The latest runs of the same model and step, and the latest of their replies, that are looked at; and at least how many.
RUNS, REPLIES, LEAST = 5, 200, 5


@dataclass(frozen=True)
class EarlierReplies:
    """Tokens of the latest replies of one model in one kind of step. ``shortest`` and ``longest``: a tenth of the replies are
    shorter, and a tenth are longer, in tokens."""

    count: int
    tokens_in: float
    tokens_out: float
    shortest: float
    longest: float

    def cost(self, prices: Prices, calls: int) -> tuple[Decimal, Decimal, Decimal]:
        """What this many calls cost: likely, and if all replies are as short or as long as a tenth of the earlier ones."""
        likely, low, high = (
            prices.cost(round(self.tokens_in * calls), round(out * calls))
            for out in (self.tokens_out, self.shortest, self.longest)
        )
        return likely, low, high


def earlier_replies(*, kind: str, model: str, endpoint: Endpoint) -> EarlierReplies | None:
    """The latest replies that an endpoint's model gave in runs of this kind; None if there are fewer than ``LEAST``."""
    runs = Run.objects.filter(endpoint=endpoint, model=model, kind=kind, together=1).order_by("-pk")[:RUNS]
    rows = list(
        Call.objects.filter(run__in=list(runs), from_cache=False, tokens_in__gt=0, tokens_out__isnull=False)
        .order_by("-pk")
        .values_list("tokens_in", "tokens_out")[:REPLIES]
    )
    if len(rows) < LEAST:
        return None
    out = [float(tokens or 0) for _, tokens in rows]
    tenths = quantiles(out, n=10, method="inclusive")
    return EarlierReplies(
        len(rows), fmean(tokens or 0 for tokens, _ in rows), fmean(out), tenths[0], tenths[-1]
    )
