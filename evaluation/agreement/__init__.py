"""Agreement between raters: pure functions on a long ratings table, without a server.

>>> from evaluation.agreement import Ratings, krippendorff_alpha, pairwise_kappa
>>> table = Ratings.from_rows([("ann", "q1", "yes"), ("bob", "q1", "yes"), ("ann", "q2", "no"), ("bob", "q2", "no")])
>>> krippendorff_alpha(table).value, pairwise_kappa(table, min_overlap=2).mean().value
(1.0, 1.0)
"""

from annotator.core.tables.faults import FileRefused
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
from evaluation.agreement.alternative import AlternativeTest, alternative_annotator_test
from evaluation.agreement.bootstrap import bootstrap, bootstrap_mean, cluster_sums, ratio
from evaluation.agreement.bradley_terry import PairwiseStrengths, bradley_terry
from evaluation.agreement.by_form import FormSummary, summarize_form
from evaluation.agreement.cohen import PairwiseKappa, cohen_kappa, pairwise_kappa
from evaluation.agreement.comparison import (
    Comparison,
    benjamini_yekutieli,
    compare_sums_by_bootstrap,
    compare_sums_by_permutation,
    holm,
    paired_bootstrap,
    paired_permutation_test,
    paired_t_test,
)
from evaluation.agreement.conger import conger_kappa
from evaluation.agreement.dawid_skene import DawidSkene, dawid_skene
from evaluation.agreement.fleiss import fleiss_kappa
from evaluation.agreement.gwet import gwet_ac1, gwet_ac2
from evaluation.agreement.icc import IntraclassCorrelation, intraclass_correlation
from evaluation.agreement.icc_mixed import MixedCorrelation, mixed_correlation
from evaluation.agreement.krippendorff import krippendorff_alpha
from evaluation.agreement.output import as_json
from evaluation.agreement.output_csv import as_csv
from evaluation.agreement.output_text import as_text
from evaluation.agreement.percent import percent_agreement, prevalences
from evaluation.agreement.ranking_agreement import RankingAgreement, kendall_w, ranking_agreement
from evaluation.agreement.raters import RestAgreement, agreement_with_rest
from evaluation.agreement.reading import ReadRatings, read_ratings
from evaluation.agreement.set_agreement import SetAgreement, set_agreement, set_distances
from evaluation.agreement.soft_labels import SoftScores, soft_scores
from evaluation.agreement.sources import Disagreement, disagreement_of, disagreement_with
from evaluation.agreement.span_agreement import SpanAgreement, span_agreement
from evaluation.agreement.summary import AgreementSummary, summarize
from evaluation.core.estimate import Estimate, undefined
from evaluation.core.ratings_table import Ratings

__all__ = [
    "Aggregated",
    "AgreementSummary",
    "AlternativeTest",
    "Comparison",
    "DawidSkene",
    "DawidSkeneRule",
    "Disagreement",
    "Estimate",
    "FileRefused",
    "FormSummary",
    "IntraclassCorrelation",
    "MaceRule",
    "Majority",
    "MixedCorrelation",
    "PairwiseKappa",
    "PairwiseStrengths",
    "PerRater",
    "RankingAgreement",
    "Ratings",
    "ReadRatings",
    "RestAgreement",
    "Rule",
    "SetAgreement",
    "Single",
    "SoftScores",
    "SpanAgreement",
    "aggregate",
    "agreement_with_rest",
    "alternative_annotator_test",
    "as_csv",
    "as_json",
    "as_text",
    "benjamini_yekutieli",
    "bootstrap",
    "bootstrap_mean",
    "bradley_terry",
    "cluster_sums",
    "cohen_kappa",
    "compare_sums_by_bootstrap",
    "compare_sums_by_permutation",
    "conger_kappa",
    "dawid_skene",
    "disagreement_of",
    "disagreement_with",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "holm",
    "intraclass_correlation",
    "kendall_w",
    "krippendorff_alpha",
    "mace",
    "mixed_correlation",
    "paired_bootstrap",
    "paired_permutation_test",
    "paired_t_test",
    "pairwise_kappa",
    "parse_rule",
    "percent_agreement",
    "prevalences",
    "ranking_agreement",
    "ratio",
    "read_ratings",
    "set_agreement",
    "set_distances",
    "soft_scores",
    "span_agreement",
    "summarize",
    "summarize_form",
    "undefined",
]
