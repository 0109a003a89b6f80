"""Agreement on rankings: Kendall's W, corrected for ties, and the mean of Kendall's tau-b over pairs of raters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, bootstrap, cluster_sums, ratio
from evaluation.agreement.percent import SINGLE
from evaluation.agreement.value_forms import read_ranking
from evaluation.core.estimate import NAN, Estimate, undefined
from evaluation.core.interval import SHARE, SIGNED, Bounds
from evaluation.core.ratings_table import Floats, Ratings

NO_PAIR = "no unit has two rankings of the same two options or more"
ALL_TIED = "every ranking ties all options"
OTHER_OPTIONS = "units whose raters ranked different options"
TIED = "units whose rankings tie all options"
ONE_OPTION = "units with a single option"
NO_TWO_ORDERS = "no unit has two rankings that don’t tie all options"
ONE_ORDER = "units without two rankings that don’t tie all options"
#: Cells (unit, rater, pair of options) of the largest table of orders that is made.
_CELLS = 4_000_000


@dataclass(frozen=True)
class RankingAgreement:
    """Means over units of Kendall's W and of the mean tau-b of a unit's pairs of raters; ``n`` counts the units, of which tau-b may have
    fewer."""

    w: Estimate
    tau_b: Estimate


def kendall_w(ranks: npt.ArrayLike) -> Estimate:
    """Kendall's coefficient of concordance of m raters who ranked the same k options, with the correction for ties.

    ``ranks`` has shape (m, k), tied options with the mean of their places; none may be missing. With R_i the sum of option i's ranks and
    T_j the sum of ``t^3 - t`` over rater j's groups of t tied options::

        W = (12 sum_i R_i^2 - 3 m^2 k (k + 1)^2) / (m^2 (k^3 - k) - m sum_j T_j)

    From 0 (no concordance) to 1 (equal rankings); ``m (k - 1) W`` is Friedman's chi-squared. ``n`` is m. Undefined with one rater or one
    option, and if every rater ties all options. Kendall and Babington Smith (1939); ties: Kendall (1948), chapter 6.

    >>> kendall_w([[1, 2, 3], [1, 3, 2]]).value  # R = 2, 5, 5
    0.75
    """
    table = np.asarray(ranks, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ranks: expected two dimensions (raters, options), got {table.ndim}")
    if np.isnan(table).any():
        raise ValueError("ranks: none may be missing")
    raters, options = table.shape
    if raters < 2 or options < 2:
        return undefined(NO_PAIR, n=raters)
    value = float(_concordance(table[None])[0])
    return undefined(ALL_TIED, n=raters) if np.isnan(value) else Estimate(value, n=raters)


def _concordance(ranks: Floats) -> Floats:
    """Shape (units,): W of rankings of shape (units, raters, options); nan where all options are tied by every rater.

    The sum of ``(k^3 - k - T) / 12`` over raters is that of their ranks' squared deviations, which has no ties to count.
    """
    raters, options = ranks.shape[1:]
    middle = (options + 1) / 2
    top = ((ranks.sum(axis=1) - raters * middle) ** 2).sum(axis=1)
    bottom = raters * ((ranks - middle) ** 2).sum(axis=(1, 2))
    return np.divide(top, bottom, out=np.full(top.size, NAN), where=bottom > 0)


def _mean_tau(ranks: Floats) -> Floats:
    """Shape (units,): mean tau-b over the pairs of raters who don't tie all options; nan where there is no such pair."""
    units, raters, options = ranks.shape
    first, second = np.triu_indices(options, 1)
    found = np.empty(units)
    step = max(1, _CELLS // max(raters * first.size, 1))
    above = np.triu_indices(raters, 1)
    for start in range(0, units, step):
        part = ranks[start : start + step]
        order = np.sign(part[:, :, first] - part[:, :, second])
        untied = np.sqrt((order * order).sum(axis=2))
        top = order @ order.transpose(0, 2, 1)
        bottom = untied[:, :, None] * untied[:, None, :]
        tau = np.divide(top, bottom, out=np.full(top.shape, NAN), where=bottom > 0)[:, *above]
        pairs = (~np.isnan(tau)).sum(axis=1)
        sums = np.nansum(tau, axis=1)
        found[start : start + step] = np.divide(sums, pairs, out=np.full(sums.size, NAN), where=pairs > 0)
    return found


def ranking_agreement(
    ratings: Ratings, *, rng: np.random.Generator | None = None, replicates: int = DEFAULT_REPLICATES
) -> RankingAgreement:
    """Agreement of raters who each ranked a unit's options.

    The table's labels are rankings as :func:`read_ranking` reads them. Each unit with two rankings or more of the same options, two at
    least, has its W (:func:`kendall_w`) and the mean of ``tau-b = (C - D) / sqrt((P - t_a) (P - t_b))`` over its pairs of raters, where C and D
    count the pairs of options that they order alike and oppositely, P all pairs of options, and t those that a rater ties; a rater who ties
    all options has no tau-b, so that a unit may have W and no tau-b. The estimates are means over units; each one's ``left_out`` counts the
    other units by reason. A unit's own options needn't be those of another unit.

    W rises with fewer raters by chance alone (1/m is expected of m raters at random), tau-b doesn't. Undefined without such a unit. With ``rng``
    there is the cluster bootstrap's interval (:func:`bootstrap`). ``ValueError`` for a label that isn't a ranking. Kendall (1948), chapters 3
    and 6.

    >>> rows = [("a", "u", '["x", "y", "z"]'), ("b", "u", '["x", "z", "y"]')]
    >>> found = ranking_agreement(Ratings.from_rows(rows))
    >>> found.w.value, round(found.tau_b.value, 3)  # two of three pairs in one order
    (0.75, 0.333)
    """
    read = [read_ranking(label) for label in ratings.labels]
    grouped = ratings.grouped
    w, tau = np.full(len(ratings.units), NAN), np.full(len(ratings.units), NAN)
    shapes: dict[tuple[int, int], list[int]] = {}
    other = lone = 0
    for unit in np.flatnonzero(grouped.sizes >= 2).tolist():
        values = grouped.value[grouped.start[unit] : grouped.start[unit + 1]].tolist()
        options = read[values[0]].keys()
        if any(read[value].keys() != options for value in values):
            other += 1
        elif len(options) == 1:
            lone += 1
        else:
            shapes.setdefault((len(values), len(options)), []).append(unit)
    for units in shapes.values():
        ranks = np.stack([_ranks(read, _values(ratings, unit)) for unit in units])
        w[units], tau[units] = _concordance(ranks), _mean_tau(ranks)
    single = int((grouped.sizes == 1).sum())
    kept = sum(map(len, shapes.values()))
    left_out = {SINGLE: single, OTHER_OPTIONS: other, ONE_OPTION: lone}

    def mean(values: Floats, reason: str, why: str, bounds: Bounds) -> Estimate:
        own = left_out | {reason: int(kept - (~np.isnan(values)).sum())}
        own = {name: count for name, count in own.items() if count}
        return _mean(
            values, ratings, own, why if kept else NO_PAIR, bounds=bounds, rng=rng, replicates=replicates
        )

    tied = bool(np.isnan(w).all())
    return RankingAgreement(
        mean(w, TIED, ALL_TIED, SHARE),
        mean(tau, ONE_ORDER, ALL_TIED if tied else NO_TWO_ORDERS, SIGNED),
    )


def _values(ratings: Ratings, unit: int) -> list[int]:
    grouped = ratings.grouped
    found: list[int] = grouped.value[grouped.start[unit] : grouped.start[unit + 1]].tolist()
    return found


def _ranks(read: Sequence[dict[str, float]], values: Sequence[int]) -> Floats:
    """Shape (raters, options): the ranks of one unit's options, in one order."""
    options = sorted(read[values[0]])
    return np.array([[read[value][option] for option in options] for value in values])


def _mean(
    values: Floats,
    ratings: Ratings,
    left_out: dict[str, int],
    why: str,
    *,
    bounds: Bounds,
    rng: np.random.Generator | None,
    replicates: int,
) -> Estimate:
    known = ~np.isnan(values)
    n = int(known.sum())
    if not n:
        return undefined(why, left_out=left_out)
    point = Estimate(float(values[known].mean()), n=n, left_out=left_out)
    if rng is None or not replicates:
        return point
    clusters = None if ratings.clusters is None else ratings.clusters[known]
    sums = cluster_sums([values[known], np.ones(n)], clusters)
    word = "units" if clusters is None else "instances"
    return bootstrap(
        point, sums, ratio, rng=rng, replicates=replicates, word=word, bounds=bounds, counted=False
    )
