"""Training with GEN-U as a reward, for reports: every round's rationales and their rewards."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count, Q

from annotator.models import Study
from evaluation.core.step_kinds import kinds_making
from evaluation.models import Call, Reward, Run


@dataclass(frozen=True)
class Rewarded:
    """One rationale's reward: its question (``instance``), GEN-U, the quantile, and how many samples were this text."""

    instance: int
    value: float
    quantile: int
    samples: int


@dataclass(frozen=True)
class RewardRound:
    """One round of a pipeline: ``number`` counts from 1, ``bins`` is the number of reward quantiles (K).

    ``sampled`` is how many rationales were requested; ``unread`` of them came back without a readable one.
    """

    pipeline: int
    number: int
    bins: int
    sampled: int
    unread: int
    rewards: tuple[Rewarded, ...]

    @property
    def scored(self) -> int:
        """How many samples have a reward."""
        return sum(reward.samples for reward in self.rewards)


def reward_rounds(*, study: Study, default_bins: int) -> list[RewardRound]:
    """The rounds of the pipelines whose main study this is, by pipeline and in order, in three queries.

    ``default_bins`` is the number of quantiles if a recipe's reward step doesn't set it.
    """
    found: dict[tuple[int, str], list[Rewarded]] = defaultdict(list)
    rewards = Reward.objects.filter(pipeline__study=study).order_by("pipeline_id", "pk")
    columns = ("pipeline_id", "step", "explanation__instance_id", "value", "quantile", "samples")
    for pipeline, step, instance, value, quantile, samples in rewards.values_list(*columns):
        found[pipeline, step].append(Rewarded(instance, value, quantile, samples))
    runs = Run.objects.filter(pipeline__in={pipeline for pipeline, _ in found}).order_by("pk")
    choices = {
        (pipeline, options.get("step")): options
        for pipeline, options in runs.values_list("pipeline_id", "options")
    }
    requested = _requested({pipeline for pipeline, _ in found})
    rounds: list[RewardRound] = []
    for (pipeline, step), rows in found.items():
        options = choices.get((pipeline, step), {})
        sampled, unread = requested.get((pipeline, str(options.get("system", ""))), (0, 0))
        number = 1 + sum(one.pipeline == pipeline for one in rounds)
        bins = int(options.get("bins", default_bins))
        rounds.append(RewardRound(pipeline, number, bins, sampled, unread, tuple(rows)))
    return rounds


def _requested(pipelines: set[int]) -> dict[tuple[int, str], tuple[int, int]]:
    """(pipeline, system) -> how many rationales were requested of it, and how many can't be read."""
    calls = Call.objects.filter(run__pipeline__in=pipelines, run__kind__in=kinds_making("explanations"))
    rows = calls.order_by().values_list("run__pipeline_id", "run__options__system")
    counted = rows.annotate(all=Count("pk"), read=Count("pk", filter=Q(parsed__explanation__isnull=False)))
    return {(pipeline, str(system)): (every, every - read) for pipeline, system, every, read in counted}
