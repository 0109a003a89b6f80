"""Means and medians of ratings for raters like these, and for these items; a median's interval is from the share of ratings below it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluation.agreement.bootstrap import cluster_sums
from evaluation.agreement.counts import cluster_codes
from evaluation.agreement.descriptive import mean_label, median_label
from evaluation.core.estimand import CENSUS, NEW_RATERS, THESE_ITEMS
from evaluation.core.estimate import Estimate
from evaluation.core.interval import SHARE, UNBOUNDED, t_interval, too_few
from evaluation.core.ratings_table import Floats, Ints, Ratings
from evaluation.metrics.over_raters import mean_over_raters
from evaluation.metrics.resample import ratio_estimate


def mean_estimate(
    ratings: Ratings,
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    new_raters: bool = False,
    unjudged: float | None = None,
) -> Estimate:
    """``mean_label`` with its interval for raters like these with ``new_raters``, and for these items with ``unjudged``.

    ``unjudged`` is the share of the study's items that nobody has rated. Every rating counts once; ``n`` and errors are those of ``mean_label``.

    >>> table = Ratings.from_rows([(f"r{n % 4}", f"u{n}", str(n)) for n in range(12)], level="interval")
    >>> found = mean_estimate(table, rng=np.random.default_rng(1), unjudged=0.0)
    >>> found.low, found.high, found.interval
    (5.5, 5.5, 'known: every item was judged, for these items')
    """
    if rng is None or not replicates or not len(ratings):
        return mean_label(ratings, rng=rng, replicates=replicates)
    values = np.asarray(ratings.amounts[ratings.value], dtype=np.float64)
    others = None
    if new_raters:
        units = np.arange(len(ratings.units)) if ratings.clusters is None else ratings.clusters
        others = mean_over_raters(values, units[ratings.unit], ratings.rater)
    if unjudged is None:
        return mean_label(ratings, rng=rng, replicates=replicates, new_raters=others)
    bounds = (float(ratings.amounts.min()), float(ratings.amounts.max()))
    found = ratio_estimate(
        values,
        np.ones(values.size),
        cluster_codes(ratings)[0][ratings.unit],
        rng=rng,
        replicates=replicates,
        cluster_word="units" if ratings.clusters is None else "instances",
        bounds=SHARE if bounds == SHARE else UNBOUNDED,
        new_raters=others,
        unjudged=unjudged,
    )
    return replace(found, low=max(found.low, bounds[0]), high=min(found.high, bounds[1]))


def median_estimate(
    ratings: Ratings,
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    new_raters: bool = False,
    unjudged: float | None = None,
) -> Estimate:
    """The median of the ratings' numbers, with its interval for raters like these with ``new_raters``, or for these items with ``unjudged``.

    Without either it is ``median_label``. Leaving out one rater says nothing about a median, which most raters don't move; so the variance is that
    of the share of ratings below the median, over instances and raters, and the ends of the share's t interval around a half are
    converted to values by the ratings' distribution. A median that ties with many ratings is in an interval that ends at the labels on which the
    share passes these ends. ``unjudged`` is the share of the study's items that nobody has rated: the variance over instances is multiplied by it.
    ``n`` and errors are those of ``median_label``. No interval, with its reason: fewer than 8 instances, fewer raters than
    ``evaluation.agreement.new_raters.LEAST_RATERS``, or ratings that are all the same. Woodruff (1952); Francisco and Fuller (1991).

    >>> table = Ratings.from_rows([(f"r{n % 4}", f"u{n}", str(n)) for n in range(12)], level="interval")
    >>> found = median_estimate(table, rng=np.random.default_rng(1), new_raters=True)
    >>> found.value, found.interval
    (5.5, 'none: 4 raters are too few to generalise to new ones')
    """
    found = median_label(ratings, rng=rng, replicates=replicates)
    asked = rng is not None and replicates > 0
    if not found.defined or not asked or not (new_raters or unjudged is not None):
        return found
    found = replace(found, low=float("nan"), high=float("nan"))
    if unjudged == 0 and not new_raters:
        return replace(found, low=found.value, high=found.value, interval=CENSUS)
    codes, clusters = cluster_codes(ratings)
    word = "units" if ratings.clusters is None else "instances"
    if why := too_few(clusters, word):
        return replace(found, interval=why)
    numbers = np.asarray(ratings.amounts[ratings.value], dtype=np.float64)
    cluster = codes[ratings.unit]
    error, degrees, how = 0.0, clusters - 1.0, ""
    for below in (numbers < found.value, numbers <= found.value):
        variance, of_this = _variance(below.astype(np.float64), cluster, clusters), clusters - 1.0
        if unjudged is not None:
            variance *= unjudged
        if new_raters:
            others = mean_over_raters(below, cluster, ratings.rater)
            if not others.known:
                return replace(found, interval=others.none)
            variance, of_this = others.added_to(variance, of_this)
        if variance**0.5 > error:
            error, degrees = variance**0.5, of_this
    if error <= 1e-12:
        return replace(found, interval=f"none: the {word} do not vary")
    if unjudged is not None:
        how += f", finite-population correction, {THESE_ITEMS}"
    how += f", {NEW_RATERS}" if new_raters else ""
    ends = t_interval(0.5, error, degrees_of_freedom=degrees, bounds=SHARE)
    low, high = np.quantile(numbers, ends, method="inverted_cdf")
    return replace(
        found,
        low=min(float(low), found.value),
        high=max(float(high), found.value),
        interval=f"95 % Woodruff interval, t interval of the share below, linearised standard error over {clusters} {word}{how}",
    )


def _variance(below: Floats, cluster: Ints, clusters: int) -> float:
    """The linearised variance over clusters of the mean of all ratings (Cochran 1977, section 6.4)."""
    sums = cluster_sums([below, np.ones(below.size)], cluster)
    residual = sums[:, 0] - below.mean() * sums[:, 1]
    return float(clusters / (clusters - 1) * (residual**2).sum()) / below.size**2
