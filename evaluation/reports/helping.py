"""Measures that might replace human utility (P3 Tables 4 and 6): one value for each rationale, with its utility class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.core.estimate import Estimate, undefined
from evaluation.metrics import bertscore, chance_u, correlation_ratio, gen_u, theils_u, utility_classes
from evaluation.reports.columns import Labelled, labelled_items
from evaluation.reports.context import Context
from evaluation.selectors.material import GenUAnswer, gen_u_answers, rationale_texts


@dataclass(frozen=True, eq=False)
class Helping:
    """One entry per rationale in play, aligned with ``rows``: its utility class, and whether its system's answer was
    right."""

    rows: Labelled
    classes: list[str | None]
    right: list[str | None]

    @property
    def systems(self) -> list[str]:
        return sorted(set(self.rows.system))

    def of(self, system: str) -> list[int]:
        """The rationales of one system; of all for an empty name."""
        return [i for i, name in enumerate(self.rows.system) if system in ("", name)]


def helping(ctx: Context) -> Helping:
    """Utility class and task accuracy of each rationale, computed once per report."""

    def make() -> Helping:
        rows = labelled_items(ctx, "before", "after")
        classes = utility_classes(rows.label["before"], rows.label["after"], rows.gold)
        pairs = zip(rows.output, rows.gold, strict=True)
        return Helping(rows, classes, [None if not o or not g else str(o == g) for o, g in pairs])

    return ctx.once("helping", make)


def utility_known_from(ctx: Context, known: Sequence[str | None], kept: Sequence[int]) -> Estimate:
    """Theil's U(utility | known) over the rationales ``kept``: ``known`` is one value for each rationale."""
    found = helping(ctx)
    return theils_u(
        [found.classes[i] for i in kept],
        [known[i] for i in kept],
        clusters=[found.rows.instance[i] for i in kept],
        **ctx.resampling,
    )


def utility_by_chance(
    ctx: Context, known: Sequence[str | None], kept: Sequence[int]
) -> tuple[Estimate, float]:
    """What ``utility_known_from`` is where the two have nothing to do with each other, and the permutation test's p."""
    found, rng = helping(ctx), np.random.default_rng(ctx.choices.seed)
    return chance_u([found.classes[i] for i in kept], [known[i] for i in kept], rng=rng)


def eta_of_bertscore(ctx: Context, kept: Sequence[int]) -> Estimate:
    """Correlation ratio of BERTScore's F1 by utility class; undefined, with the reason, if it can't be computed."""
    found = helping(ctx)
    scores, why, _ = bert_f1(ctx)
    if why:
        return undefined(why)
    return correlation_ratio(
        [found.classes[i] for i in kept],
        [scores[i] for i in kept],
        clusters=[found.rows.instance[i] for i in kept],
        **ctx.resampling,
    )


def bert_f1(ctx: Context) -> tuple[Sequence[float], str, str]:
    """F1 of each rationale against its gold rationale (nan if either is missing), or the reason why there is none; and
    the version."""

    def make() -> tuple[Sequence[float], str, str]:
        items, rows = ctx.data.judgments.items, helping(ctx).rows.item
        texts = rationale_texts(study=ctx.study)
        pairs = [texts.get(int(pk), ("", "")) for pk in items.explanation[rows]]
        if not any(text.strip() and gold.strip() for text, gold in pairs):
            return [], "no instance has a gold rationale to compare the rationale with", ""
        try:
            found = bertscore([text for text, _ in pairs], [gold for _, gold in pairs])
        except ImportError:
            return [], "not computed: install the optional extra, pip install 'foretell[bertscore]'", ""
        return found.f1.tolist(), "", found.version

    return ctx.once("bertscore", make)


@dataclass(frozen=True, eq=False)
class GenUOfModel:
    """GEN-U with one model that answers the generalization questions: one value per rationale, and the mean by system."""

    model: str
    values: list[str | None]
    means: dict[str, Estimate]
    ties: dict[str, int]


def gen_u_by_model(ctx: Context) -> list[GenUOfModel]:
    """GEN-U of each rationale in play, for each model with both runs; empty if there are none."""

    def make() -> list[GenUOfModel]:
        answers = list(gen_u_answers(study=ctx.study))
        return [
            _of_model(ctx, name, [a for a in answers if a.model == name])
            for name in sorted({a.model for a in answers})
        ]

    return ctx.once("gen-u", make)


def _of_model(ctx: Context, model: str, answers: Sequence[GenUAnswer]) -> GenUOfModel:
    values: dict[tuple[str, int], int] = {}
    means: dict[str, Estimate] = {}
    ties: dict[str, int] = {}
    for system in sorted({a.system for a in answers}):
        mine = [a for a in answers if a.system == system]
        found = gen_u(
            [a.with_right for a in mine],
            [a.without_right for a in mine],
            [str(a.instance) for a in mine],
            **ctx.resampling,
        )
        means[system], ties[system] = found.mean, found.ties
        for name, value in zip(found.instances, found.values, strict=True):
            values[system, int(name)] = int(value)
    rows, items = helping(ctx).rows, ctx.data.judgments.items
    keys = zip(rows.system, items.instance[rows.item].tolist(), strict=True)
    by_rationale = [str(values[key]) if key in values else None for key in keys]
    return GenUOfModel(model, by_rationale, means, ties)


def mean_of(estimates: Sequence[Estimate], what: str) -> Estimate:
    """Unweighted mean of the defined coefficients; it has no interval."""
    values = [estimate.value for estimate in estimates if estimate.defined]
    if not values:
        return undefined(f"no {what} is defined")
    left = len(estimates) - len(values)
    return Estimate(
        float(np.mean(values)),
        math.nan,
        math.nan,
        n=len(values),
        left_out={"not defined": left} if left else {},
        interval="none: a mean of coefficients",
    )
