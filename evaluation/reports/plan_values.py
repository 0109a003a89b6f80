"""The values that a plan's hypotheses compare: of each instance, and those that no cell of the report has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import NAN, Estimate, undefined
from evaluation.core.ratings_table import Ratings
from evaluation.metrics import (
    Cosine,
    FollowUps,
    PerExplanation,
    all_similarities,
    generality,
    per_explanation,
)
from evaluation.metrics.over_raters import mean_over_raters
from evaluation.metrics.paired import mean_by_instance
from evaluation.metrics.resample import ratio_estimate
from evaluation.metrics.similarity import Similarity
from evaluation.metrics.utility import utility_classes
from evaluation.planning.plan_document import ALL, Hypothesis
from evaluation.planning.plan_metrics import OF_UTILITY, SIMILARITIES
from evaluation.reports.by_system import of_system
from evaluation.reports.columns import labelled_items, rule_of
from evaluation.reports.context import Context
from evaluation.reports.encoders import report_encoder
from evaluation.reports.estimands import unjudged_share
from evaluation.reports.sections.means import mean_of
from evaluation.reports.tables.p1_table1 import part_of
from evaluation.reports.tables.simulatability_gain import planned_gain

Floats = npt.NDArray[np.float64]


def by_instance(ctx: Context, one: Hypothesis, system: str) -> dict[str, float]:
    """The metric's value on each instance, for one system or "all"; empty where it has none, or no system is named."""
    if not system:
        return {}
    if one.metric in ("precision", "simulatable"):
        return _of_predictions(ctx, one.metric, system)
    if one.metric == "generality":
        return _generality_by_instance(ctx, one, system)
    if one.metric == "gain":
        found = planned_gain(ctx, "" if system == ALL else system)
        return dict(found.by_instance) if found else {}
    if one.metric in ("share", "mean"):
        return _of_ratings(ctx, one, system)
    if one.metric in OF_UTILITY:
        return _of_utility(ctx, one.metric, system)
    return {}


def own_value(ctx: Context, one: Hypothesis) -> Estimate | None:
    """The value with its interval of a metric that isn't a cell of the report for every system; None for other metrics."""
    if one.metric == "generality":
        table = _with_texts(ctx)
        if table is None:
            return undefined("nobody has judged")
        return generality(_of_system(table, one.of), _similarity(ctx, one), **ctx.resampling).generality
    if one.metric not in ("share", "mean"):
        return None
    ratings = _ratings(ctx, one, one.of)
    if isinstance(ratings, str):
        return undefined(ratings)
    unjudged = unjudged_share(ctx, one.variable, system="" if one.of == ALL else one.of)
    if one.metric == "mean":
        return mean_of(ctx, ratings, unjudged)
    clusters = ratings.unit if ratings.clusters is None else ratings.clusters[ratings.unit]
    values = _numbers(ratings, one)
    others = mean_over_raters(values, clusters, ratings.rater) if ctx.new_raters else None
    return ratio_estimate(
        values, np.ones(len(ratings)), clusters, reason="there are no ratings", new_raters=others, unjudged=unjudged, **ctx.resampling
    )  # fmt: skip


def _of_predictions(ctx: Context, metric: str, system: str) -> dict[str, float]:
    counts = [per_explanation(table) for table in ctx.follow_ups(ctx.headline.name, rule_of(ctx))]
    if not counts:
        return {}
    values = np.concatenate([_values(count, metric) for count in counts])
    kept = np.concatenate(
        [np.array([system in (ALL, name) for name in count.system], dtype=bool) for count in counts]
    )
    instance = np.concatenate([count.instance for count in counts])
    return mean_by_instance(values[kept], instance[kept].tolist())


def _values(one: PerExplanation, metric: str) -> Floats:
    if metric == "precision":
        return one.precision
    return np.where(one.labelled > 0, one.simulatable / np.maximum(one.labelled, 1), np.nan)


def _similarity(ctx: Context, one: Hypothesis) -> Similarity:
    name = one.about or SIMILARITIES[0]
    return all_similarities(Cosine(report_encoder(ctx)) if name == "cosine" else None)[name]


def _of_system(table: FollowUps, system: str) -> FollowUps:
    return table if system == ALL else table.where("system", system)


def _with_texts(ctx: Context) -> FollowUps | None:
    tables = ctx.follow_ups(ctx.headline.name, rule_of(ctx))
    return part_of(ctx, tables[0])[0] if tables else None


def _generality_by_instance(ctx: Context, one: Hypothesis, system: str) -> dict[str, float]:
    table = _with_texts(ctx)
    if table is None:
        return {}
    found = generality(_of_system(table, system), _similarity(ctx, one))
    return mean_by_instance(found.values, found.instance.tolist())


def _ratings(ctx: Context, one: Hypothesis, system: str) -> Ratings | str:
    """The ratings of a variable that count; or why there are none."""
    if one.variable not in {variable.name for variable in ctx.data.variables}:
        return f"the study measures no “{one.variable}”"
    ratings = of_system(ctx, one.variable, "" if system == ALL else system)
    if one.metric == "mean":
        if ratings.level == "nominal" and not set(ratings.labels) <= set(ratings.scores):
            return f"the labels of “{one.variable}” have no numbers and no order"
        ratings = ratings.without_abstain()
    return ratings if len(ratings) else "there are no ratings"


def _numbers(ratings: Ratings, one: Hypothesis) -> Floats:
    if one.metric == "mean":
        return np.asarray(ratings.amounts[ratings.value], dtype=np.float64)
    label = one.about.partition("=")[2]
    return np.array([name == label for name in ratings.labels], dtype=np.float64)[ratings.value]


def _of_ratings(ctx: Context, one: Hypothesis, system: str) -> dict[str, float]:
    ratings = _ratings(ctx, one, system)
    if isinstance(ratings, str):
        return {}
    names = ctx.data.table(one.variable).units.instance.values("")[ratings.unit]
    return mean_by_instance(_numbers(ratings, one), names.tolist())


def _of_utility(ctx: Context, metric: str, system: str) -> dict[str, float]:
    rows = labelled_items(ctx, "before", "after")
    classes = utility_classes(rows.label["before"], rows.label["after"], rows.gold)
    kept = [
        number
        for number, (name, found) in enumerate(zip(rows.system, classes, strict=True))
        if found is not None and system in (ALL, name)
    ]
    was = np.array([rows.label["before"][n] == rows.gold[n] for n in kept], dtype=np.float64)
    now = np.array([rows.label["after"][n] == rows.gold[n] for n in kept], dtype=np.float64)
    values: dict[str, Callable[[], Floats]] = {
        "right_before": lambda: was,
        "right_after": lambda: now,
        "right_gain": lambda: now - was,
        "useful": lambda: np.array([classes[n] == "useful" for n in kept], dtype=np.float64),
    }
    return mean_by_instance(values[metric](), [rows.instance[n] for n in kept])


def limits_of(one: Hypothesis, limits: tuple[float, float]) -> tuple[float, float]:
    """The least and the greatest value of an instance, of one value or of a difference of two."""
    low, high = limits
    return (low - high, high - low) if one.against else limits


def outcomes(ctx: Context, one: Hypothesis, order: list[str]) -> list[float]:
    """The hypothesis's outcome on each of these instances, nan where it isn't defined: the value, or the difference of the two systems."""
    first, second = by_instance(ctx, one, one.of), by_instance(ctx, one, one.against)
    return [first.get(x, NAN) - (second.get(x, NAN) if one.against else 0.0) for x in order]
