"""Agreement between raters: pure functions on a long ratings table, without a server.

>>> from evaluation.agreement import Ratings, krippendorff_alpha, pairwise_kappa
>>> table = Ratings.from_rows([("ann", "q1", "yes"), ("bob", "q1", "yes"), ("ann", "q2", "no"), ("bob", "q2", "no")])
>>> krippendorff_alpha(table).value, pairwise_kappa(table, min_overlap=2).mean().value
(1.0, 1.0)
"""

from evaluation.agreement.aggregate import (
    Aggregated,
    DawidSkeneRule,
    MaceRule,
    Majority,
    PerRater,
    Rule,
    Single,
    aggregate,
    mace,
    parse_rule,
)
from evaluation.agreement.cohen import PairwiseKappa, cohen_kappa, pairwise_kappa
from evaluation.agreement.dawid_skene import DawidSkene, dawid_skene
from evaluation.agreement.fleiss import fleiss_kappa
from evaluation.agreement.gwet import gwet_ac1
from evaluation.agreement.krippendorff import krippendorff_alpha
from evaluation.agreement.percent import percent_agreement, prevalences
from evaluation.agreement.raters import Confusion, RestAgreement, agreement_with_rest, confusion
from evaluation.estimate import Estimate, undefined
from evaluation.ratings import Ratings

__all__ = [
    "Aggregated",
    "Confusion",
    "DawidSkene",
    "DawidSkeneRule",
    "Estimate",
    "MaceRule",
    "Majority",
    "PairwiseKappa",
    "PerRater",
    "Ratings",
    "RestAgreement",
    "Rule",
    "Single",
    "aggregate",
    "agreement_with_rest",
    "cohen_kappa",
    "confusion",
    "dawid_skene",
    "fleiss_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "mace",
    "pairwise_kappa",
    "parse_rule",
    "percent_agreement",
    "prevalences",
    "undefined",
]
