"""The reward by round of a pipeline that trains with GEN-U as a reward (P3 section 4), and the reward's quantiles."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from evaluation.core.estimate import Estimate
from evaluation.core.interval import SIGNED
from evaluation.metrics.paired import paired_difference
from evaluation.metrics.resample import ratio_estimate
from evaluation.prompts.rewards import PAPER_BINS, reward_token
from evaluation.reports.content import Cell, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.selectors.training import RewardRound, reward_rounds


@section(order=71, title="P3 section 4: reward by round", measure="utility")
def p3_reward_rounds(ctx: Context) -> Section | None:
    """Mean GEN-U of each round's sampled rationales, and the rewards that each quantile holds."""
    rounds = reward_rounds(study=ctx.study, default_bins=PAPER_BINS)
    if not rounds:
        return None
    means = [_mean(ctx, one) for one in rounds]
    several = len({one.pipeline for one in rounds}) > 1
    return Section(
        id="p3-reward-rounds",
        number="P3 section 4",
        title="Reward by round",
        blocks=[
            _table(ctx, rounds, means, several),
            _figure(rounds, means, several),
            _quantiles(rounds, several),
        ],
    )


def _mean(ctx: Context, one: RewardRound) -> Estimate:
    """The mean reward over a round's samples, from -1 to 1; intervals draw questions."""
    samples = np.array([row.samples for row in one.rewards])
    unscored = one.sampled - one.unread - one.scored
    left = {"without a readable rationale": one.unread, "without a validated question": max(unscored, 0)}
    return ratio_estimate(
        samples * np.array([row.value for row in one.rewards]),
        samples,
        [row.instance for row in one.rewards],
        reason="no rationale has a reward",
        left_out={why: number for why, number in left.items() if number},
        bounds=SIGNED,
        **ctx.resampling,
    )


def _group(one: RewardRound, several: bool) -> str:
    return f"Pipeline {one.pipeline}" if several else ""


def _table(ctx: Context, rounds: list[RewardRound], means: list[Estimate], several: bool) -> Table:
    first = {one.pipeline: one for one in reversed(rounds)}
    return Table(
        id="p3-reward-rounds",
        number="P3 section 4",
        title="Mean reward (GEN-U) of the rationales sampled in each round",
        head=["Round"],
        columns=[
            TableColumn("Mean reward"),
            TableColumn("Change since round 1"),
            TableColumn("Sampled"),
            TableColumn("With a reward"),
            TableColumn("Distinct"),
            TableColumn("Questions"),
        ],
        rows=[
            TableRow(
                [f"Round {one.number}"],
                [
                    Cell.of(mean),
                    _change(ctx, one, first[one.pipeline]),
                    Cell.count(one.sampled),
                    Cell.count(one.scored),
                    Cell.count(len(one.rewards)),
                    Cell.count(len({row.instance for row in one.rewards})),
                ],
                group=_group(one, several),
            )
            for one, mean in zip(rounds, means, strict=True)
        ],
        notes=[
            "The mean is over samples: a rationale that was sampled three times counts three times. Round 1 is sampled from "
            "the model before training, each later round from the model that was trained on all rounds before it. These are "
            "the questions of the training part.",
            "The change is the mean over questions of the difference between a question's mean rewards in the two rounds.",
        ],
    )


def _change(ctx: Context, one: RewardRound, first: RewardRound) -> Cell:
    if one.number == 1:
        return Cell("")
    pair = paired_difference(
        _by_question(one),
        _by_question(first),
        names=(f"Round {one.number}", "Round 1"),
        rng=np.random.default_rng([ctx.choices.seed, one.number]),
        replicates=ctx.choices.replicates,
        bounds=SIGNED,
    )
    return Cell.of(pair.difference)


def _by_question(one: RewardRound) -> dict[str, float]:
    """Each question's mean reward over its samples."""
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in one.rewards:
        sums[row.instance][0] += row.value * row.samples
        sums[row.instance][1] += row.samples
    return {str(instance): total / samples for instance, (total, samples) in sums.items()}


def _figure(rounds: list[RewardRound], means: list[Estimate], several: bool) -> Figure:
    return Figure(
        id="p3-reward-rounds-figure",
        title="Mean reward by round",
        alt="The first column of the table above with its intervals.",
        form="intervals",
        data={
            "x": "Mean reward (GEN-U)",
            "reference": {"value": 0.0, "label": "no gain"},
            "points": [
                {"label": f"Round {one.number}", "group": _group(one, several), **mean.to_dict()}
                for one, mean in zip(rounds, means, strict=True)
            ],
        },
    )


def _quantiles(rounds: list[RewardRound], several: bool) -> Table:
    rows = []
    for one in rounds:
        for quantile in range(one.bins):
            held = [row for row in one.rewards if row.quantile == quantile]
            samples = sum(row.samples for row in held)
            values = [row.value for row in held]
            nothing = "no reward of this round is in the quantile"
            ends = [min(values), max(values)] if values else [float("nan")] * 2
            rows.append(
                TableRow(
                    [f"Round {one.number}", reward_token(quantile)],
                    [
                        *(Cell.number(end, n=samples, reason=nothing) for end in ends),
                        Cell.count(samples),
                        Cell.of(Estimate(samples / one.scored, n=one.scored), shape="percent"),
                    ],
                    group=_group(one, several),
                )
            )
    return Table(
        id="p3-reward-quantiles",
        title="Quantiles of the reward in each round",
        head=["Round", "Token"],
        columns=[
            TableColumn("Lowest reward"),
            TableColumn("Highest reward"),
            TableColumn("Samples"),
            TableColumn("Share, %"),
        ],
        rows=rows,
        notes=[
            "With three quantiles, each is one of GEN-U's values, as in the paper's Table 16. With another number they are "
            "quantiles by rank, and equal rewards are in the lower one."
        ],
    )
