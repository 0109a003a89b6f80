"""Agreement of one variable under one label set, with intervals: what the agreement section and tables show."""

from __future__ import annotations

from dataclasses import dataclass, field

from evaluation.agreement import (
    PairwiseKappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    pairwise_kappa,
    percent_agreement,
    prevalences,
)
from evaluation.estimate import Estimate
from evaluation.ratings import Ratings
from evaluation.reports.context import Context


@dataclass(frozen=True)
class Agreement:
    """Agreement among people, and between people and each simulator."""

    labels: str
    ratings: Ratings
    kappas: PairwiseKappa
    human_human: Estimate
    human_human_weighted: Estimate
    human_simulator: dict[str, Estimate]
    human_simulator_weighted: dict[str, Estimate]
    alpha: Estimate
    fleiss: Estimate
    ac1: Estimate
    percent: Estimate
    prevalence: dict[str, float]
    quadratic: Estimate | None = None
    by_simulator: dict[str, dict[str, float]] = field(default_factory=dict)


def agreement_of(ctx: Context, variable: str, labels: str = "all") -> Agreement:
    """All agreement statistics of a variable; ``labels`` is "all" or "statements" (without "cannot guess")."""
    ratings = ctx.ratings(variable)
    ratings = ratings.without_abstain() if labels == "statements" else ratings
    people = ratings.people()
    kappas = pairwise_kappa(ratings, min_overlap=ctx.choices.min_overlap)
    ordered = ratings.level == "ordinal"
    names = sorted(ratings.simulators)
    return Agreement(
        labels=labels,
        ratings=ratings,
        kappas=kappas,
        human_human=kappas.mean("people"),
        human_human_weighted=kappas.weighted_mean("people"),
        human_simulator={name: kappas.mean(name) for name in names},
        human_simulator_weighted={name: kappas.weighted_mean(name) for name in names},
        alpha=krippendorff_alpha(people),
        fleiss=fleiss_kappa(people),
        ac1=gwet_ac1(people),
        percent=percent_agreement(people),
        prevalence=prevalences(people),
        quadratic=pairwise_kappa(people, weights="quadratic", min_overlap=ctx.choices.min_overlap).mean(
            "people"
        )
        if ordered
        else None,
        by_simulator={name: prevalences(ratings.only_raters([name])) for name in names},
    )
