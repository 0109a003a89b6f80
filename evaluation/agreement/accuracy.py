"""Raters' labels against correct ones: of one label per unit, of single ratings, and of each rater."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.agreement.aggregate import Aggregated
from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, bootstrap_mean
from evaluation.agreement.new_raters import for_these_raters
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.ratings_table import Codes, Ints, Ratings

NO_GOLD = "without a correct label"
NO_LABEL = "without a label"
NOTHING = "no label can be compared with a correct one"
NO_ANSWER = "ratings without an answer"


@dataclass(frozen=True, eq=False)
class GoldAccuracy:
    """``ratings``: share of single ratings that are right; ``labels``: of units, by one label each; and each rater's."""

    ratings: Estimate
    labels: Estimate | None
    raters: Mapping[str, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "ratings": self.ratings.to_dict(),
            "labels": None if self.labels is None else self.labels.to_dict(),
            "raters": {name: found.to_dict() for name, found in self.raters.items()},
        }


def accuracy(
    ratings: Ratings,
    gold: Codes,
    *,
    labels: Aggregated | None = None,
    unanswered: tuple[Ints, Ints] | None = None,
    ties_wrong: bool = False,
    rng: np.random.Generator | None = None,
    replicates: int = DEFAULT_REPLICATES,
) -> GoldAccuracy:
    """Share of labels that are correct. ``gold`` of shape (units,) holds each unit's correct label as a code, or -1.

    ``labels`` is one label per unit, by an aggregation rule; with ``ties_wrong`` a unit on which raters tie counts as wrong, else
    it is left out and counted. ``unanswered`` are (rater, unit) codes of ratings that were asked for and not given: they
    count as wrong where they are passed, and so does a unit that has no label because of them (all its raters left it
    blank, or the one whose labels are taken did). Intervals draw clusters (units, where the table has none).

    >>> table = Ratings.from_rows([("a", "u", "no"), ("b", "u", "yes"), ("a", "v", "no")])
    >>> found = accuracy(table, np.array([1, 0], dtype=np.int32))  # u: yes, v: no
    >>> round(found.ratings.value, 3), found.raters["a"].value
    (0.667, 0.5)
    """
    if gold.shape != (len(ratings.units),):
        raise ValueError(f"gold: expected shape ({len(ratings.units)},), got {gold.shape}")
    codes = np.arange(len(ratings.units)) if ratings.clusters is None else ratings.clusters
    missing = unanswered or (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    rater = np.concatenate((ratings.rater.astype(np.int64), missing[0]))
    unit = np.concatenate((ratings.unit.astype(np.int64), missing[1]))
    given = np.concatenate((ratings.value.astype(np.int64), np.full(missing[0].size, -2)))

    def share(units: Ints, right: npt.NDArray[np.bool_], left: dict[str, int]) -> Estimate:
        known = gold[units] >= 0
        left = left | {NO_GOLD: int((~known).sum())}
        left = {why: number for why, number in left.items() if number}
        if not known.any():
            return undefined(NOTHING, left_out=left)
        values = right[known].astype(np.float64)
        if rng is None or not replicates:
            return Estimate(float(values.mean()), n=int(known.sum()), left_out=left)
        found = bootstrap_mean(values, clusters=codes[units[known]], rng=rng, replicates=replicates)
        return for_these_raters(replace(found, left_out=left))

    right = given == gold[unit]
    raters = {}
    for code in np.unique(rater).tolist():
        rows = rater == code
        raters[ratings.raters[code]] = share(unit[rows], right[rows], {})
    by_label = None
    if labels is not None:
        rated = ratings.grouped.sizes > 0
        wrong = _blank_units(ratings, labels, missing)
        if ties_wrong and not labels.of_one_rater:
            wrong |= rated & ~labels.resolved
        chosen = np.flatnonzero((rated & labels.resolved) | wrong).astype(np.int64)
        none = int((rated & ~labels.resolved & ~wrong).sum())
        place = {
            label: code for code, label in enumerate(ratings.labels)
        }  # a rule may have labels of its own
        own = np.array([*(place.get(label, -2) for label in labels.labels), -2], dtype=np.int64)
        by_label = share(chosen, own[labels.value[chosen]] == gold[chosen], {NO_LABEL: none})
    return GoldAccuracy(share(unit, right, {}), by_label, raters)


def _blank_units(ratings: Ratings, labels: Aggregated, missing: tuple[Ints, Ints]) -> npt.NDArray[np.bool_]:
    """Shape (units,): which units have no label because they were left blank."""
    rater, unit = missing
    if labels.of_one_rater:
        names = np.array(ratings.raters, dtype=object)
        unit = unit[names[rater] == labels.rule.removeprefix("single:")]
    blank = np.zeros(len(ratings.units), dtype=bool)
    blank[unit] = True
    return blank & ~labels.resolved & (labels.of_one_rater | (ratings.grouped.sizes == 0))
