"""Simulated studies whose labels are numbers: how often the intervals of weighted and numeric statistics cover their truth."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from evaluation.agreement import (
    Ratings,
    fleiss_kappa,
    intraclass_correlation,
    krippendorff_alpha,
    percent_agreement,
    summarize,
)
from evaluation.agreement.icc import FORMS
from evaluation.agreement.intervals import Name, replicate_counts
from evaluation.core.estimate import Estimate

#: Units of the study whose statistics are taken for those of an infinite one.
MANY_UNITS = 100_000
#: The names of intraclass correlations in a summary, and the forms that they stand for.
CORRELATIONS = {form.lower().replace("(", "_").replace(",", "_").rstrip(")"): form for form in FORMS}


@dataclass(frozen=True)
class NumberDesign:
    """``clusters`` instances of ``per_cluster`` units, each rated by ``k`` of the raters.

    A unit's true value has a variance of 1, the share ``alike`` of it common to its instance. A rating adds the rater's own bias
    and noise. Biases are spread evenly from ``-bias`` to ``bias``; with ``new_raters`` each study draws its own from a normal
    distribution. Ratings are rounded to ``points`` labels, or to tenths without.
    """

    clusters: int
    per_cluster: int
    raters: int
    k: int
    points: int = 5
    alike: float = 0.4
    bias: float = 0.5
    noise: float = 0.8
    new_raters: bool = False
    #: Moves the ratings towards the upper end of the scale.
    centre: float = 0.0

    def draw(self, rng: np.random.Generator) -> Ratings:
        units = self.clusters * self.per_cluster
        several = self.per_cluster > 1
        own = rng.normal(0, (1 - self.alike) ** 0.5 if several else 1.0, units)
        common = (
            rng.normal(0, self.alike**0.5, self.clusters).repeat(self.per_cluster) if several else np.zeros(1)
        )
        bias = (
            rng.normal(0, self.bias, self.raters)
            if self.new_raters
            else np.linspace(-self.bias, self.bias, self.raters)
        )
        rated = np.argsort(rng.random((units, self.raters)), axis=1)[:, : self.k]
        given = self.centre + (own + common)[:, None] + bias[rated] + rng.normal(0, self.noise, rated.shape)
        if self.points:
            top = self.points - 1
            code = np.clip(np.round(given * self.points / 5 + top / 2), 0, top).astype(np.int32)
            labels = tuple(str(point + 1) for point in range(self.points))
        else:
            code = np.round(given * 10).astype(np.int32)
            least = int(code.min())
            labels = tuple(str((least + step) / 10) for step in range(int(code.max()) - least + 1))
            code = code - least
        return Ratings(
            tuple(f"r{r:02}" for r in range(self.raters)),
            tuple(f"{u:07}" for u in range(units)),
            labels,
            rated.ravel().astype(np.int32),
            np.arange(units, dtype=np.int32).repeat(self.k),
            code.ravel().astype(np.int32),
            level="interval",
            clusters=np.arange(self.clusters, dtype=np.int32).repeat(self.per_cluster) if several else None,
        )


#: The last three draw new raters in each study, as the intervals of ICC(2, .) claim.
NUMBER_DESIGNS = {
    "8 units": NumberDesign(8, 1, 4, 4),
    "12 units": NumberDesign(12, 1, 4, 4),
    "12 units, eight raters": NumberDesign(12, 1, 8, 8),
    "20 units": NumberDesign(20, 1, 4, 4),
    "20 units, two raters": NumberDesign(20, 1, 2, 2),
    "40 units": NumberDesign(40, 1, 4, 4),
    "20 instances": NumberDesign(20, 5, 4, 4),
    "some raters on each unit": NumberDesign(60, 1, 6, 3),
    "top of the scale, 30 units": NumberDesign(30, 1, 4, 4, centre=1.6),
    "top of the scale, 100 units, two raters": NumberDesign(100, 1, 2, 2, centre=1.6),
    "seven points": NumberDesign(200, 1, 3, 3, points=7),
    "tenths": NumberDesign(50, 1, 3, 3, points=0),
    "new raters, 30 units": NumberDesign(30, 1, 5, 5, points=0, new_raters=True),
    "new raters, 200 units": NumberDesign(200, 1, 5, 5, points=0, new_raters=True),
    "three new raters, 1,000 units": NumberDesign(1_000, 1, 3, 3, points=0, new_raters=True),
}


#: Statistics that need no other ones.
COUNTED: tuple[Name, ...] = ("percent_agreement", "krippendorff_alpha", "fleiss_kappa")


def statistics(
    table: Ratings, rng: np.random.Generator | None, replicates: int, only: Collection[str] = ()
) -> dict[str, Estimate]:
    """Every statistic of the table by name, with intervals if there is a generator; of ``only`` some, if possible, no others."""
    if only and set(only) <= {f"{slug}_f" for slug in CORRELATIONS}:
        forms = intraclass_correlation(table, rng=None, normal=True).forms
        return {f"{slug}_f": forms[form] for slug, form in CORRELATIONS.items()}
    if only and set(only) <= set(COUNTED):
        values = (percent_agreement(table), krippendorff_alpha(table), fleiss_kappa(table))
        counted = dict(zip(COUNTED, values, strict=True))
        if rng is None:
            return dict(counted)
        drawn = replicate_counts(table, rng=rng, replicates=replicates)
        return {name: drawn.add_interval(name, value) for name, value in counted.items()}
    found = summarize(table, rng=rng, replicates=replicates if rng else 0)
    whole = found.everyone
    named: dict[str, Estimate] = {
        "percent_agreement": whole.percent_agreement,
        "krippendorff_alpha": whole.krippendorff_alpha,
        "fleiss_kappa": whole.fleiss_kappa,
        "gwet_ac1": whole.gwet_ac1,
        **whole.further,
    }
    for weights, kappa in found.kappa.items():
        named[f"mean kappa, {weights}"] = kappa.corrected.get("all", kappa.mean["all"])
        named[f"weighted mean kappa, {weights}"] = kappa.weighted_mean["all"]
    return named


@cache
def truths(design: NumberDesign, only: tuple[str, ...] = ()) -> dict[str, float]:
    """Each statistic in a study of very many units; for new raters the correlations of their population."""
    if design.new_raters:
        one, few = 1 + design.bias**2 + design.noise**2, 1 + (design.bias**2 + design.noise**2) / design.k
        return {"icc_2_1_f": 1 / one, "icc_2_k_f": 1 / few}
    many = replace(design, clusters=MANY_UNITS // design.per_cluster)
    found = {
        name: one.value
        for name, one in statistics(many.draw(np.random.default_rng(5)), None, 0, only).items()
    }
    for form in ("icc_3_1", "icc_3_k"):
        if form in found:
            found[f"{form}_f"] = found[form]  # the other forms' F intervals are for new raters
    return found


def studies_of(
    design: NumberDesign, *, studies: int, seed: int, replicates: int, only: tuple[str, ...] = ()
) -> Iterator[dict[str, Estimate]]:
    for number in range(studies):
        rng = np.random.default_rng([seed, number])
        yield statistics(design.draw(rng), rng, replicates, only)


def coverage_of_numbers(
    design: NumberDesign,
    *,
    studies: int,
    seed: int,
    replicates: int = 200,
    only: tuple[str, ...] = (),
) -> dict[str, dict[str, Any]]:
    """By statistic: the share of studies with an interval, the share of those that includes the truth, and why there is none.

    Of all statistics, or ``only`` of some.
    """
    true = {name: value for name, value in truths(design, only).items() if not only or name in only}
    ends: dict[str, list[tuple[float, float, float]]] = {name: [] for name in true}
    refused: dict[str, str] = {}
    for found in studies_of(design, studies=studies, seed=seed, replicates=replicates, only=only):
        for name in true:
            if name not in found:
                continue
            one = found[name]
            ends[name].append((one.low, one.value, one.high))
            if np.isnan(one.low):
                refused[name] = one.interval or one.reason
    result = {}
    for name, rows in ends.items():
        if not rows:
            continue
        low, value, high = np.array(rows).T
        given = ~np.isnan(low)
        inside = (low <= true[name]) & (true[name] <= high)
        result[name] = {
            "intervals": float(given.mean()),
            "coverage": float(inside[given].mean()) if given.any() else None,
            "below": float((high < true[name])[given].mean()) if given.any() else None,
            "above": float((low > true[name])[given].mean()) if given.any() else None,
            "holds its estimate": bool(((low <= value) & (value <= high))[given].all()),
            "refused": refused.get(name, ""),
        }
    return result
