"""What the papers measure of explanations, as pure functions: arrays in, a small frozen result out.

Usable in a notebook without a server: ``from evaluation.metrics import FollowUps, simulatability``.
"""

from evaluation.metrics.accuracy import Accuracy, mean_over_systems, task_accuracy
from evaluation.metrics.association import correlation_ratio, theils_u
from evaluation.metrics.correlation import Correlation, annotator_ceiling, within_instance_correlation
from evaluation.metrics.encoders import CachedEncoder, Encoder, SentenceTransformerEncoder, TfidfEncoder
from evaluation.metrics.followups import NOT_RATED, FollowUps
from evaluation.metrics.generality import (
    Generality,
    all_similarities,
    generality,
    generality_by,
    group_generality,
)
from evaluation.metrics.generalization import (
    GeneralizationCell,
    GenU,
    gen_u,
    gen_u_score,
    generalization_accuracy,
)
from evaluation.metrics.generators import (
    Diversity,
    Growth,
    diversity_by_generator,
    growth,
    mix_generators,
)
from evaluation.metrics.ppi import (
    PredictionPowered,
    prediction_powered_precision,
    prediction_powered_ratio,
    prediction_powered_simulatable,
)
from evaluation.metrics.resample import ratio_estimate
from evaluation.metrics.similarity import Bleu, Cosine, Jaccard, Similarity
from evaluation.metrics.simulatability import (
    PerExplanation,
    Simulatability,
    by,
    per_explanation,
    per_rater_simulatability,
    simulatability,
)
from evaluation.metrics.systems import SystemComparison, common_instances, compare_systems
from evaluation.metrics.unit_tables import (
    Buckets,
    ParsingQuality,
    SanityCheck,
    buckets_of,
    parsing_quality,
    sanity_check,
)
from evaluation.metrics.units import (
    PerCounterfactual,
    UnitSimulatability,
    UnitTable,
    per_counterfactual,
    unit_simulatability,
    unit_simulatability_by_system,
)
from evaluation.metrics.utility import (
    AnnotatorUtility,
    Utility,
    per_annotator_utility,
    utility,
    utility_by_system,
    utility_class,
    utility_classes,
)

__all__ = [
    "NOT_RATED",
    "Accuracy",
    "AnnotatorUtility",
    "Bleu",
    "Buckets",
    "CachedEncoder",
    "Correlation",
    "Cosine",
    "Diversity",
    "Encoder",
    "FollowUps",
    "GenU",
    "Generality",
    "GeneralizationCell",
    "Growth",
    "Jaccard",
    "ParsingQuality",
    "PerCounterfactual",
    "PerExplanation",
    "PredictionPowered",
    "SanityCheck",
    "SentenceTransformerEncoder",
    "Similarity",
    "Simulatability",
    "SystemComparison",
    "TfidfEncoder",
    "UnitSimulatability",
    "UnitTable",
    "Utility",
    "all_similarities",
    "annotator_ceiling",
    "buckets_of",
    "by",
    "common_instances",
    "compare_systems",
    "correlation_ratio",
    "diversity_by_generator",
    "gen_u",
    "gen_u_score",
    "generality",
    "generality_by",
    "generalization_accuracy",
    "group_generality",
    "growth",
    "mean_over_systems",
    "mix_generators",
    "parsing_quality",
    "per_annotator_utility",
    "per_counterfactual",
    "per_explanation",
    "per_rater_simulatability",
    "prediction_powered_precision",
    "prediction_powered_ratio",
    "prediction_powered_simulatable",
    "ratio_estimate",
    "sanity_check",
    "simulatability",
    "task_accuracy",
    "theils_u",
    "unit_simulatability",
    "unit_simulatability_by_system",
    "utility",
    "utility_by_system",
    "utility_class",
    "utility_classes",
    "within_instance_correlation",
]
