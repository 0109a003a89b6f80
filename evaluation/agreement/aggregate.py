"""From several raters' labels to one label per unit: the aggregation rules that every metric takes as an argument."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from annotator.core.labels import write_number
from evaluation.agreement.counts import count_units
from evaluation.agreement.dawid_skene import dawid_skene
from evaluation.agreement.percent import UNRATED
from evaluation.core.ratings_table import Codes, Floats, Ratings

TIES = "units whose raters tie"
BETWEEN = "units whose median lies between two labels"
UNRESOLVED = -1
#: Two labels whose probabilities differ by less are tied.
_TIE = 1e-9

RULES = "majority, dawid_skene, mace, median, mean, per_rater, single:<rater>"


@dataclass(frozen=True, eq=False, repr=False)
class Aggregated:
    """One label per unit, or none.

    ``value`` of shape (units,) holds indices into ``labels``, -1 where the rule gives no label; ``left_out`` counts those
    units by reason. ``rule`` names the rule, for reports.
    """

    rule: str
    units: Sequence[str]
    labels: tuple[str, ...]
    value: Codes
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def resolved(self) -> npt.NDArray[np.bool_]:
        """Shape (units,): which units have a label."""
        return self.value >= 0

    @property
    def of_one_rater(self) -> bool:
        """Whether these are one rater's labels, which can't tie: a unit without one was not rated by that rater."""
        return self.rule.startswith("single:")

    @property
    def n(self) -> int:
        """How many units have a label."""
        return int(self.resolved.sum())

    def __repr__(self) -> str:
        return f"<Aggregated by {self.rule}: {self.n:,} of {len(self.units):,} units>"

    def by_unit(self) -> dict[str, str | None]:
        """Unit -> label, None where the rule gives none."""
        names = (*self.labels, None)
        return {unit: names[code] for unit, code in zip(self.units, self.value.tolist(), strict=True)}

    def shares(self) -> dict[str, float]:
        """Share of the resolved units that got each label; ``nan`` without resolved units."""
        counts = np.bincount(self.value[self.resolved], minlength=len(self.labels))
        return {
            k: int(c) / self.n if self.n else float("nan") for k, c in zip(self.labels, counts, strict=True)
        }


class Rule(ABC):
    """A way to aggregate several labels into one. Hashable and comparable; reports print ``name``."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def tables(self, ratings: Ratings) -> tuple[Aggregated, ...]:
        """The label tables that a metric is computed on, then averaged over: one table, except for ``per_rater``."""


class OneTable(Rule):
    """A rule that gives each unit at most one label."""

    @abstractmethod
    def apply(self, ratings: Ratings) -> Aggregated: ...

    def tables(self, ratings: Ratings) -> tuple[Aggregated, ...]:
        return (self.apply(ratings),)


@dataclass(frozen=True)
class Majority(OneTable):
    """The label that most of the unit's raters gave; where two labels tie for most, none."""

    name = "majority"

    def apply(self, ratings: Ratings) -> Aggregated:
        counts = count_units(ratings)
        units = len(ratings.units)
        most = np.zeros(units, dtype=np.int64)
        np.maximum.at(most, counts.unit, counts.count)
        top = counts.count == most[counts.unit]
        tops = np.bincount(counts.unit[top], minlength=units)
        value = np.full(units, UNRESOLVED, dtype=np.int32)
        value[counts.unit[top]] = counts.label[top]
        value[tops > 1] = UNRESOLVED
        return _aggregated(
            self.name, ratings, value, {TIES: int((tops > 1).sum()), UNRATED: int((tops == 0).sum())}
        )


@dataclass(frozen=True)
class Median(OneTable):
    """The label in the middle of a unit's ratings, in the order of their numbers.

    Where two different labels share the middle, none at ordinal level (there is no label between them), and their mean at
    interval and ratio level. ``ValueError`` for nominal labels without scores.
    """

    name = "median"

    def apply(self, ratings: Ratings) -> Aggregated:
        numbers = ratings.amounts
        order = np.argsort(numbers, kind="stable")
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        grouped = ratings.grouped
        sorted_rows = np.lexsort((place[grouped.value], grouped.unit))
        sizes, start = grouped.sizes, grouped.start[:-1]
        rated = sizes > 0
        lower = grouped.value[sorted_rows][(start + (sizes - 1) // 2)[rated]]
        upper = grouped.value[sorted_rows][(start + sizes // 2)[rated]]
        if ratings.level in ("interval", "ratio"):
            return _numbered(self.name, ratings, rated, (numbers[lower] + numbers[upper]) / 2)
        value = np.full(len(ratings.units), UNRESOLVED, dtype=np.int32)
        value[rated] = np.where(lower == upper, lower, UNRESOLVED)
        between = {BETWEEN: int((lower != upper).sum()), UNRATED: int((~rated).sum())}
        return _aggregated(self.name, ratings, value, between)


@dataclass(frozen=True)
class Mean(OneTable):
    """The mean of a unit's numbers, as a label of its own: at ordinal level of the scores, else of labels that are numbers,
    else of the ranks from 1.

    ``ValueError`` for nominal labels without scores.
    """

    name = "mean"

    def apply(self, ratings: Ratings) -> Aggregated:
        grouped = ratings.grouped
        rated = grouped.sizes > 0
        sums = np.bincount(grouped.unit, weights=ratings.amounts[grouped.value], minlength=len(ratings.units))
        return _numbered(self.name, ratings, rated, sums[rated] / grouped.sizes[rated])


@dataclass(frozen=True)
class DawidSkeneRule(OneTable):
    """The most probable true label under Dawid and Skene's model; equally probable ones tie."""

    name = "dawid_skene"

    def apply(self, ratings: Ratings) -> Aggregated:
        return _most_probable(self.name, ratings, dawid_skene(ratings).posterior)


@dataclass(frozen=True)
class MaceRule(OneTable):
    """The most probable label under MACE (Hovy et al. 2013), as crowd-kit fits it.

    ``seed`` draws its start. One start: crowd-kit's restarts all use the same seed, so that more would find the same.
    """

    seed: int = 0
    iterations: int = 50
    name = "mace"

    def apply(self, ratings: Ratings) -> Aggregated:
        return _most_probable(self.name, ratings, mace(ratings, seed=self.seed, iterations=self.iterations))


@dataclass(frozen=True)
class Single(OneTable):
    """The labels of one rater."""

    rater: str

    @property
    def name(self) -> str:
        return f"single:{self.rater}"

    def apply(self, ratings: Ratings) -> Aggregated:
        if self.rater not in ratings.raters:
            raise ValueError(f"rule: {self.rater!r} is not a rater of the table")
        rows = ratings.rater == ratings.raters.index(self.rater)
        value = np.full(len(ratings.units), UNRESOLVED, dtype=np.int32)
        value[ratings.unit[rows]] = ratings.value[rows]
        return _aggregated(
            self.name, ratings, value, {f"units that {self.rater} did not rate": int((value < 0).sum())}
        )


@dataclass(frozen=True)
class PerRater(Rule):
    """No aggregation: the metric for each rater, then the mean over the raters for whom it is defined."""

    name = "per_rater"

    def tables(self, ratings: Ratings) -> tuple[Aggregated, ...]:
        present = np.unique(ratings.rater)
        return tuple(Single(ratings.raters[code]).apply(ratings) for code in present)


def parse_rule(text: str) -> Rule:
    """The rule with this name: majority, dawid_skene, mace, median, mean, per_rater or single:<rater>.

    >>> parse_rule("single:ann")
    Single(rater='ann')
    """
    plain: dict[str, Rule] = {
        "majority": Majority(),
        "dawid_skene": DawidSkeneRule(),
        "mace": MaceRule(),
        "median": Median(),
        "mean": Mean(),
        "per_rater": PerRater(),
    }
    if text in plain:
        return plain[text]
    kind, _, rater = text.partition(":")
    if kind == "single" and rater:
        return Single(rater)
    raise ValueError(f"rule: expected one of {RULES}, got {text!r}")


def aggregate(ratings: Ratings, rule: str | Rule = "majority") -> Aggregated:
    """One label per unit by ``rule`` (a name or a rule object); see the rules for what each does.

    All raters of the table count alike: pass ``ratings.people()`` to leave simulators out. ``ValueError`` for an
    unknown rule, and for ``per_rater``, which makes one table per rater: use ``parse_rule("per_rater").tables(ratings)``.

    >>> rows = [("a", "u", "yes"), ("b", "u", "yes"), ("c", "u", "no"), ("a", "v", "yes"), ("b", "v", "no")]
    >>> found = aggregate(Ratings.from_rows(rows))
    >>> found.by_unit(), found.left_out
    ({'u': 'yes', 'v': None}, {'units whose raters tie': 1})
    """
    chosen = parse_rule(rule) if isinstance(rule, str) else rule
    if not isinstance(chosen, OneTable):
        raise ValueError(
            f"rule: {chosen.name} gives one table per rater, not one label per unit; use its tables()"
        )
    return chosen.apply(ratings)


def mace(ratings: Ratings, *, seed: int = 0, iterations: int = 50) -> Floats:
    """Shape (units, labels): probability of each label under MACE; ``nan`` where nobody rated the unit.

    Multi-annotator competence estimation: a rater either knows the label or answers from a habit of their own.
    Variational Bayes through crowd-kit with its priors, on rows in order of unit and rater, so that the
    result does not depend on the order of the rows. Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013).
    """
    shape = (len(ratings.units), len(ratings.labels))
    result = np.full(shape, np.nan)
    if not len(ratings):
        return result
    import pandas as pd  # imported late: crowd-kit and pandas take a second
    from crowdkit.aggregation import MACE

    grouped = ratings.grouped
    frame = pd.DataFrame({"task": grouped.unit, "worker": grouped.rater, "label": grouped.value})
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # crowd-kit uses deprecated pandas features
        found: Any = MACE(n_restarts=1, n_iter=iterations, random_state=seed).fit_predict_proba(frame)
    result[found.index.to_numpy()] = 0.0
    result[np.ix_(found.index.to_numpy(), found.columns.to_numpy())] = found.to_numpy()
    return result


def _numbered(rule: str, ratings: Ratings, rated: npt.NDArray[np.bool_], numbers: Floats) -> Aggregated:
    """Numbers of the rated units as labels, in ascending order."""
    distinct, codes = np.unique(numbers, return_inverse=True)
    value = np.full(len(ratings.units), UNRESOLVED, dtype=np.int32)
    value[rated] = codes
    left_out = {UNRATED: int((~rated).sum())} if not rated.all() else {}
    return Aggregated(rule, ratings.units, tuple(map(write_number, distinct.tolist())), value, left_out)


def _most_probable(rule: str, ratings: Ratings, probability: Floats) -> Aggregated:
    units, labels = probability.shape
    known: npt.NDArray[np.bool_] = np.full(units, labels > 0) & ~np.isnan(probability).any(axis=1)
    value = np.full(units, UNRESOLVED, dtype=np.int32)
    tied = np.zeros(units, dtype=bool)
    if labels:
        filled = np.where(known[:, None], probability, 0.0)
        best = filled.max(axis=1)
        tied = known & ((filled >= best[:, None] - _TIE).sum(axis=1) > 1)
        value[known] = filled[known].argmax(axis=1)
        value[tied] = UNRESOLVED
    unrated = ratings.grouped.sizes == 0
    left_out = {
        TIES: int(tied.sum()),
        UNRATED: int(unrated.sum()),
        "units whose probabilities underflow": int((~known & ~unrated).sum()),
    }
    return _aggregated(rule, ratings, value, left_out)


def _aggregated(rule: str, ratings: Ratings, value: Codes, left_out: Mapping[str, int]) -> Aggregated:
    return Aggregated(rule, ratings.units, ratings.labels, value, {r: n for r, n in left_out.items() if n})
