"""Gwet's AC1, which keeps its sense where nearly all labels are the same."""

from __future__ import annotations

import numpy as np

from evaluation.agreement.counts import UnitCounts, count_units
from evaluation.agreement.krippendorff import NO_PAIR
from evaluation.agreement.percent import left_out_units, percent_agreement
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.ratings_table import Floats, Ratings


def gwet_ac1(ratings: Ratings | UnitCounts) -> Estimate:
    """Agreement beyond chance of any number of raters, chance being what hard units give.

    ``AC1 = (Pa - Pe) / (1 - Pe)``, ``Pe = 1/(K - 1) sum_k pi_k (1 - pi_k)``: Pa the percent agreement over units with two
    ratings or more, ``pi_k`` the mean over all rated units of the share n_uk / m_u that gave label k, K the number
    of labels that *could* be given (``len(ratings.labels)``, used or not). Nominal at every level of measurement.

    ``n`` is the number of units with two ratings or more; the others are counted (those with one rating still
    count in pi_k). Undefined where no unit has two ratings and where there are fewer than two labels. Unlike
    kappa it is defined, and 1, where all raters gave the same of several labels. Gwet (2008), equations 5 and 9.

    >>> rows = [("a", "u", "yes"), ("b", "u", "yes"), ("a", "v", "no"), ("b", "v", "yes")]
    >>> round(gwet_ac1(Ratings.from_rows(rows)).value, 4)  # Pa = 1/2, Pe = 2 * 3/4 * 1/4
    0.2
    """
    counts = ratings if isinstance(ratings, UnitCounts) else count_units(ratings)
    observed = percent_agreement(counts)
    if not observed.defined:
        return undefined(NO_PAIR, left_out=observed.left_out)
    if counts.labels < 2:
        return undefined("there is only one label to give", n=observed.n, left_out=observed.left_out)
    shares = mean_shares(counts)
    expected = float((shares * (1 - shares)).sum() / (counts.labels - 1))
    value = (observed.value - expected) / (1 - expected)
    return Estimate(value, n=observed.n, left_out=left_out_units(counts))


def mean_shares(counts: UnitCounts) -> Floats:
    """Shape (labels,): ``pi_k``, each rated unit counting once however many raters it has."""
    largest = int(counts.sizes.max(initial=0))
    width = max(counts.labels, 1)
    by_size = np.bincount(  # whole numbers by size and label first, one division a size after
        counts.sizes[counts.unit] * width + counts.label,
        weights=counts.count,
        minlength=(largest + 1) * width,
    ).reshape(largest + 1, width)
    rated = np.count_nonzero(counts.sizes)
    return (by_size[1:] / np.arange(1, largest + 1)[:, None]).sum(axis=0) / rated
