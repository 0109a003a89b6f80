"""What an interval is about: *these items* or *items like these*, judged by *these raters* or *raters like these*.

The same number has intervals of different widths. That for these items shrinks as people judge more of them, and has the width 0 when
they have judged all; that for items like these never does. An estimate names its estimand in the words of its ``interval``, where
the method is named too; this module has the words, and reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Items = Literal["like", "these"]
Raters = Literal["these", "like"]
#: How an estimate's ``interval`` says what it is about. Without words on items it is for items like these.
THESE_ITEMS = "for these items"
THESE_RATERS = "for these raters"
NEW_RATERS = "for new raters too"
#: The ``interval`` of an estimate for these items, whose width is 0.
CENSUS = f"known: every item was judged, {THESE_ITEMS}"


@dataclass(frozen=True, order=True)
class Estimand:
    """Of which items and raters an interval holds.

    >>> str(Estimand()), str(Estimand("these", "like"))
    ('items like these, judged by these raters', 'these items, judged by raters like these')
    """

    items: Items = "like"
    raters: Raters = "these"

    def __str__(self) -> str:
        items = "these items" if self.items == "these" else "items like these"
        return f"{items}, judged by {'these raters' if self.raters == 'these' else 'raters like these'}"


def estimand_of(interval: str) -> Estimand | None:
    """The estimand that the words of an ``interval`` name; None where they name no interval.

    >>> estimand_of("95 % t interval, sandwich variance over instances, 20 labelled, for these items")
    Estimand(items='these', raters='these')
    >>> estimand_of("95 % Wilson interval over 20 instances, for new raters too")
    Estimand(items='like', raters='like')
    >>> estimand_of("none: at least 8 instances are needed, found 3") is None
    True
    """
    if not interval or interval.startswith("none"):
        return None
    return Estimand(
        "these" if THESE_ITEMS in interval else "like", "like" if NEW_RATERS in interval else "these"
    )


def unsampled(judged: int, items: int) -> float:
    """The finite-population correction of a variance: the share of the items that people have not judged.

    A mean over n items drawn without replacement from M has the variance (1 - n / M) S^2 / n around the mean of these M. Cochran (1977),
    Sampling Techniques, theorem 2.2. ``ValueError`` unless 0 < judged <= items.

    >>> unsampled(25, 100), unsampled(100, 100)
    (0.75, 0.0)
    """
    if not 0 < judged <= items:
        raise ValueError(f"judged: expected from 1 to {items} items, got {judged}")
    return 1.0 - judged / items
