"""Cohen's kappa of every pair of raters and its averages, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.agreement.cohen import PairwiseKappa, Which, pairwise_kappa
from evaluation.agreement.kappa_jackknife import KappaJackknife, jackknife_kappas
from evaluation.agreement.new_raters import RaterVariance, variance_over_pairs
from evaluation.agreement.pairs import Weights
from evaluation.core.estimate import Estimate, none_if_nan
from evaluation.core.ratings_table import Floats, Ratings

#: With more pairs of raters than this, those that share no unit are counted, not listed.
LISTED_PAIRS = 200_000
#: Replaces the rows of pairs in the JSON, before the kind of weights; they are written one by one.
PAIRS = "@pairs:"


@dataclass(frozen=True, eq=False)
class KappaAgreement:
    """Cohen's kappa with one kind of weights: every pair, and the averages of each group of pairs.

    ``mean`` and ``weighted_mean`` have a key per group: "all", "people", and each simulator (its pairs with people).
    ``corrected`` and ``weighted_corrected`` are the same without the bias of few shared units, with their own intervals; empty
    if none were requested. ``intervals`` of shape (P, 2) holds the pairs' intervals, ``nan`` for pairs not averaged, or is None.
    """

    pairs: PairwiseKappa
    mean: Mapping[Which, Estimate]
    weighted_mean: Mapping[Which, Estimate]
    intervals: Floats | None = None
    corrected: Mapping[Which, Estimate] = field(default_factory=dict)
    weighted_corrected: Mapping[Which, Estimate] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many pairs ``iterate_rows`` gives."""
        raters = len(self.pairs.raters)
        every = raters * (raters - 1) // 2
        return every if every <= LISTED_PAIRS else len(self.pairs)

    def rows(self) -> list[dict[str, Any]]:
        """One JSON object per pair of raters."""
        return list(self.iterate_rows())

    def iterate_rows(self) -> Iterator[dict[str, Any]]:
        """The same, one after the other: there may be a hundred thousand."""
        raters = len(self.pairs.raters)
        bounds = iter(self.intervals) if self.intervals is not None else None
        for row in self.pairs.rows(unshared=raters * (raters - 1) // 2 <= LISTED_PAIRS):
            low, high = next(bounds) if bounds is not None and row["n"] else (np.nan, np.nan)
            row["low"], row["high"] = none_if_nan(float(low)), none_if_nan(float(high))
            yield row

    def group(self, which: Which) -> dict[str, Any]:
        """A group's mean as JSON, the weighted mean and those without bias inside."""
        found = self.mean[which].to_dict() | {"weighted_mean": self.weighted_mean[which].to_dict()}
        return found | self._corrected(which)

    def _corrected(self, which: Which) -> dict[str, Any]:
        if which not in self.corrected:
            return {}
        return {
            "corrected_mean": self.corrected[which].to_dict(),
            "corrected_weighted_mean": self.weighted_corrected[which].to_dict(),
        }

    def to_dict(self, *, pairs: bool = True) -> dict[str, Any]:
        return {
            "mean": self.mean["all"].to_dict(),
            "weighted_mean": self.weighted_mean["all"].to_dict(),
            **self._corrected("all"),
            "weights": self.pairs.weights,
            "min_overlap": self.pairs.min_overlap,
            "pairs": self.rows() if pairs else f"{PAIRS}{self.pairs.weights}",
        }


def kappa_agreement(
    ratings: Ratings,
    weights: Weights,
    min_overlap: int,
    simulators: tuple[str, ...],
    *,
    intervals: bool,
    new_raters: bool,
) -> KappaAgreement:
    """All pairs' kappas with these weights; ``new_raters`` widens the intervals of the averages to other raters."""
    pairs = pairwise_kappa(ratings, weights=weights, min_overlap=min_overlap)
    groups: tuple[Which, ...] = ("all", "people", *simulators)
    mean = {group: pairs.mean(group) for group in groups}
    weighted = {group: pairs.weighted_mean(group) for group in groups}
    if not intervals or not pairs.averaged.any():
        return KappaAgreement(pairs, mean, weighted)
    corrected: dict[Which, Estimate] = {}
    weighted_corrected: dict[Which, Estimate] = {}
    jackknife, word = jackknife_kappas(ratings, pairs), unit_word(ratings)
    for group in groups:
        if mean[group].defined:
            used = pairs.of_group(group)[jackknife.kept].astype(np.float64)
            units = used * pairs.sums.n[jackknife.kept]
            for averages, without_bias, weight in (
                (mean, corrected, used / used.sum()),
                (weighted, weighted_corrected, units / units.sum()),
            ):
                others = _pair_variance(pairs, jackknife, weight) if new_raters else None
                averages[group], without_bias[group] = jackknife.add_interval(
                    averages[group], weight, word=word, new_raters=others
                )
    return KappaAgreement(
        pairs, mean, weighted, jackknife.pair_intervals(pairs), corrected, weighted_corrected
    )


def _pair_variance(pairs: PairwiseKappa, jackknife: KappaJackknife, weight: Floats) -> RaterVariance:
    """The variance over raters of an average of pairs' kappas."""
    kept = jackknife.kept
    a, b = pairs.sums.a[kept].astype(np.int64), pairs.sums.b[kept].astype(np.int64)
    return variance_over_pairs(
        pairs.kappa[kept], weight, a, b, len(pairs.raters), jackknife.deviations_of_means
    )


def unit_word(ratings: Ratings) -> str:
    """What intervals draw, in a reason or a note: units, or the instances that they belong to."""
    return "units" if ratings.clusters is None else "instances"
