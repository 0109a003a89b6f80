"""Adjudicated labels before the labels of another aggregation rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from evaluation.agreement.aggregate import (
    TIES,
    UNRESOLVED,
    Aggregated,
    Majority,
    Mean,
    Median,
    OneTable,
)
from evaluation.core.ratings_table import Codes, Ratings

#: Rules that look at one unit at a time: its other ratings are replaced by the adjudicated label.
_UNIT_BY_UNIT = (Majority, Median, Mean)
_ADJUDICATORS = "(adjudicators)"


@dataclass(frozen=True, eq=False)
class AdjudicatedRule(OneTable):
    """A unit's adjudicated label where there is one, else the label that ``rule`` gives.

    ``labels`` maps names of units to labels; units that the table doesn't have are ignored. The median and the mean of an
    adjudicated unit are its label, as a number where the rule makes numbers. The models of Dawid and Skene and of Hovy et al. are
    fitted to the raters' own labels, and the adjudicated ones replace what they find.

    >>> rows = [("a", "u", "yes"), ("b", "u", "no"), ("a", "v", "no"), ("b", "v", "no")]
    >>> found = AdjudicatedRule(Majority(), {"u": "yes"}).apply(Ratings.from_rows(rows))
    >>> found.by_unit(), found.left_out
    ({'u': 'yes', 'v': 'no'}, {})
    """

    rule: OneTable
    labels: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"adjudicated, else {self.rule.name}"

    def apply(self, ratings: Ratings) -> Aggregated:
        whole, unit, value = self._codes(ratings)
        if not unit.size:
            return self.rule.apply(ratings)
        if isinstance(self.rule, _UNIT_BY_UNIT):
            return replace(self.rule.apply(_only_settled(whole, unit, value)), rule=self.name)
        found = self.rule.apply(ratings)
        open_ = found.value[unit] == UNRESOLVED
        codes = found.value.copy()
        codes[unit] = value
        left_out = dict(found.left_out)
        # These units have ratings: where the rule gave them no label, their labels tied.
        left_out[TIES] = left_out.get(TIES, 0) - int(open_.sum())
        kept = {reason: n for reason, n in left_out.items() if n > 0}
        return Aggregated(self.name, found.units, whole.labels, codes, kept)

    def _codes(self, ratings: Ratings) -> tuple[Ratings, Codes, Codes]:
        """The table with labels that nobody else gave, and the adjudicated units with their labels, as codes."""
        place = {label: code for code, label in enumerate(ratings.labels)}
        rated = ratings.grouped.sizes > 0
        pairs = []
        for code, name in enumerate(ratings.units):
            label = self.labels.get(name)
            if label is not None and rated[code]:
                pairs.append((code, place.setdefault(label, len(place))))
        unit = np.array([code for code, _ in pairs], dtype=np.int32)
        value = np.array([code for _, code in pairs], dtype=np.int32)
        return replace(ratings, labels=tuple(place)), unit, value


def _only_settled(ratings: Ratings, unit: Codes, value: Codes) -> Ratings:
    """The ratings with one rating of each adjudicated unit, the adjudicated one."""
    kept = ~np.isin(ratings.unit, unit)
    own = np.full(unit.size, len(ratings.raters), dtype=np.int32)
    return replace(
        ratings,
        raters=(*ratings.raters, _ADJUDICATORS),
        rater=np.concatenate((ratings.rater[kept], own)),
        unit=np.concatenate((ratings.unit[kept], unit)),
        value=np.concatenate((ratings.value[kept], value)),
    )
