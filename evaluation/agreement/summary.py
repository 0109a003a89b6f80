"""All agreement statistics of a ratings table in one call, for the command and for reports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evaluation.agreement.aggregate import Aggregated, PerRater, Rule, Single, parse_rule
from evaluation.agreement.alternative import DEFAULT_EPSILON, AlternativeTest, alternative_annotator_test
from evaluation.agreement.bootstrap import DEFAULT_REPLICATES, LEAST_REPLICATES
from evaluation.agreement.cohen import DEFAULT_MIN_OVERLAP
from evaluation.agreement.count_agreement import CountAgreement, count_agreement
from evaluation.agreement.descriptive import label_near
from evaluation.agreement.kappa_agreement import KappaAgreement, kappa_agreement, unit_word
from evaluation.agreement.pairs import Weights
from evaluation.agreement.percent import prevalences
from evaluation.agreement.raters import RestAgreement, agreement_with_rest
from evaluation.core.estimate import none_if_nan, undefined
from evaluation.core.ratings_table import Ratings

BLANK = "rows without a value"
NO_NAMES = "raters have no names, so no two labels are known to be one rater's"
#: Intraclass correlations that need to know which labels are one rater's.
NAMED_CORRELATIONS = ("icc_2_", "icc_3_")
ORDERED_WEIGHTS: tuple[Weights, ...] = ("nominal", "linear", "quadratic")


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
        result |= self._median_label() | {"left_out": dict(self.left_out)}
        return result | ({"aggregate": self.aggregate.to_dict()} if self.aggregate else {})

    def _median_label(self) -> dict[str, Any]:
        """The label that the median rank stands for, where labels have an order but no numbers."""
        rank = self.everyone.further.get("median_rank")
        return {} if rank is None else {"median_label": label_near(list(self.labels), rank.value) or None}

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
        for weights, found in self.kappa.items():
            if weights != "nominal":
                result[f"human_human_{weights}"] = found.group("people")
                result[f"human_simulator_{weights}"] = {name: found.group(name) for name in self.simulators}
        result |= self._median_label()
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
    no replicates, there are no intervals. They are for these raters and other clusters; with ``new_raters`` for other raters too
    (at least 5). ``without_labels`` are treated as missing (the label set without "cannot guess"). ``rule`` also aggregates the
    ratings of each unit into one label, from people's ratings where there are people. With ``named`` False, raters are only
    numbers within each unit, and statistics of pairs and of single raters aren't defined. ``blank`` counts rows without a value,
    to be reported with the rest. ``epsilon`` is the alternative annotator test's. See each statistic's own function for its
    formula and undefined cases.

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
    found = AgreementSummary(
        units=len(dropped.units),
        level=dropped.level,
        labels=prevalences(dropped),
        everyone=count_agreement(dropped, rng, replicates, new_raters=new_raters, named=named),
        people=count_agreement(people, rng, replicates, new_raters=new_raters, named=named)
        if people is not None
        else None,
        kappa={
            w: kappa_agreement(
                dropped,
                w,
                min_overlap,
                simulators,
                intervals=named and rng is not None and replicates >= LEAST_REPLICATES,
                new_raters=new_raters,
            )
            for w in weights
        },
        raters=agreement_with_rest(dropped, rest="people" if simulators else "all"),
        simulators=simulators,
        alternative=tuple(
            alternative_annotator_test(dropped, name, epsilon=epsilon, rng=rng, replicates=replicates)
            for name in simulators
        ),
        aggregate=_aggregate(dropped, chosen),
        without_labels=tuple(without_labels),
        drawn=unit_word(dropped),
        new_raters=new_raters,
        named=named,
        left_out={reason: count for reason, count in left_out.items() if count},
    )
    return found if named else _without_names(found)


def _without_names(found: AgreementSummary) -> AgreementSummary:
    """Without what needs to know which labels are one rater's; a rater's number within a unit doesn't tell that."""
    unknown = undefined(NO_NAMES)
    return replace(
        found,
        everyone=_without_rater_effects(found.everyone),
        people=found.people and _without_rater_effects(found.people),
        kappa={
            w: replace(
                one,
                mean=dict.fromkeys(one.mean, unknown),
                weighted_mean=dict.fromkeys(one.mean, unknown),
                corrected={},
                weighted_corrected={},
            )
            for w, one in found.kappa.items()
        },
        alternative=tuple(
            AlternativeTest(one.simulator, one.epsilon, unknown, unknown) for one in found.alternative
        ),
    )


def _without_rater_effects(found: CountAgreement) -> CountAgreement:
    kept = {k: v for k, v in found.further.items() if not k.startswith(NAMED_CORRELATIONS)}
    return replace(found, further=kept)


def _given(ratings: Ratings, label: str) -> int:
    return int((ratings.value == ratings.labels.index(label)).sum()) if label in ratings.labels else 0


def _aggregate(ratings: Ratings, rule: Rule | None) -> Aggregate | None:
    if rule is None:
        return None
    people = ratings.people()
    whole_table = isinstance(rule, Single) or not people.raters
    return Aggregate(rule.name, rule.tables(ratings if whole_table else people))
