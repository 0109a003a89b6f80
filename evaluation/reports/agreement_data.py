"""Agreement on one variable with one label set, with intervals, for the agreement section and tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.agreement import AlternativeTest, PairwiseKappa, RestAgreement, prevalences, summarize
from evaluation.agreement.alternative import DEFAULT_EPSILON
from evaluation.agreement.conger import NAMES as CONGER
from evaluation.agreement.kappa_agreement import KappaAgreement
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings


@dataclass(frozen=True)
class KappaMeans:
    """Averages of kappa over pairs of raters: of people with each other and of people with each simulator."""

    human_human: Estimate
    human_human_weighted: Estimate
    human_simulator: dict[str, Estimate]
    human_simulator_weighted: dict[str, Estimate]
    #: The averages of people without the bias of pairs that share few units; None if none were computed.
    corrected: Estimate | None = None


@dataclass(frozen=True)
class Agreement:
    """Agreement among people, and between people and each simulator."""

    labels: str
    #: All ratings of the variable, whatever the label set.
    whole: Ratings
    kappas: PairwiseKappa
    pairs: list[dict[str, Any]]
    human_human: Estimate
    human_human_weighted: Estimate
    human_simulator: dict[str, Estimate]
    human_simulator_weighted: dict[str, Estimate]
    alpha: Estimate
    fleiss: Estimate
    ac1: Estimate
    percent: Estimate
    prevalence: dict[str, float]
    rest: RestAgreement
    alternative: tuple[AlternativeTest, ...]
    #: ``human_human`` without the bias of pairs that share few units.
    corrected: Estimate | None = None
    #: Means of kappa with quadratic weights, if labels have an order.
    ordered: KappaMeans | None = None
    #: By name: Fleiss' kappa for unequal numbers of raters, AC2 and intraclass correlations, as far as they apply.
    further: dict[str, Estimate] = field(default_factory=dict)
    by_simulator: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def ratings(self) -> Ratings:
        """The ratings that the statistics are of; of a part of the labels made each time, since they'd double a report's memory."""
        return self.whole.without_abstain() if self.labels == "statements" else self.whole

    @property
    def nominal(self) -> KappaMeans:
        """The means of kappa that takes all disagreements as equal."""
        return KappaMeans(
            self.human_human,
            self.human_human_weighted,
            self.human_simulator,
            self.human_simulator_weighted,
            self.corrected,
        )

    @property
    def lead(self) -> KappaMeans:
        """The means that stand for the variable: with quadratic weights if labels have an order."""
        return self.ordered or self.nominal

    @property
    def conger(self) -> Estimate | None:
        """Conger's kappa of people, with the weights of ``lead``; None if raters have no names."""
        return self.further.get(CONGER["quadratic" if self.ordered else "nominal"])

    @property
    def kappa_title(self) -> str:
        """What ``lead`` holds, for a sentence or a heading."""
        return "Cohen’s κ with quadratic weights" if self.ordered else "Cohen’s κ"


def agreement_of(
    whole: Ratings,
    labels: str = "all",
    *,
    min_overlap: int,
    replicates: int,
    rng: np.random.Generator | None,
    named: bool = True,
    epsilon: float = DEFAULT_EPSILON,
    new_raters: bool = False,
) -> Agreement:
    """All agreement statistics of one variable.

    ``labels`` is "all" or "statements" (without "cannot guess"). Pairs of raters that share fewer than
    ``min_overlap`` units are listed but not averaged. Without ``rng`` there are no intervals. If raters aren't ``named``, nothing
    about pairs or single raters is defined. ``epsilon`` is the alternative annotator test's. With ``new_raters``, intervals are for raters like
    these too.
    """
    ratings = whole.without_abstain() if labels == "statements" else whole
    found = summarize(
        ratings,
        min_overlap=min_overlap,
        replicates=replicates,
        rng=rng,
        named=named,
        epsilon=epsilon,
        new_raters=new_raters,
    )
    kappa = found.kappa["nominal"]
    people = found.people or found.everyone
    listed = named and len(ratings.raters) <= 200
    return Agreement(
        labels=labels,
        whole=whole,
        kappas=kappa.pairs,
        pairs=[row for row in kappa.rows() if row["n"]] if listed else [],
        human_human=kappa.mean["people"],
        human_human_weighted=kappa.weighted_mean["people"],
        human_simulator={name: kappa.mean[name] for name in found.simulators},
        human_simulator_weighted={name: kappa.weighted_mean[name] for name in found.simulators},
        alpha=people.krippendorff_alpha,
        fleiss=people.fleiss_kappa,
        ac1=people.gwet_ac1,
        percent=people.percent_agreement,
        prevalence=prevalences(ratings.people()),
        rest=found.raters,
        alternative=found.alternative,
        corrected=kappa.corrected.get("people"),
        ordered=_means(found.kappa["quadratic"], found.simulators) if "quadratic" in found.kappa else None,
        further=dict(people.further),
        by_simulator={name: prevalences(ratings.only_raters([name])) for name in found.simulators},
    )


def _means(found: KappaAgreement, simulators: tuple[str, ...]) -> KappaMeans:
    return KappaMeans(
        found.mean["people"],
        found.weighted_mean["people"],
        {name: found.mean[name] for name in simulators},
        {name: found.weighted_mean[name] for name in simulators},
        found.corrected.get("people"),
    )
