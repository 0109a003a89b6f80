"""How much shares, means, gains and precision would change with other raters of the same kind (*raters like these*).

The variance between raters is that of the jackknife over raters without the noise of single ratings, as for agreement
(:mod:`evaluation.agreement.new_raters`): raters are crossed with instances, and the noise is counted by the variance over instances already.
For figures of majority labels, and shares of follow-ups that most people predict rightly, it is that of the effects of their ratings
(:mod:`evaluation.metrics.rater_effects`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from evaluation.agreement import Majority, Rule, parse_rule
from evaluation.agreement.new_raters import (
    LEAST_RATERS,
    MOST_CLUSTER_GROUPS,
    RaterVariance,
    jackknife_deviations,
    leave_groups_out,
    rater_groups,
    rater_variance,
    variance_over_raters,
)
from evaluation.core.ratings_table import Ratings
from evaluation.metrics.followups import FollowUps
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.rater_effects import (
    majority_effects,
    majority_labels,
    ratio_gradient,
    variance_of_effects,
)
from evaluation.metrics.resample import Floats, Ints, codes_of
from evaluation.metrics.simulatability import per_explanation

#: Figures of ``Simulatability`` that can be for raters like these.
FIGURES = ("precision", "precision_micro", "simulatable", "simulatable_macro")


def sums_over_raters(
    columns: Sequence[npt.ArrayLike],
    clusters: npt.ArrayLike,
    raters: npt.ArrayLike,
    statistic: Callable[[Floats], Floats],
) -> RaterVariance:
    """The variance over raters of a statistic of sums over ratings.

    ``columns`` are D arrays of shape (N,), one entry for each rating; ``clusters`` and ``raters`` are its instance and rater, as whole numbers.
    ``statistic`` maps totals of shape (..., D) to values of shape (...). A mean over items of each one's ratings has the columns w x and w,
    with w one divided by the item's number of ratings. Too few raters (``LEAST_RATERS``) are said to be too few in the result.
    ``ValueError`` for unequal lengths. Sources: Owen (2007), section 4; Cameron, Gelbach and Miller (2011), equation 2.3.

    >>> share = lambda totals: totals[..., 0] / totals[..., 1]
    >>> found = sums_over_raters([[1, 1, 0, 0, 1, 0], np.ones(6)], [0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 3], share)
    >>> found.known, found.none
    (False, 'none: 4 raters are too few to generalise to new ones')
    """
    cluster, rater = np.asarray(clusters, dtype=np.int64), np.asarray(raters, dtype=np.int64)
    values = [np.asarray(column, dtype=np.float64) for column in columns]
    if any(one.shape != rater.shape for one in (cluster, *values)):
        raise ValueError("columns, clusters, raters: expected one length")
    names, code = np.unique(rater, return_inverse=True)
    if names.size < LEAST_RATERS:
        return RaterVariance(float("nan"), float("nan"), int(names.size))
    rows = rater_groups(names.size)[code]
    groups = np.unique(cluster, return_inverse=True)[1] % MOST_CLUSTER_GROUPS
    shape = (int(rows.max()) + 1, int(groups.max()) + 1)
    place = rows * shape[1] + groups
    table = np.stack(
        [np.bincount(place, weights=value, minlength=shape[0] * shape[1]).reshape(shape) for value in values],
        axis=2,
    )
    rest = table.sum(axis=0) - table
    totals = rest.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        without, left = statistic(totals), statistic(totals[:, None, :] - rest)
    return rater_variance(without, jackknife_deviations(left), int(names.size))


def share_of_sums(totals: Floats) -> Floats:
    """The first column of totals divided by the second.

    >>> share_of_sums(np.array([[3.0, 4.0]])).tolist()
    [0.75]
    """
    return np.asarray(totals[..., 0] / totals[..., 1])


def mean_over_raters(values: npt.ArrayLike, clusters: npt.ArrayLike, raters: npt.ArrayLike) -> RaterVariance:
    """``sums_over_raters`` of the mean of all ratings.

    >>> mean_over_raters([1, 0, 1, 0, 1], range(5), range(5)).raters
    5
    """
    numbers = np.asarray(values, dtype=np.float64)
    return sums_over_raters([numbers, np.ones(numbers.size)], clusters, raters, share_of_sums)


def simulatability_over_raters(
    table: FollowUps, ratings: Ratings, rule: str | Rule = "majority"
) -> dict[str, RaterVariance]:
    """The variance over raters of precision and simulatable share (``FIGURES``) with the labels of ``rule``.

    ``ratings`` are those that ``table`` was labelled from; others are ignored. With majority labels it is that of the effects of single
    ratings; with those of another rule, the labels are aggregated anew without each rater in turn (each of 60 groups of more).

    >>> table = FollowUps(
    ...     unit=["u"], explanation=["e"], instance=["x"], system=["s"], simulated=["yes"], real=["yes"]
    ... )
    >>> found = simulatability_over_raters(table, Ratings.from_rows([("ann", "u", "yes")]))
    >>> found["precision"].none
    'none: 1 raters are too few to generalise to new ones'
    """
    chosen = parse_rule(rule) if isinstance(rule, str) else rule
    own = ratings.where(np.isin(np.asarray(ratings.units, dtype=object), table.unit)[ratings.unit])
    if isinstance(chosen, Majority):
        return _of_majority(table, own)
    groups: Ints = codes_of(table.instance)[0] % MOST_CLUSTER_GROUPS
    of_explanation = np.zeros(len(table.explanations), dtype=np.int64)
    of_explanation[table.explanation_codes] = groups

    def statistics(part: Ratings, _: Ints) -> tuple[dict[str, float], dict[str, Floats]]:
        (labelled,) = followups_of(table, part, chosen)
        one = per_explanation(labelled)
        share = one.simulatable / np.maximum(one.labelled, 1)
        columns = {
            "precision": (np.nan_to_num(one.precision), one.known > 0),
            "precision_micro": (one.right, one.known),
            "simulatable": (one.simulatable, one.labelled),
            "simulatable_macro": (share, one.labelled > 0),
        }
        values, without = {}, {}
        for name, pair in columns.items():
            parts = [np.bincount(of_explanation, weights=np.asarray(one, dtype=np.float64)) for one in pair]
            sums = np.stack(parts, axis=1).astype(np.float64)
            with np.errstate(invalid="ignore", divide="ignore"):
                values[name], without[name] = leave_groups_out(sums, share_of_sums)
        return values, without

    return dict(variance_over_raters(own, statistics))


def accuracy_over_raters(
    ratings: Ratings, real: Sequence[str | None], *, single: bool = False, ties_wrong: bool = False
) -> RaterVariance:
    """The variance over raters of the share of units whose majority label is the real one, or with ``single`` of right ratings.

    ``real`` has the correct label of each of the table's units, None or empty where it isn't known: these are left out. Ties are too, unless
    they are wrong with ``ties_wrong``.

    >>> accuracy_over_raters(Ratings.from_rows([("ann", "u", "yes")]), ["yes"]).none
    'none: 1 raters are too few to generalise to new ones'
    """
    place = {label: code for code, label in enumerate(ratings.labels)}
    correct = np.array([place.get(name or "", -2) for name in real], dtype=np.int64)
    known = np.array([bool(name) for name in real], dtype=bool)
    kept = np.flatnonzero(known[ratings.unit])
    unit, value, rater = (
        ratings.unit[kept].astype(np.int64),
        ratings.value[kept].astype(np.int64),
        ratings.rater[kept],
    )
    clusters = np.arange(len(ratings.units)) if ratings.clusters is None else ratings.clusters
    if single or not kept.size:
        return mean_over_raters(value == correct[unit], clusters[unit], rater)

    rated = np.bincount(unit, minlength=correct.size) > 0

    def outcome(label: Ints, of: Ints) -> Floats:
        counted = (label[:, 0] >= 0) | (rated[of] & ties_wrong)
        return np.stack([label[:, 0] == correct[of], counted], axis=1).astype(np.float64)

    labels = majority_labels(unit, value[:, None], correct.size)
    right, labelled = outcome(labels, np.arange(correct.size)).T
    gradient = ratio_gradient(right, labelled, correct.size, (0, 1), 2)[:, :, None]
    effects, sizes = majority_effects(unit, value[:, None], outcome, gradient)
    return variance_of_effects(effects, sizes, clusters[unit], rater)[0]


def _of_majority(table: FollowUps, ratings: Ratings) -> dict[str, RaterVariance]:
    """The same for majority labels, from the effects of single ratings."""
    row = {unit: number for number, unit in enumerate(table.unit)}
    places = np.array([row.get(unit, -1) for unit in ratings.units], dtype=np.int64)
    place = {label: code for code, label in enumerate(ratings.labels)}
    real = np.array(
        [-2 if output is None else place.get(output, -2) for output in table.real], dtype=np.int64
    )
    guesses = ~np.isin(np.array([*ratings.labels, ""], dtype=object), list(table.abstain))
    known = table.known

    def outcome(label: Ints, item: Ints) -> Floats:
        """Right, predicted with a known real output, simulatable, labelled."""
        own, labelled = label[:, 0], label[:, 0] >= 0
        simulatable = labelled & guesses[own]
        counted = (simulatable | (~labelled & table.ties_wrong)) & known[item]
        right = simulatable & known[item] & (own == real[item])
        return np.stack([right, counted, simulatable, labelled], axis=1).astype(np.float64)

    one, explanation = per_explanation(table), table.explanation_codes
    gradients = {
        "precision": _macro(one.right, one.known, explanation, 0),
        "precision_micro": ratio_gradient(one.right, one.known, len(table), (0, 1), 4),
        "simulatable": ratio_gradient(one.simulatable, one.labelled, len(table), (2, 3), 4),
        "simulatable_macro": _macro(one.simulatable, one.labelled, explanation, 2),
    }
    item, value = places[ratings.unit], ratings.value.astype(np.int64)[:, None]
    clusters = codes_of(table.instance)[0][item]
    effects, sizes = majority_effects(item, value, outcome, np.stack(list(gradients.values()), axis=2))
    found = variance_of_effects(effects, sizes, clusters, ratings.rater)
    return dict(zip(gradients, found, strict=True))


def _macro(top: Ints, bottom: Ints, explanation: Ints, column: int) -> Floats:
    """The gradient of the mean over explanations of their shares, whose sums are the outcomes' ``column`` and the next one."""
    found = np.zeros((explanation.size, 4))
    defined = bottom > 0
    own = np.where(defined, 1.0 / (np.maximum(bottom, 1) * max(int(defined.sum()), 1)), 0.0)
    found[:, column] = own[explanation]
    found[:, column + 1] = -(own * top / np.maximum(bottom, 1))[explanation]
    return found
