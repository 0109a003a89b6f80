"""Intraclass correlation where raters are unbalanced: a mixed model with crossed random effects of units and raters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from evaluation.agreement.counts import cluster_codes, varied_clusters
from evaluation.agreement.icc import NOT_INDEPENDENT, WHOSE, not_normal
from evaluation.agreement.new_raters import THESE_RATERS
from evaluation.agreement.variance_ratios import Deviance, fitted, posterior
from evaluation.core.estimate import NOT_ASKED, Estimate, undefined
from evaluation.core.interval import LEAST_VARIED, LEVEL, SHARE, t_interval, too_alike, too_few
from evaluation.core.ratings_table import Floats, Ratings

#: The forms of a model with crossed parts of units and raters, and of a one-way model with units alone.
TWO_WAY = ("ICC(2,1)", "ICC(3,1)", "ICC(2,k)", "ICC(3,k)")
ONE_WAY = ("ICC(1,1)", "ICC(1,k)")
#: With more raters than this, tables of raters by raters take too long.
MOST_RATERS = 100
#: The jackknife leaves out this many groups of clusters at most.
MOST_GROUPS = 20
#: Why a correlation of 0 has no interval from the jackknife.
#: The one-way model has no part for raters, so its errors are independent only where each unit has raters of its own.
SAME_RATERS = "none: this interval is for other raters on each unit, and some raters rated several"
AT_ZERO = "none: the estimate is 0, the least that a mixed model has, and the jackknife does not vary there"
ALL_AGREE = "none: all raters agree on every unit"
EXACT = "each rating is a unit's number plus a rater's, without any rest"
#: A share of the variance below this is rounding.
_NO_REST = 1e-7
_UPPER = (1 + LEVEL) / 2


@dataclass(frozen=True, eq=False)
class MixedCorrelation:
    """``forms`` maps each form to its estimate with the interval from the model, ``jackknife`` to that with the jackknife's.

    ``k`` is the harmonic mean of the numbers of ratings of the units that were rated. ``sds`` are the standard deviations of
    units, of raters (0 without names) and of the rest, ``deviance`` is -2 times the log of the restricted likelihood, of the
    model with raters where they have names. All are None where nothing could be fitted.
    """

    forms: dict[str, Estimate]
    jackknife: dict[str, Estimate]
    k: float | None = None
    sds: tuple[float, float, float] | None = None
    deviance: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "k": self.k,
            "sds": None
            if self.sds is None
            else dict(zip(("units", "raters", "rest"), self.sds, strict=True)),
            "deviance": self.deviance,
            "forms": {name: found.to_dict() for name, found in self.forms.items()},
            "jackknife": {name: found.to_dict() for name, found in self.jackknife.items()},
        }


def mixed_correlation(ratings: Ratings, *, named: bool = True, intervals: bool = True) -> MixedCorrelation:
    """Share of the variance of numbers that lies between units, whoever rated which of them: all six forms.

    Restricted maximum likelihood of two models over all ratings, with normal parts whose variances are u, r and e::

        number = mean + unit + rater + rest          number = mean + unit + rest

        ICC(2,1) = u / (u + r + e)     raters drawn at random, absolute agreement     ICC(2,k) = u / (u + (r + e) / k)
        ICC(3,1) = u / (u + e)         consistency                                    ICC(3,k) = u / (u + e / k)
        ICC(1,1) = u / (u + e)         the model without raters                       ICC(1,k) = u / (u + e / k)

    With ``named`` False raters have no names, and there are the last two only. Units have unequal numbers of ratings, so no k
    is given by the data: it is the harmonic mean of these numbers, with which e / k is the mean variance of the units' means.
    ICC(3,k) is that of means from which the raters' levels were removed.

    Where all raters rated all units these are the values of :func:`evaluation.agreement.icc.intraclass_correlation`, unless one of
    its parts is negative; here none is, so that the least value is 0. Numbers are ``Ratings.numbers``. The model's interval is
    for new raters too (that of forms (3, .) for these) and takes numbers as normal and units as independent: the 2.5th and the 97.5th percentile of the
    posterior under the prior 1 / (e (e + m u) (e + q r)), with the mean numbers m of ratings of a unit and q of a rater, which for
    balanced raters is the generalized interval with no part below 0. There is none where most
    ratings are one number or units share clusters, and none of forms (1, .) where a rater rated several units. The jackknife's leaves out groups of
    clusters and is for these raters. Intervals of forms (., k) are those of (., 1), with Spearman and Brown's formula. Undefined with
    fewer than two units or raters, where no unit has two ratings, where no number varies, where nothing
    is left beside units and raters, and, forms (2, .) and (3, .), with more than 100 raters or raters that share no unit with
    the others; 1 without an interval where all agree on every unit.
    Bates, Mächler, Bolker and Walker (2015), equation 39; Box and Tiao (1973), section 6.2; ``psych::ICC`` with ``lmer``; Putka,
    Le, McCloy and Diaz (2008) for the harmonic mean.

    >>> given = {"1": "96", "2": "62", "3": "84", "4": "73", "5": "31"}
    >>> rows = [(rater, unit, label) for unit, labels in given.items() for rater, label in zip("ab", labels)]
    >>> found = mixed_correlation(Ratings.from_rows(rows[:-1], level="interval"))  # b did not rate unit 5
    >>> round(found.forms["ICC(3,1)"].value, 2), round(found.forms["ICC(2,1)"].value, 2)
    (0.98, 0.44)
    >>> round(found.k, 2), round(found.forms["ICC(2,k)"].value, 2)  # four units of two ratings and one of one
    (1.67, 0.57)
    """
    one_way = _fit(ratings, named=False, intervals=intervals)
    if not named:
        return one_way
    several = bool((np.bincount(ratings.rater) > 1).any()) and intervals
    alone = {
        name: replace(one, low=float("nan"), high=float("nan"), interval=SAME_RATERS)
        if several and one.defined and one.interval != ALL_AGREE
        else one
        for name, one in one_way.forms.items()
    }
    crossed = _fit(ratings, named=True, intervals=intervals)
    return replace(
        crossed,
        forms=alone | crossed.forms,
        jackknife=one_way.jackknife | crossed.jackknife,
        k=one_way.k,
    )


def _fit(ratings: Ratings, *, named: bool, intervals: bool) -> MixedCorrelation:
    """The forms of one model."""
    forms = TWO_WAY if named else ONE_WAY
    singles = tuple(name for name in forms if name.endswith("1)"))
    rated = ratings.grouped.sizes
    n = int((rated > 0).sum())
    k = n / float((1 / rated[rated > 0]).sum()) if n else None
    raters = np.flatnonzero(np.bincount(ratings.rater))
    if why := _undefined(ratings, n, raters.size, named=named):
        nothing = dict.fromkeys(forms, undefined(why, n=n))
        return MixedCorrelation(nothing, nothing)
    codes, clusters = cluster_codes(ratings)
    groups = min(clusters, MOST_GROUPS)
    # The parts of the likelihood add up over units, so that what is left without a group is a difference.
    parts = [
        Deviance.of(ratings, np.flatnonzero((codes >= 0) & (codes % groups == group)), named=named)
        for group in range(groups)
    ]
    whole = sum(parts[1:], parts[0])
    if _all_agree(ratings):
        perfect = dict.fromkeys(forms, Estimate(1.0, n=n, interval=ALL_AGREE))
        return MixedCorrelation(perfect, perfect)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = fitted(whole)
    if not found.rest > _NO_REST * float(np.var(ratings.numbers[ratings.value])):
        nothing = dict.fromkeys(forms, undefined(EXACT, n=n))
        return MixedCorrelation(nothing, nothing)
    values = _values(found.ratios)
    size = f"{n} units, {len(ratings)} ratings by {raters.size} raters"
    points = {name: Estimate(float(values[name]), n=n) for name in singles}
    fit = (k, found.standard_deviations, found.deviance)
    if not intervals:
        bare = _with_means({name: replace(one, interval=NOT_ASKED) for name, one in points.items()}, k)
        return MixedCorrelation(bare, bare, *fit)
    several = ratings.clusters is not None and clusters < n
    why = NOT_INDEPENDENT if several else not_normal(ratings.numbers[ratings.value])
    modelled = {name: replace(one, interval=why) for name, one in points.items()} if why else {}
    if not why:
        drawn = posterior(whole, found)
        for name, one in points.items():
            low, high = drawn.quantiles(partial(_value, name), (1 - _UPPER, _UPPER))
            how = f"95 % interval of the mixed model, {size}, {WHOSE[name[:6]]}"
            modelled[name] = replace(one, low=min(low, one.value), high=max(high, one.value), interval=how)
    varied, label = varied_clusters(ratings, codes)
    word = "units" if ratings.clusters is None else "instances"
    alike = too_few(clusters, word) or too_alike(varied, clusters, repr(label), word, LEAST_VARIED)
    without = [fitted(whole - part, near=found).ratios for part in parts] if not alike else []
    jackknife = {
        name: _jackknifed(one, np.array([_values(ratios)[name] for ratios in without]), clusters, word, alike)
        for name, one in points.items()
    }
    return MixedCorrelation(_with_means(modelled, k), _with_means(jackknife, k), *fit)


def _with_means(singles: dict[str, Estimate], k: float | None) -> dict[str, Estimate]:
    """Forms (., 1), then forms (., k)."""
    if k is None:
        return singles
    return singles | {name.replace("1)", "k)"): _of_the_mean(one, k) for name, one in singles.items()}


def _of_the_mean(one: Estimate, k: float) -> Estimate:
    """Spearman and Brown's formula, of both ends of an interval too."""
    value, low, high = (k * end / (1 + (k - 1) * end) for end in (one.value, one.low, one.high))
    how = one.interval if one.interval.startswith("none") else f"{one.interval}; k = {k:.2f}"
    return replace(one, value=value, low=low, high=high, interval=how)


def is_unbalanced(ratings: Ratings) -> bool:
    """Whether some unit was not rated by every rater.

    >>> is_unbalanced(Ratings.from_rows([("a", "u", "1"), ("b", "u", "2"), ("a", "v", "1")]))
    True
    """
    sizes = ratings.grouped.sizes
    return bool((sizes[sizes > 0] != np.unique(ratings.rater).size).any())


def _undefined(ratings: Ratings, units: int, raters: int, *, named: bool) -> str:
    if raters < 2:
        return "there are fewer than two raters"
    if units < 2:
        return "fewer than two units were rated"
    if not (ratings.grouped.sizes > 1).any():
        return "no unit has two ratings"
    given = np.flatnonzero(np.bincount(ratings.value))
    if not np.ptp(ratings.numbers[given]):
        return "no number varies"
    if named and raters > MOST_RATERS:
        return f"there are {raters:,} raters, and a mixed model takes at most {MOST_RATERS}"
    if not named or _connected(ratings):
        return ""
    return "some raters share no unit with the others, not even through a third"


def _all_agree(ratings: Ratings) -> bool:
    numbers, start = ratings.numbers[ratings.grouped.value], ratings.grouped.start
    first = np.repeat(numbers[np.minimum(start[:-1], numbers.size - 1)], ratings.grouped.sizes)
    return bool((numbers == first).all())


def _connected(ratings: Ratings) -> bool:
    """Whether every two raters are joined by units that they rated; else their parts can't be told from those of units."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    units, raters = len(ratings.units), len(ratings.raters)
    size = units + raters
    edges = coo_array((np.ones(len(ratings)), (ratings.unit, units + ratings.rater)), shape=(size, size))
    _, part = connected_components(edges, directed=False)
    return bool(np.unique(part[ratings.unit]).size == 1)


def _values(ratios: Sequence[Any]) -> dict[str, Any]:
    """The forms from the variances of units and of raters, in those of the rest: numbers or arrays."""
    unit, rater = ratios
    alone = unit / (1 + unit)
    return {"ICC(1,1)": alone, "ICC(2,1)": unit / (1 + unit + rater), "ICC(3,1)": alone}


def _value(form: str, unit: Any, rater: Any) -> Any:
    return _values((unit, rater))[form]


def _jackknifed(point: Estimate, without: Floats, clusters: int, word: str, why: str) -> Estimate:
    """With the t interval of the jackknife's standard error, on the logit scale."""
    if why:
        return replace(point, interval=why)
    if point.value < 1e-9:
        return replace(point, interval=AT_ZERO)
    groups = without.size
    error = math.sqrt((groups - 1) / groups * float(((without - without.mean()) ** 2).sum()))
    if error <= 1e-12:
        return replace(point, interval=f"none: the {word} do not vary")
    low, high = t_interval(point.value, error, degrees_of_freedom=groups - 1, bounds=SHARE)
    how = f"95 % t interval, jackknife standard error, {groups} groups of {clusters} {word}, {THESE_RATERS}"
    return replace(point, low=low, high=high, interval=how)
