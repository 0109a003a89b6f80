"""What intervals are about: how many of the study's own items the raters asked for have judged (*these items*), and labels that aren't
generalised to *raters like these*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from annotator.models import Study
from evaluation.agreement.new_raters import RaterVariance
from evaluation.core.ratings_table import Ratings

if TYPE_CHECKING:
    from evaluation.reports.context import Context

#: The setting with the number of raters of each control arm.
_RATERS = {"answer_only": "answer_only_raters", "nothing": "nothing_raters"}


def raters_asked(study: Study, arm: str = "") -> int:
    """How many raters the study asks for each item, of a control arm if one is named; 1 where items differ in it.

    >>> raters_asked(Study(redundancy=5)), raters_asked(Study(redundancy=5, shared_items=20))
    (5, 1)
    """
    if study.shared_items:
        return 1
    return max(int(getattr(study, _RATERS[arm])) if arm else study.redundancy, 1)


def items_asked(study: Study) -> list[int]:
    """How many raters each arm of the study asks for, as the hash of a report's inputs has them."""
    return [raters_asked(study), *(raters_asked(study, arm) for arm in _RATERS)]


def unjudged_share(
    ctx: Context,
    variable: str,
    ratings: Ratings | None = None,
    *,
    system: str = "",
    condition: str | None = None,
) -> float | None:
    """The share of the ratings asked for that nobody has given, over the items in play; None unless intervals are for these items.

    0 where every item has all its raters: intervals then have no width. Only items of a ``system`` or ``condition``, if one is named. ``ratings``
    are some of the variable's, such as those of one rater, of whom one rating of each item is asked; without them, those of people. Of imported
    ratings, and of simulators', one of each item is asked.
    """
    if ctx.items != "these":
        return None
    judgments, table = ctx.data.judgments, ctx.data.table(variable)
    own = ctx.of_raters(table.ratings) if ratings is None else ratings
    asked = 1 if ratings is not None else _asked(ctx, own)
    chosen = judgments.in_play.copy()
    if system and system in set(judgments.items.system.names):
        chosen &= judgments.items.system.values("") == system
    if condition is not None:
        chosen &= judgments.items.condition.values("") == condition
    if not chosen.any() or not len(own):
        return None
    item = table.units.item[own.unit].astype(np.int64)
    pairs = np.unique(item * (int(own.rater.max()) + 1) + own.rater) // (int(own.rater.max()) + 1)
    return _missing(np.bincount(pairs, minlength=len(judgments.items))[chosen], asked)


def unjudged_units(ctx: Context, ratings: Ratings, units: Sequence[str]) -> float:
    """The share of the ratings asked for that nobody has given, over these units, which are whole items; ``ratings`` are of all that count."""
    given = dict(zip(ratings.units, ratings.grouped.sizes.tolist(), strict=True))
    return _missing(np.array([given.get(unit, 0) for unit in units], dtype=np.int64), _asked(ctx, ratings))


def _asked(ctx: Context, ratings: Ratings) -> int:
    raters = ctx.data.judgments.raters
    elsewhere = (raters.is_imported | raters.is_simulator)[np.unique(ratings.rater)]
    return 1 if elsewhere.all() else raters_asked(ctx.study)


def _missing(given: npt.NDArray[np.int64], asked: int) -> float:
    return 1.0 - float((np.minimum(given, asked) / asked).mean())


@dataclass(frozen=True)
class _NotGeneralised(RaterVariance):
    """The variance over raters of labels that a rule makes which can't be generalised."""

    rule: str

    @property
    def none(self) -> str:
        return f"none: labels of the rule {self.rule} are not generalised to new raters"


def not_generalised(rule: str, raters: int) -> RaterVariance:
    """The variance over raters where there is none for labels of this rule, with the reason.

    >>> not_generalised("mace", 9).none
    'none: labels of the rule mace are not generalised to new raters'
    """
    return _NotGeneralised(float("nan"), float("nan"), raters, rule)
