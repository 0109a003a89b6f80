"""95 % intervals from a standard error: inside the statistic's range, never without the estimate itself, and none from a
handful of clusters. Every interval of agreement and of the metrics follows the rules of this module.
"""

from __future__ import annotations

import math

#: Coverage of every interval.
LEVEL = 0.95
#: The 97.5th percentile of the normal distribution.
NORMAL_QUANTILE = 1.959963984540054
#: The least and the greatest value that a statistic can take.
Bounds = tuple[float, float]
SHARE: Bounds = (0.0, 1.0)
#: Differences of shares, correlations, kappa, alpha, AC1. Alpha lies above -1, since the differences within units of two
#: ratings or more are at most twice those over all of them; AC1 too, since its chance agreement is at most a half.
SIGNED: Bounds = (-1.0, 1.0)
#: Fleiss' kappa where units have different numbers of raters: no least value.
AT_MOST_ONE: Bounds = (-math.inf, 1.0)
UNBOUNDED: Bounds = (-math.inf, math.inf)
#: With fewer clusters than this there is no interval but those of intraclass correlations for normal numbers: simulated studies
#: of 3 to 6 units had intervals of alpha that covered 72-92 %, of 8 units 94-96 % (``docs/validation.md``).
LEAST_CLUSTERS = 8
#: Of these, this many must have another label than the most frequent one, for alpha and the kappas: their variance includes one
#: unit more (:func:`one_more_part`).
LEAST_VARIED = 3
#: With two labels, the least pairs of ratings for an interval of kappa: of fewer it has so few values that intervals cover more than
#: 97 % of studies (98.6 % for 20 units of two raters, 99.2 % for 15; 95 to 97 % from 25 on), and are nearly 1 wide.
LEAST_PAIRS = 25
#: The most of the squared change by one unit more, on which the raters agree, that variances include.
_ONE_MORE = 2 / 3
#: The part of the variance of one unit more that score intervals of alpha and the kappas include: they need less of it. With all of it those
#: of rare labels covered 98 %, with eight tenths 92 to 94 %.
SCORE_PART = 0.9


def too_few(clusters: int, word: str = "clusters") -> str:
    """Why there is no interval from so few clusters; empty if there are enough.

    >>> too_few(3, "units")
    'none: at least 8 units are needed, found 3'
    """
    if clusters >= LEAST_CLUSTERS:
        return ""
    return f"none: at least {LEAST_CLUSTERS} {word} are needed, found {clusters}"


def too_alike(
    varied: int, clusters: int, label: str, word: str = "clusters", least: int = LEAST_CLUSTERS
) -> str:
    """Why there is no interval of a chance-corrected statistic where nearly all labels are the same; empty if there can be one.

    ``varied`` of the clusters have another label than ``label``, the most frequent one: only they say anything about
    agreement beyond chance. There must be ``least``, or a third of all clusters.

    >>> too_alike(5, 50, "'no'", "units")
    "none: at least 8 units with another label than 'no' are needed, found 5"
    """
    needed = min(least, -(-clusters // 3))
    if varied >= needed:
        return ""
    return f"none: at least {needed} {word} with another label than {label} are needed, found {varied}"


def too_few_pairs(pairs: int, labels: int) -> str:
    """Why there is no interval of kappa from so few ``pairs`` of ratings, of two labels; empty if there can be one.

    >>> too_few_pairs(20, 2)
    'none: at least 25 pairs of ratings are needed with two labels, found 20'
    >>> too_few_pairs(20, 3)
    ''
    """
    if labels > 2 or pairs >= LEAST_PAIRS:
        return ""
    return f"none: at least {LEAST_PAIRS} pairs of ratings are needed with two labels, found {pairs}"


def one_more_part(agreed: float, *, nominal: bool) -> float:
    """How much of the squared change by one unit more, on which the raters agree, the variance of alpha, the kappas and
    intraclass correlations includes.

    Raters rarely agree on rare labels, and a study with few such units shows a low value and, for the same reason, a small
    standard error: its interval would end below the truth (those over 50 units with 3 % of a rare label covered 88 %, over 200
    units with 0.5 % 68 %). Agresti and Coull (1998) add observations to a share for the same reason. It is two thirds, or for
    ``nominal`` statistics the share of pairs of ratings that ``agreed`` if that is less: raters who agree on few units won't all
    agree on one more. In simulated studies of 40 designs, a half left some intervals at 91 %, and the whole brought most of
    them above 97 %.

    >>> round(one_more_part(0.9, nominal=True), 3), one_more_part(0.25, nominal=True)
    (0.667, 0.25)
    """
    return min(_ONE_MORE, agreed) if nominal else _ONE_MORE


def widened(variance: float, added: float, degrees_of_freedom: int) -> tuple[float, float]:
    """The sum of an estimated variance and a known one, and its degrees of freedom: Satterthwaite's (1946).

    >>> widened(4.0, 4.0, 10)
    (8.0, 40.0)
    """
    total = variance + added
    return total, degrees_of_freedom * (total / variance) ** 2


def t_quantile(degrees_of_freedom: float) -> float:
    """The 97.5th percentile of Student's t; with infinite degrees of freedom the normal distribution's.

    >>> round(t_quantile(9), 3)
    2.262
    """
    from scipy.special import stdtrit

    if math.isinf(degrees_of_freedom):
        return NORMAL_QUANTILE
    return float(stdtrit(degrees_of_freedom, (1 + LEVEL) / 2))


def t_interval(
    value: float, error: float, *, degrees_of_freedom: float, bounds: Bounds = UNBOUNDED, bias: float = 0.0
) -> tuple[float, float]:
    """Ends of the 95 % t interval of a value with a standard error, made on a scale where the bounds lie at infinity.

    That scale is ``log((x - a) / (b - x))`` between bounds a and b (the logit for shares, twice Fisher's z for -1 and
    1), ``-log(b - x)`` below an upper bound and x itself without one; the error is converted with the scale's slope at
    the value. A known ``bias`` is subtracted first, and the interval then widened, if necessary, to include the value.
    A value at a bound has no slope: its interval is cut at the bounds.

    >>> low, high = t_interval(0.98, 0.02, degrees_of_freedom=50, bounds=SHARE)
    >>> round(low, 3), round(high, 3)
    (0.863, 0.997)
    """
    return interval_within(value, t_quantile(degrees_of_freedom) * error, bounds=bounds, bias=bias)


def score_interval(
    value: float,
    error: float,
    *,
    bounds: Bounds,
    degrees_of_freedom: float = math.inf,
    bias: float = 0.0,
) -> tuple[float, float]:
    """Ends of the 95 % score interval of a value between bounds a and b whose variance goes with ``(x - a) (b - x)``, as a share's does.

    It is Wilson's, with the number of cases that would give a share ``(x - a) / (b - a)`` this standard error. For values from a few
    cases it is narrower than :func:`t_interval` and nearer to its level. ``bias`` is as there. Without ``degrees_of_freedom``
    the quantile is the normal one: the variance of a share is known with the share. A value at a bound is left to
    :func:`t_interval`. Wilson (1927).

    >>> low, high = score_interval(0.9, 0.06708, bounds=SHARE)  # 18 of 20
    >>> round(low, 3), round(high, 3)
    (0.699, 0.972)
    """
    least, most = bounds
    centre, width = value - bias, most - least
    if not least < centre < most:
        return t_interval(value, error, degrees_of_freedom=degrees_of_freedom, bounds=bounds, bias=bias)
    share = (centre - least) / width
    # The square of the quantile divided by the number of cases.
    part = (t_quantile(degrees_of_freedom) * error / width) ** 2 / (share * (1 - share))
    middle = (share + part / 2) / (1 + part)
    half = math.sqrt(part * share * (1 - share) + part * part / 4) / (1 + part)
    return (
        min(least + width * max(middle - half, 0.0), value),
        max(least + width * min(middle + half, 1.0), value),
    )


def mid_p_interval(count: int, n: int) -> tuple[float, float]:
    """Ends of the 95 % mid-P interval of a share, ``count`` of ``n`` independent cases: the exact one of Clopper and Pearson with half of the
    probability of what was found.

    A count has few values, so no interval covers 95 % whatever the share: of 15 to 100 cases, with three expected of either kind, this one
    covers 92.1 to 98.3 %, on average 95.1 to 95.6 %; the logit t interval covered 96 to 98 % on average. Lancaster (1961); Agresti
    and Gottard (2007).

    >>> low, high = mid_p_interval(18, 20)
    >>> round(low, 3), round(high, 3)
    (0.707, 0.983)
    """
    from scipy.optimize import brentq
    from scipy.special import bdtr

    def below(share: float, most: int) -> float:
        """The probability of ``most`` or fewer."""
        return float(bdtr(most, n, share)) if most >= 0 else 0.0

    def left(share: float) -> float:
        """The probability of fewer, and half of that of as many."""
        return (below(share, count) + below(share, count - 1)) / 2

    tail = (1 - LEVEL) / 2
    low = 0.0 if count == 0 else brentq(lambda share: 1 - left(share) - tail, 0.0, count / n)
    high = 1.0 if count == n else brentq(lambda share: left(share) - tail, count / n, 1.0)
    return float(low), float(high)


def interval_within(
    value: float, half: float, *, bounds: Bounds = UNBOUNDED, bias: float = 0.0
) -> tuple[float, float]:
    """The ends ``half`` below and above a value, made on the scale of ``t_interval``."""
    least, most = bounds
    centre = min(max(value - bias, least), most)
    if centre in bounds or bounds == UNBOUNDED:
        low, high = max(centre - half, least), min(centre + half, most)
    elif math.isinf(least):
        reach = half / (most - centre)
        low, high = most - (most - centre) * _exp(reach), most - (most - centre) * math.exp(-reach)
    else:
        odds, width = (centre - least) / (most - centre), most - least
        reach = half * width / ((centre - least) * (most - centre))
        low = least + width * _share_of_odds(odds, -reach)
        high = least + width * _share_of_odds(odds, reach)
    return min(low, value), max(high, value)


def _exp(power: float) -> float:
    return math.exp(min(power, 700.0))


def _share_of_odds(odds: float, shift: float) -> float:
    """p with ``p / (1 - p) = odds * exp(shift)``, without overflow."""
    log_odds = math.log(odds) + shift
    if log_odds >= 0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    return math.exp(log_odds) / (1.0 + math.exp(log_odds))


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Wilson's score interval of a share among n independent clusters, with the t quantile for few of them.

    For shares of 0 and 1, where all resamples are the same: 20 right clusters of 20 show that most clusters are right,
    not that all are. Wilson (1927).

    >>> low, high = wilson_interval(1.0, 20)
    >>> round(low, 3), high
    (0.82, 1.0)
    """
    q = t_quantile(max(n - 1, 1)) ** 2
    centre = (share + q / (2 * n)) / (1 + q / n)
    half = math.sqrt(q * (share * (1 - share) / n + q / (4 * n * n))) / (1 + q / n)
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))
