"""How many items by how many raters a sum of money buys, and how wide an interval of a mean they give."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.agreement.icc_mixed import mixed_correlation
from evaluation.core.estimand import Raters
from evaluation.core.estimate import none_if_nan
from evaluation.core.interval import t_quantile
from evaluation.core.ratings_table import Ratings

#: Up to this many raters on each item are compared.
MOST_RATERS = 20


@dataclass(frozen=True)
class Components:
    """The variances of a judgment's number between ``items`` and between ``raters``, and of the ``rest``.

    >>> Components(0.05, 0.01, 0.14).total
    0.2
    """

    items: float
    raters: float
    rest: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value >= 0:
                raise ValueError(f"{name}: expected a variance of 0 or more, got {value}")

    @property
    def total(self) -> float:
        return self.items + self.raters + self.rest


@dataclass(frozen=True)
class DesignRow:
    """``items`` judged by ``raters`` each, the same raters throughout: what they cost, and what to expect of the mean.

    ``error`` is its standard error and ``width`` the width of its 95 % t interval, ``nan`` where one item, or one rater of raters like
    them, can't show how much others differ.
    """

    raters: int
    items: int
    judgments: int
    cost: float
    error: float
    width: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON: ``nan`` becomes null."""
        return {k: none_if_nan(v) if isinstance(v, float) else v for k, v in asdict(self).items()}


def components_of(ratings: Ratings) -> tuple[Components | None, str]:
    """The components of variance of a study's numbers, from its judgments; or None and the reason.

    By restricted maximum likelihood of ``number = mean + item + rater + rest`` over all ratings, as in
    :func:`evaluation.agreement.icc_mixed.mixed_correlation`, whoever rated which items. Numbers are ``Ratings.numbers``, 0 and 1 for shares.

    >>> given = {"1": "96", "2": "62", "3": "84", "4": "73", "5": "31"}
    >>> rows = [(rater, unit, label) for unit, labels in given.items() for rater, label in zip("ab", labels)]
    >>> found, _ = components_of(Ratings.from_rows(rows, level="interval"))
    >>> round(found.items, 2), round(found.raters, 2), round(found.rest, 2)
    (4.1, 5.7, 0.4)
    """
    found = mixed_correlation(ratings, intervals=False)
    if found.sds is None:
        one = next(iter(found.forms.values()))
        return None, one.reason or "all raters agree on every item"
    return Components(*(sd * sd for sd in found.sds)), ""


def plan_money(
    components: Components,
    money: float,
    *,
    price: float,
    raters: Raters = "like",
    most_raters: int = MOST_RATERS,
) -> list[DesignRow]:
    """What a sum of money gives with 1 to ``most_raters`` raters on each item: items, cost and the width of a mean's interval.

    With k raters, who all judge the same n = floor(money / (k price)) items like those of the study::

        se^2 = items / n + raters / k + rest / (n k)     for raters like these
        se^2 = items / n + rest / (n k)                  for these raters

    The width is 2 t se, with Satterthwaite's degrees of freedom of the sum (n - 1, k - 1 and (n - 1) (k - 1) those of its parts). For
    raters like these it has a least value between few raters, who may be unusual, and few items; for these raters one rater on as
    many items as possible is best, unless agreement is of interest too. Raters who each judge a part only lower ``raters / k``. Items are taken as
    independent. ``price`` is what one judgment costs; rows end where the money buys no item. Satterthwaite (1946); Brennan (2001), Generalizability
    Theory, section 2.2.

    >>> for row in plan_money(Components(0.05, 0.01, 0.14), 60, price=0.1, most_raters=3):
    ...     print(row.raters, row.items, round(row.error, 4))
    1 600 0.1016
    2 300 0.0735
    3 200 0.0618
    """
    if not money > 0 or not price > 0:
        raise ValueError(f"money, price: expected numbers above 0, got {money} and {price}")
    if most_raters < 1:
        raise ValueError(f"most_raters: expected 1 or more, got {most_raters}")
    rows = []
    for k in range(1, most_raters + 1):
        n = math.floor(money / (k * price) + 1e-9)
        if n < 1:
            break
        parts = [
            (components.items / n, n - 1),
            (components.rest / (n * k), (n - 1) * (k - 1) if k > 1 else n - 1),
        ]
        parts += [(components.raters / k, k - 1)] if raters == "like" else []
        known = k > 1 or raters == "these"
        variance = sum(part for part, _ in parts)
        error = math.sqrt(variance)
        width = 2 * error * _quantile(parts, variance) if known else math.nan
        rows.append(DesignRow(k, n, n * k, n * k * price, error, width))
    return rows


def best_of(rows: list[DesignRow]) -> DesignRow | None:
    """The row with the narrowest interval, of several that with the fewest raters; None if none has a width.

    >>> best_of(plan_money(Components(0.05, 0.01, 0.14), 60, price=0.1)).raters
    12
    """
    known = [row for row in rows if not math.isnan(row.width)]
    return min(known, key=lambda row: (row.width, row.raters), default=None)


def _quantile(parts: list[tuple[float, int]], variance: float) -> float:
    """The t quantile of a sum of independent variances; nan where one of them has no degrees of freedom."""
    given = [(part, degrees) for part, degrees in parts if part > 0]
    if any(degrees < 1 for _, degrees in given):
        return math.nan
    if not given:
        return 0.0
    return t_quantile(variance**2 / sum(part * part / degrees for part, degrees in given))
