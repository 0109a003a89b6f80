"""From the ratings table to the metrics: follow-ups labelled by an aggregation rule."""

from __future__ import annotations

import numpy as np

from evaluation.agreement import PerRater, Rule, Single, parse_rule
from evaluation.core.ratings_table import Ratings
from evaluation.metrics.followups import FollowUps
from evaluation.metrics.masks import TIED


def followups_of(followups: FollowUps, ratings: Ratings, rule: str | Rule = "majority") -> list[FollowUps]:
    """The follow-ups labelled by each label table of ``rule``: one, or one per rater for ``per_rater``.

    ``ratings`` holds the simulation variable; its units are those of ``followups`` (others are ignored, and a
    follow-up that is not among them is not rated). A unit without a label is "not rated" where nobody (of the
    rule's raters) rated it, and otherwise "raters tie": left out of every metric and counted. The tables of
    ``per_rater`` hold only what each rater rated.

    >>> ratings = Ratings.from_rows([("ann", "u1", "yes"), ("bob", "u1", "no"), ("ann", "u2", "no")])
    >>> table = FollowUps(
    ...     unit=["u1", "u2", "u3"], explanation=["e"] * 3, instance=["x"] * 3, system=["s"] * 3,
    ...     simulated=[None] * 3, real=["yes"] * 3,
    ... )
    >>> found = followups_of(table, ratings)[0]
    >>> found.simulated.tolist(), found.missing.tolist()[::2]
    ([None, 'no', None], ['raters tie', 'not rated'])
    """
    chosen = parse_rule(rule) if isinstance(rule, str) else rule
    tied = {}
    if not isinstance(chosen, Single | PerRater):
        tied = {ratings.units[unit]: TIED for unit in np.flatnonzero(ratings.grouped.sizes > 0).tolist()}
    tables = [followups.with_labels(table.by_unit(), tied) for table in chosen.tables(ratings)]
    return [table.take(table.labelled) for table in tables] if isinstance(chosen, PerRater) else tables
