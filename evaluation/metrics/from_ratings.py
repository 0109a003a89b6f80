"""From the ratings table to the metrics: follow-ups labelled by an aggregation rule."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evaluation.agreement import Aggregated, PerRater, Rule, Single, parse_rule
from evaluation.core.ratings_table import Ratings
from evaluation.metrics.followups import NOT_RATED, FollowUps
from evaluation.metrics.masks import TIED
from evaluation.metrics.resample import Ints
from evaluation.metrics.simulatability import Simulatability, per_explanation, summarise


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
    index = {unit: code for code, unit in enumerate(ratings.units)}
    place = np.fromiter(
        (index.get(unit, -1) for unit in followups.unit), dtype=np.int64, count=len(followups)
    )
    rated = np.bincount(ratings.unit, minlength=len(ratings.units)) > 0
    several = not isinstance(chosen, Single | PerRater)
    tables = chosen.tables(ratings)
    if isinstance(chosen, PerRater):
        return [_only_labelled(followups, table, place) for table in tables]
    return [_labelled(followups, table, place, rated & several) for table in tables]


def _labelled(
    followups: FollowUps, table: Aggregated, place: Ints, rated: npt.NDArray[np.bool_]
) -> FollowUps:
    names = np.array([*table.labels, None], dtype=object)
    inside = place >= 0
    codes = np.full(len(place), -1, dtype=np.int64)
    codes[inside] = table.value[place[inside]]
    tied = np.zeros(len(place), dtype=bool)
    tied[inside] = rated[place[inside]]
    why = np.where(tied, TIED, NOT_RATED)
    return followups.with_columns(simulated=names[codes].tolist(), missing=why.tolist())


def _only_labelled(followups: FollowUps, table: Aggregated, place: Ints) -> FollowUps:
    """The follow-ups that the table labels: what one of many raters rated is a small part of them all."""
    rows = np.flatnonzero((place >= 0) & (table.value[place] >= 0))
    names = np.array(table.labels, dtype=object)
    return followups.take(rows).with_columns(simulated=names[table.value[place[rows]]].tolist())


def simulatability_from_ratings(
    followups: FollowUps,
    ratings: Ratings,
    rule: str | Rule = "majority",
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Simulatability:
    """``simulatability`` under an aggregation rule; for ``per_rater`` the mean over raters.

    All raters of the table count alike: pass ``ratings.people()`` for people's figures.
    """
    tables = followups_of(followups, ratings, rule)
    return summarise([per_explanation(table) for table in tables], tables, rng=rng, replicates=replicates)
