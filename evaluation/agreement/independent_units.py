"""Independent units, whose agreement varies as shares do if they have two labels or two raters: their intervals can be nearer to 95 %."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evaluation.agreement.counts import count_units
from evaluation.agreement.percent import percent_agreement
from evaluation.core.estimate import Estimate
from evaluation.core.interval import (
    NORMAL_QUANTILE,
    SIGNED,
    Bounds,
    mid_p_interval,
    score_interval,
    t_interval,
)
from evaluation.core.ratings_table import Floats, Ratings


@dataclass(frozen=True)
class IndependentUnits:
    """Units with two ratings or more that don't belong together, of which no two are of one instance.

    ``labels`` is how many different labels they were given, ``raters`` the least number of raters, ``alike`` whether all have as many,
    ``agreeing`` on how many of the ``units`` all agree, ``agreed`` the percent agreement.
    """

    labels: int
    raters: int
    alike: bool
    agreeing: int
    units: int
    agreed: float

    @property
    def bounds(self) -> Bounds:
        """The least and the greatest value of alpha and the kappas over all raters: ``-1 / (m - 1)`` where all m disagree as much as m can."""
        return -1.0 / (self.raters - 1), 1.0

    def score_bounds(self, name: str, value: float) -> Bounds | None:
        """The bounds of a statistic's score interval with two labels: of alpha and Fleiss' kappa ``bounds``, of AC1 its values at no and at full
        agreement, with the chance agreement of the data. None with more labels, where that is 0, and for percent agreement."""
        if self.labels > 2 or name == "percent_agreement":
            return None
        if name != "gwet_ac1":
            return self.bounds
        chance = (self.agreed - value) / (1 - value) if value < 1 else 0.0
        return (-chance / (1 - chance), 1.0) if 0 < chance < 1 else None

    @property
    def by_units(self) -> bool:
        """Whether percent agreement is made of the share of units on which all agree: of two raters on each, or of three with two labels.

        Where not all three agree, one of three pairs does.
        """
        return self.alike and (self.raters == 2 or (self.raters == 3 and self.labels <= 2))

    def share_interval(self, estimate: Estimate, word: str) -> Estimate:
        """Percent agreement ``by_units`` with the mid-P interval of the share of units on which all agree."""
        least = 0.0 if self.raters == 2 else 1 / 3
        low, high = (least + (1 - least) * end for end in mid_p_interval(self.agreeing, self.units))
        how = f"95 % mid-P interval over {self.units} {word}"
        low, high = min(low, estimate.value), max(high, estimate.value)
        return replace(estimate, low=low, high=high, interval=how)


def two_labels(ratings: Ratings) -> IndependentUnits | None:
    """The same if two labels were given at most; else None."""
    found = independent_units(ratings)
    return found if found is not None and found.labels <= 2 else None


def independent_units(ratings: Ratings) -> IndependentUnits | None:
    """What these intervals need to know; None where units belong together, and where no unit has two ratings.

    >>> rows = [("a", "u", "yes"), ("b", "u", "no"), ("a", "v", "no"), ("b", "v", "no")]
    >>> found = independent_units(Ratings.from_rows(rows))
    >>> found.labels, found.raters, found.agreeing, found.units, found.bounds
    (2, 2, 1, 2, (-1.0, 1.0))
    """
    counts = count_units(ratings)
    pairable = counts.sizes >= 2
    if not pairable.any():
        return None
    if ratings.clusters is not None:
        of_units = ratings.clusters[ratings.grouped.sizes > 0]
        if np.unique(of_units).size < of_units.size:
            return None
    sizes = counts.sizes[pairable]
    whole = counts.matching[pairable] == sizes * (sizes - 1)
    return IndependentUnits(
        int(np.count_nonzero(counts.per_label_pairable)),
        int(sizes.min()),
        bool(sizes.min() == sizes.max()),
        int(np.count_nonzero(whole)),
        sizes.size,
        percent_agreement(counts).value,
    )


def interval_around(
    centre: float, error: float, *, degrees_of_freedom: float, two: IndependentUnits | None
) -> tuple[float, float, str]:
    """The ends of a kappa's interval, and its kind: with ``two`` labels the score interval between its bounds, else the t interval.

    >>> interval_around(0.5, 0.1, degrees_of_freedom=50, two=None)[2]
    't'
    """
    if two is not None and two.bounds[0] < centre < two.bounds[1]:
        return *score_interval(centre, error, bounds=two.bounds), "score"
    return *t_interval(centre, error, degrees_of_freedom=degrees_of_freedom, bounds=SIGNED), "t"


def score_ends(centre: Floats, error: Floats, bounds: Bounds) -> Floats:
    """Shape (2, ...): the ends of the score intervals of many values inside the bounds (:func:`evaluation.core.interval.score_interval`).

    >>> score_ends(np.array([0.5]), np.array([0.1]), (-1.0, 1.0)).round(3).ravel().tolist()
    [0.283, 0.668]
    """
    width = bounds[1] - bounds[0]
    share = (centre - bounds[0]) / width
    part = (NORMAL_QUANTILE * error / width) ** 2 / (share * (1 - share))
    middle = (share + part / 2) / (1 + part)
    half = np.sqrt(part * share * (1 - share) + part * part / 4) / (1 + part)
    return np.asarray(bounds[0] + width * np.clip([middle - half, middle + half], 0.0, 1.0))
