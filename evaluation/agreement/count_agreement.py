"""The agreement statistics over all raters of a table at once, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from evaluation.agreement.bootstrap import LEAST_REPLICATES
from evaluation.agreement.conger import conger_estimates
from evaluation.agreement.counts import UnitCounts, count_units
from evaluation.agreement.descriptive import mean_label, mean_without_groups, median_label
from evaluation.agreement.fleiss import fleiss_kappa
from evaluation.agreement.gwet import ac2_without_groups, add_ac2_interval, gwet_ac1, gwet_ac2, open_ended
from evaluation.agreement.icc import FORMS, intraclass_correlation
from evaluation.agreement.icc_mixed import is_unbalanced, mixed_correlation
from evaluation.agreement.intervals import Name, replicate_counts, values_without_groups
from evaluation.agreement.krippendorff import krippendorff_alpha
from evaluation.agreement.new_raters import RaterVariance, for_these_raters, variance_over_raters
from evaluation.agreement.percent import percent_agreement
from evaluation.core.estimate import NAN, Estimate
from evaluation.core.interval import AT_MOST_ONE
from evaluation.core.ratings_table import Floats, Ints, Ratings

#: Ends the names of the mean and the median of labels without numbers.
RANKED = "_rank"
AC2_WEIGHTS: tuple[Literal["linear", "quadratic"], ...] = ("linear", "quadratic")


@dataclass(frozen=True, eq=False)
class CountAgreement:
    """The statistics over all raters of a table at once."""

    raters: int
    ratings: int
    percent_agreement: Estimate
    krippendorff_alpha: Estimate
    fleiss_kappa: Estimate
    gwet_ac1: Estimate
    #: By name: Conger's kappa, if raters have names; Fleiss' kappa for unequal numbers of raters; above nominal level AC2,
    #: intraclass correlations, mean, median.
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


def _count_estimates(ratings: Ratings, counts: UnitCounts | None = None) -> dict[Name, Estimate]:
    counts = counts or count_units(ratings)
    return {
        "percent_agreement": percent_agreement(counts),
        "krippendorff_alpha": krippendorff_alpha(ratings),
        "fleiss_kappa": fleiss_kappa(counts),
        "gwet_ac1": gwet_ac1(counts),
    }


def count_agreement(
    ratings: Ratings,
    rng: np.random.Generator | None,
    replicates: int,
    *,
    new_raters: bool,
    named: bool = True,
) -> CountAgreement:
    """All of them; intervals need ``rng`` and are for other raters too with ``new_raters``.

    ``named`` is :func:`evaluation.agreement.summary.summarize`'s.
    """
    counts = count_units(ratings)
    found: dict[Name, Estimate] = _count_estimates(ratings, counts)
    further: dict[str, Estimate] = {}
    if not found["fleiss_kappa"].defined:
        unequal = fleiss_kappa(counts, unequal=True)
        further = {"fleiss_kappa_unequal": unequal} if unequal.defined else {}
    drawing = rng is not None and len(ratings) > 0
    others = variance_over_raters(ratings, _without_groups) if drawing and new_raters else {}
    if ratings.level != "nominal":
        further |= further_estimates(ratings, rng, replicates, others=others, named=named)
    if named:
        asked = drawing and replicates >= LEAST_REPLICATES
        further |= conger_estimates(ratings, intervals=asked, new_raters=new_raters)
    if rng is not None and drawing:
        drawn = replicate_counts(ratings, rng=rng, replicates=replicates)
        found = {
            name: drawn.add_interval(name, estimate, new_raters=others.get(name))
            for name, estimate in found.items()
        }
        if replicates and found["gwet_ac1"].defined and (why := open_ended(ratings)):
            found["gwet_ac1"] = replace(found["gwet_ac1"], low=NAN, high=NAN, interval=why)
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
    named: bool = True,
) -> dict[str, Estimate]:
    """Further statistics of labels with numbers or an order: AC2, the six intraclass correlations, mean and median, by name.

    Where some units were not rated by all raters, also those of a mixed model (:mod:`evaluation.agreement.icc_mixed`).
    Of labels that have an order only, these two are ``mean_rank`` and ``median_rank``: 1 is the lowest label.

    ``others`` are the variances over raters where intervals are for new raters: those of AC2 and the mean. Bootstrap
    intervals of intraclass correlations and of the median are for these raters in any case, and say so.
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
    asked = rng is not None and replicates >= LEAST_REPLICATES
    correlations = intraclass_correlation(ratings, rng=rng, replicates=replicates, named=named, normal=asked)
    for name in FORMS:
        found[_slug(name)] = correlations.leading(name)
        if asked:
            found[f"{_slug(name)}_f"] = correlations.forms[name]
    if is_unbalanced(ratings):
        mixed = mixed_correlation(ratings, named=named, intervals=asked)
        for name, jackknifed in mixed.jackknife.items():
            found[f"{_slug(name)}_mixed"] = jackknifed
            if asked:
                found[f"{_slug(name)}_mixed_f"] = mixed.forms[name]
    end = RANKED if ratings.ranked else ""
    found[f"mean{end}"] = mean_label(ratings, rng=rng, replicates=replicates, new_raters=others.get("mean"))
    found[f"median{end}"] = for_these_raters(median_label(ratings, rng=rng, replicates=replicates))
    return found


def _slug(form: str) -> str:
    """The name of a form among the statistics.

    >>> _slug("ICC(2,1)")
    'icc_2_1'
    """
    return form.lower().replace("(", "_").replace(",", "_").rstrip(")")
