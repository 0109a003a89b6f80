"""What the steps of a pipeline may cost, and what its fine-tuning jobs have cost."""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from typing import Any

from django.db.models import Sum

from evaluation.models import FineTuning, Pipeline
from evaluation.pipelines.endpoints import ALL_STEPS


def tuning_spent(pipeline: Pipeline) -> Decimal:
    """What the pipeline's finished fine-tuning jobs have cost, plus the most that others may cost, those being cancelled
    included."""
    rows = FineTuning.objects.filter(pipeline=pipeline)
    done = rows.exclude(state__in=FineTuning.UNDECIDED).aggregate(total=Sum("cost"))["total"] or Decimal(0)
    return done + (
        rows.filter(state__in=FineTuning.UNDECIDED).aggregate(total=Sum("most_cost"))["total"] or Decimal(0)
    )


def step_budget(pipeline: Pipeline, own: Any) -> Decimal | None:
    """The most that a step's run may cost: its own budget, or what is left of the pipeline's if that is less."""
    whole, left = pipeline.overrides.get(ALL_STEPS, {}).get("budget"), None
    if whole is not None:
        used = sum((run.spent_cost + run.lost_cost for run in pipeline.runs.all()), tuning_spent(pipeline))
        left = max(Decimal(str(whole)) - used, Decimal(0))
    return smaller_budget(own, left)


def smaller_budget(own: Any, left: Decimal | None) -> Decimal | None:
    """A step's own budget or what is left of its pipeline's, whichever is less; None if there is neither.

    >>> smaller_budget("2.50", Decimal(1)), smaller_budget(3, None), smaller_budget(None, None)
    (Decimal('1.000000'), Decimal('3.000000'), None)
    """
    limits = [Decimal(str(one)) for one in (own, left) if one is not None]
    return min(limits).quantize(Decimal("0.000001"), ROUND_DOWN) if limits else None
