"""All agreement statistics of a ratings table in one call, for the command and for reports."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from evaluation.agreement.aggregate import Aggregated, PerRater, Rule, Single, parse_rule
from evaluation.agreement.alternative import DEFAULT_EPSILON, AlternativeTest, alternative_annotator_test
from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, LEAST_REPLICATES
from evaluation.agreement.cohen import DEFAULT_MIN_OVERLAP, PairwiseKappa, Which, pairwise_kappa
from evaluation.agreement.counts import UnitCounts, count_units
from evaluation.agreement.descriptive import mean_label, mean_without_groups, median_label
from evaluation.agreement.fleiss import fleiss_kappa
from evaluation.agreement.gwet import ac2_without_groups, add_ac2_interval, gwet_ac1, gwet_ac2
from evaluation.agreement.icc import FORMS, intraclass_correlation
from evaluation.agreement.intervals import Name, replicate_counts, values_without_groups
from evaluation.agreement.kappa_jackknife import KappaJackknife, jackknife_kappas
from evaluation.agreement.krippendorff import krippendorff_alpha
from evaluation.agreement.new_raters import (
    RaterVariance,
    for_these_raters,
    variance_over_pairs,
    variance_over_raters,
)
from evaluation.agreement.pairs import Weights
from evaluation.agreement.percent import percent_agreement, prevalences
from evaluation.agreement.raters import RestAgreement, agreement_with_rest
from evaluation.core.estimate import Estimate, none_if_nan
from evaluation.core.interval import AT_MOST_ONE
from evaluation.core.ratings_table import Floats, Ints, Ratings

#: With more pairs of raters than this, those that share no unit are counted, not listed.
LISTED_PAIRS = 200_000
BLANK = "rows without a value"
#: Stands for the rows of pairs, before the kind of weights, where they are written one by one.
PAIRS = "@pairs:"
AC2_WEIGHTS: tuple[Literal["linear", "quadratic"], ...] = ("linear", "quadratic")
ORDERED_WEIGHTS: tuple[Weights, ...] = ("nominal", "linear", "quadratic")


@dataclass(frozen=True, eq=False)
class CountAgreement:
    """The statistics over all raters of a table at once."""

    raters: int
    ratings: int
    percent_agreement: Estimate
    krippendorff_alpha: Estimate
    fleiss_kappa: Estimate
    gwet_ac1: Estimate
    #: By name: Fleiss' kappa for unequal numbers of raters; above nominal level AC2, intraclass correlations, mean, median.
    further: Mapping[str, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "raters": self.raters,
            "ratings": self.ratings,
            "percent_agreement": self.percent_agreement.to_dict(),
            "krippendorff_alpha": self.krippendorff_alpha.to_dict(),
            "fleiss_kappa": self.fleiss_kappa.to_dict(),
            "gwet_ac1": self.gwet_ac1.to_dict(),
            **{name: found.to_dict() for name, found in self.further.items()},
        }


@dataclass(frozen=True, eq=False)
class KappaAgreement:
    """Cohen's kappa with one kind of weights: every pair, and the averages of each group of pairs.

    ``mean`` and ``weighted_mean`` have a key per group: "all", "people", and each simulator (its pairs with people).
    ``intervals`` of shape (P, 2) holds the pairs' intervals, ``nan`` for pairs not averaged, or is None.
    """

    pairs: PairwiseKappa
    mean: Mapping[Which, Estimate]
    weighted_mean: Mapping[Which, Estimate]
    intervals: Floats | None = None

    def rows(self) -> list[dict[str, Any]]:
        """One JSON object per pair of raters."""
        return list(self.iterate_rows())

    def iterate_rows(self) -> Iterator[dict[str, Any]]:
        """The same, one after the other: there may be a hundred thousand."""
        raters = len(self.pairs.raters)
        bounds = iter(self.intervals) if self.intervals is not None else None
        for row in self.pairs.rows(unshared=raters * (raters - 1) // 2 <= LISTED_PAIRS):
            low, high = next(bounds) if bounds is not None and row["n"] else (np.nan, np.nan)
            row["low"], row["high"] = none_if_nan(float(low)), none_if_nan(float(high))
            yield row

    def group(self, which: Which) -> dict[str, Any]:
        """A group's mean as JSON, the weighted mean inside."""
        return self.mean[which].to_dict() | {"weighted_mean": self.weighted_mean[which].to_dict()}

    def to_dict(self, *, pairs: bool = True) -> dict[str, Any]:
        return {
            "mean": self.mean["all"].to_dict(),
            "weighted_mean": self.weighted_mean["all"].to_dict(),
            "weights": self.pairs.weights,
            "min_overlap": self.pairs.min_overlap,
            "pairs": self.rows() if pairs else f"{PAIRS}{self.pairs.weights}",
        }


@dataclass(frozen=True, eq=False)
class Aggregate:
    """The labels that a rule makes of several raters' labels: one table, or one per rater (``per_rater``)."""

    rule: str
    tables: tuple[Aggregated, ...]

    @property
    def shares(self) -> dict[str, float]:
        """Share of each label: the mean over the tables that hold one; ``nan`` where none does."""
        found = [table.shares() for table in self.tables if table.n]
        labels = self.tables[0].labels if self.tables else ()
        return {k: float(np.mean([s[k] for s in found])) if found else float("nan") for k in labels}

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "rule": self.rule,
            "labels": {label: none_if_nan(share) for label, share in self.shares.items()},
        }
        if self.rule == PerRater.name:
            tables = {table.rule.removeprefix("single:"): table for table in self.tables}
            return result | {
                "n": len(tables),
                "raters": {name: {"n": table.n, "labels": table.shares()} for name, table in tables.items()},
            }
        (table,) = self.tables
        return result | {"n": table.n, "left_out": dict(table.left_out), "units": table.by_unit()}


@dataclass(frozen=True, eq=False, repr=False)
class AgreementSummary:
    """All agreement statistics of one variable.

    ``everyone`` counts all raters, ``people`` only people (None without simulators). ``kappa`` has a key per kind of
    weights, "nominal" always, "linear" and "quadratic" above nominal level. ``left_out`` counts ratings by reason.
    """

    units: int
    level: str
    labels: Mapping[str, float]
    everyone: CountAgreement
    people: CountAgreement | None
    kappa: Mapping[Weights, KappaAgreement]
    raters: RestAgreement
    simulators: tuple[str, ...]
    alternative: tuple[AlternativeTest, ...]
    aggregate: Aggregate | None = None
    without_labels: tuple[str, ...] = ()
    #: What intervals draw: "units" or "instances".
    drawn: str = "units"
    #: Whether intervals are for other raters too.
    new_raters: bool = False
    #: Whether raters have names; else statistics of pairs and single raters mean nothing and are left out.
    named: bool = True
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<AgreementSummary: {self.everyone.ratings:,} ratings by {self.everyone.raters:,} raters>"

    def _unnamed(self) -> dict[str, Any]:
        found = {k: v for k, v in self.everyone.to_dict().items() if k != "raters"}
        labels = {label: none_if_nan(share) for label, share in self.labels.items()}
        result = {"units": self.units, "level": self.level, "labels": labels, **found}
        result |= {"left_out": dict(self.left_out)}
        return result | ({"aggregate": self.aggregate.to_dict()} if self.aggregate else {})

    def to_dict(self, *, pairs: bool = True) -> dict[str, Any]:
        """As JSON: every statistic ``{"value", "low", "high", "n", "reason", ...}``, null where undefined."""
        if not self.named:
            return self._unnamed()
        nominal = self.kappa["nominal"]
        simulators = set(self.simulators)
        result = {
            "raters": self.everyone.raters,
            "units": self.units,
            "ratings": self.everyone.ratings,
            "level": self.level,
            "labels": {label: none_if_nan(share) for label, share in self.labels.items()},
            **{k: v for k, v in self.everyone.to_dict().items() if k not in ("raters", "ratings")},
            "cohen_kappa": nominal.to_dict(pairs=pairs),
            **{
                f"cohen_kappa_{w}": found.to_dict(pairs=pairs)
                for w, found in self.kappa.items()
                if w != "nominal"
            },
            "human_human": nominal.group("people"),
            "human_simulator": {name: nominal.group(name) for name in self.simulators},
            "alternative_annotator_test": [test.to_dict() for test in self.alternative],
            "rater_agreement": [
                {**row, "simulator": row["rater"] in simulators} for row in self.raters.rows()
            ],
            "without_labels": list(self.without_labels),
            "left_out": dict(self.left_out),
        }
        if self.people is not None:
            result["people"] = self.people.to_dict()
        if self.aggregate is not None:
            result["aggregate"] = self.aggregate.to_dict()
        return result


def summarize(
    ratings: Ratings,
    *,
    min_overlap: int = DEFAULT_MIN_OVERLAP,
    replicates: int = DEFAULT_REPLICATES,
    rng: np.random.Generator | None = None,
    epsilon: float = DEFAULT_EPSILON,
    without_labels: Collection[str] = (),
    rule: str | Rule | None = None,
    blank: int = 0,
    new_raters: bool = False,
    named: bool = True,
) -> AgreementSummary:
    """Compute the whole agreement of a table.

    ``rng`` draws the resamples behind the intervals (``replicates`` of them; kappa's are jackknifed); without it, or with
    no replicates, there are no intervals. They are for these raters and other clusters; with ``new_raters`` for other raters too (at least 5). ``without_labels`` are treated as missing (the label set without "cannot guess"). ``rule`` also makes one label
    a unit, of people's ratings where there are people. ``named`` False: raters are but numbers within each unit. ``blank`` counts rows without a value, to
    be reported with the rest. ``epsilon`` is the alternative annotator test's. See each
    statistic's own function for its formula and undefined cases.

    >>> rows = [("ann", "q1", "yes"), ("bob", "q1", "yes"), ("ann", "q2", "no"), ("bob", "q2", "no")]
    >>> summarize(Ratings.from_rows(rows), min_overlap=2).everyone.krippendorff_alpha.value
    1.0
    """
    if replicates < 0:
        raise ValueError(f"replicates: expected 0 or more, got {replicates}")
    dropped = ratings.without_labels(without_labels) if without_labels else ratings
    left_out = {BLANK: blank} | {f"ratings {label!r}": _given(ratings, label) for label in without_labels}
    chosen = parse_rule(rule) if isinstance(rule, str) else rule  # an invalid rule is refused before any work
    simulators = tuple(name for name in ratings.raters if name in ratings.simulators)
    rng = rng if replicates else None
    weights = ORDERED_WEIGHTS if dropped.level != "nominal" else ("nominal",)
    people = dropped.people() if simulators else None
    return AgreementSummary(
        units=len(dropped.units),
        level=dropped.level,
        labels=prevalences(dropped),
        everyone=_count_agreement(dropped, rng, replicates, new_raters=new_raters),
        people=_count_agreement(people, rng, replicates, new_raters=new_raters)
        if people is not None
        else None,
        kappa={
            w: _kappa_agreement(
                dropped,
                w,
                min_overlap,
                simulators,
                intervals=rng is not None and replicates >= LEAST_REPLICATES,
                new_raters=new_raters,
            )
            for w in weights
        },
        raters=agreement_with_rest(dropped, rest="people" if simulators else "all"),
        simulators=simulators,
        alternative=tuple(alternative_annotator_test(dropped, name, epsilon=epsilon) for name in simulators),
        aggregate=_aggregate(dropped, chosen),
        without_labels=tuple(without_labels),
        drawn=_word(dropped),
        new_raters=new_raters,
        named=named,
        left_out={reason: count for reason, count in left_out.items() if count},
    )


def _given(ratings: Ratings, label: str) -> int:
    return int((ratings.value == ratings.labels.index(label)).sum()) if label in ratings.labels else 0


def _aggregate(ratings: Ratings, rule: Rule | None) -> Aggregate | None:
    if rule is None:
        return None
    people = ratings.people()
    whole_table = isinstance(rule, Single) or not people.raters
    return Aggregate(rule.name, rule.tables(ratings if whole_table else people))


def _count_estimates(ratings: Ratings, counts: UnitCounts | None = None) -> dict[Name, Estimate]:
    counts = counts or count_units(ratings)
    return {
        "percent_agreement": percent_agreement(counts),
        "krippendorff_alpha": krippendorff_alpha(ratings),
        "fleiss_kappa": fleiss_kappa(counts),
        "gwet_ac1": gwet_ac1(counts),
    }


def _count_agreement(
    ratings: Ratings, rng: np.random.Generator | None, replicates: int, *, new_raters: bool
) -> CountAgreement:
    counts = count_units(ratings)
    found: dict[Name, Estimate] = _count_estimates(ratings, counts)
    further: dict[str, Estimate] = {}
    if not found["fleiss_kappa"].defined:
        unequal = fleiss_kappa(counts, unequal=True)
        further = {"fleiss_kappa_unequal": unequal} if unequal.defined else {}
    drawing = rng is not None and len(ratings) > 0
    others = variance_over_raters(ratings, _without_groups) if drawing and new_raters else {}
    if ratings.level != "nominal":
        further |= further_estimates(ratings, rng, replicates, others=others)
    if rng is not None and drawing:
        drawn = replicate_counts(ratings, rng=rng, replicates=replicates)
        found = {
            name: drawn.add_interval(name, estimate, new_raters=others.get(name))
            for name, estimate in found.items()
        }
        if "fleiss_kappa_unequal" in further:
            further["fleiss_kappa_unequal"] = drawn.add_interval(
                "fleiss_kappa",
                further["fleiss_kappa_unequal"],
                bounds=AT_MOST_ONE,
                new_raters=others.get("fleiss_kappa"),
            )
    return CountAgreement(len(ratings.raters), len(ratings), **found, further=further)


def _without_groups(ratings: Ratings, group: Ints) -> tuple[dict[str, float], dict[str, Floats]]:
    """Every statistic with an interval for new raters, and its values without each group of clusters."""
    counted, counted_without = values_without_groups(ratings, group)
    values: dict[str, float] = {str(name): value for name, value in counted.items()}
    without: dict[str, Floats] = {str(name): value for name, value in counted_without.items()}
    if ratings.level != "nominal":
        values["mean"], without["mean"] = mean_without_groups(ratings, group)
        for weights in AC2_WEIGHTS:
            name = f"gwet_ac2_{weights}"
            values[name], without[name] = ac2_without_groups(ratings, group, weights)
    return values, without


def further_estimates(
    ratings: Ratings,
    rng: np.random.Generator | None,
    replicates: int,
    *,
    others: Mapping[str, RaterVariance] | None = None,
) -> dict[str, Estimate]:
    """What labels with numbers have beside: AC2, the six intraclass correlations, mean and median, by name.

    ``others`` are the variances over raters where intervals are for new raters: those of AC2 and the mean. Bootstrap
    intervals of intraclass correlations and of the median are for these raters all the same, and say so.
    """
    others = others or {}
    found = {}
    for weights in AC2_WEIGHTS:
        name = f"gwet_ac2_{weights}"
        estimate = gwet_ac2(ratings, weights=weights)
        if rng is not None:
            estimate = add_ac2_interval(
                estimate,
                ratings,
                weights=weights,
                rng=rng,
                replicates=replicates,
                new_raters=others.get(name),
            )
        found[name] = estimate
    correlations = intraclass_correlation(ratings, rng=rng, replicates=replicates)
    for name in FORMS:
        slug = name.lower().replace("(", "_").replace(",", "_").rstrip(")")
        found[slug] = for_these_raters(correlations.bootstrap[name])
        if rng is not None and replicates >= LEAST_REPLICATES:
            found[f"{slug}_f"] = correlations.forms[name]
    found["mean"] = mean_label(ratings, rng=rng, replicates=replicates, new_raters=others.get("mean"))
    found["median"] = for_these_raters(median_label(ratings, rng=rng, replicates=replicates))
    return found


def _kappa_agreement(
    ratings: Ratings,
    weights: Weights,
    min_overlap: int,
    simulators: tuple[str, ...],
    *,
    intervals: bool,
    new_raters: bool,
) -> KappaAgreement:
    pairs = pairwise_kappa(ratings, weights=weights, min_overlap=min_overlap)
    groups: tuple[Which, ...] = ("all", "people", *simulators)
    mean = {group: pairs.mean(group) for group in groups}
    weighted = {group: pairs.weighted_mean(group) for group in groups}
    if not intervals or not pairs.averaged.any():
        return KappaAgreement(pairs, mean, weighted)
    jackknife, word = jackknife_kappas(ratings, pairs), _word(ratings)
    for group in groups:
        if mean[group].defined:
            used = pairs.of_group(group)[jackknife.kept].astype(np.float64)
            units = used * pairs.sums.n[jackknife.kept]
            for averages, weight in ((mean, used / used.sum()), (weighted, units / units.sum())):
                others = _pair_variance(pairs, jackknife, weight) if new_raters else None
                averages[group] = jackknife.add_interval(
                    averages[group], weight, word=word, new_raters=others
                )
    return KappaAgreement(pairs, mean, weighted, jackknife.pair_intervals(pairs))


def _pair_variance(pairs: PairwiseKappa, jackknife: KappaJackknife, weight: Floats) -> RaterVariance:
    """The variance over raters of an average of pairs' kappas."""
    kept = jackknife.kept
    a, b = pairs.sums.a[kept].astype(np.int64), pairs.sums.b[kept].astype(np.int64)
    return variance_over_pairs(
        pairs.kappa[kept], weight, a, b, len(pairs.raters), jackknife.deviations_of_means
    )


def _word(ratings: Ratings) -> str:
    return "units" if ratings.clusters is None else "instances"
