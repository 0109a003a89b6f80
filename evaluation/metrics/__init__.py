"""The papers' measures of explanations, as pure functions: arrays in, a small frozen result out.

Usable in a notebook without a server: ``from evaluation.metrics import FollowUps, simulatability``.
"""

from evaluation.core.kinds import BASELINE_KIND
from evaluation.metrics.accuracy import TaskAccuracy, mean_over_systems, task_accuracy
from evaluation.metrics.association import chance_u, correlation_ratio, theils_u
from evaluation.metrics.bertscore import BertScores, bertscore
from evaluation.metrics.calibration import Calibration, ReliabilityBin, calibration
from evaluation.metrics.correlation import Correlation, annotator_ceiling, within_instance_correlation
from evaluation.metrics.encoders import CachedEncoder, Encoder, SentenceTransformerEncoder, TfidfEncoder
from evaluation.metrics.followups import NOT_RATED, FollowUps
from evaluation.metrics.forward import ForwardAccuracy, forward_accuracy
from evaluation.metrics.from_ratings import followups_of
from evaluation.metrics.gain import (
    SimulatabilityGain,
    gain_difference,
    normalized_gain,
    simulatability_gain,
)
from evaluation.metrics.generality import (
    Generality,
    all_similarities,
    generality,
    group_generality,
)
from evaluation.metrics.generalization import (
    GeneralizationCell,
    GenUResult,
    gen_u,
    gen_u_score,
    generalization_accuracy,
)
from evaluation.metrics.generators import (
    Diversity,
    Growth,
    compare_diversity,
    compared_rows,
    diversity_by_generator,
    growth,
    mix_generators,
)
from evaluation.metrics.judge_correction import (
    JudgeCorrected,
    judge_corrected_precision,
    judge_corrected_rate,
    judge_corrected_ratio,
    judge_corrected_simulatable,
)
from evaluation.metrics.masks import TIED
from evaluation.metrics.medians import mean_estimate, median_estimate
from evaluation.metrics.mixed import PROPERTIES, MixedModel, property_model
from evaluation.metrics.over_raters import (
    accuracy_over_raters,
    mean_over_raters,
    simulatability_over_raters,
    sums_over_raters,
)
from evaluation.metrics.paired import (
    PairedDifference,
    all_pairs,
    mean_by_instance,
    normal_against_forced,
    paired_difference,
    precision_by_instance,
)
from evaluation.metrics.ppi import (
    PredictionPowered,
    prediction_powered_label,
    prediction_powered_mean,
    prediction_powered_precision,
    prediction_powered_ratio,
    prediction_powered_simulatable,
)
from evaluation.metrics.properties import PropertyRow, property_table
from evaluation.metrics.rater_effects import majority_effects, variance_of_effects
from evaluation.metrics.reliance import Reliance, reliance, weight_of_advice
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
)
from evaluation.metrics.utility import (
    AnnotatorUtility,
    UtilityResult,
    per_annotator_utility,
    utility,
    utility_by_system,
    utility_class,
    utility_classes,
)
from evaluation.metrics.utility_over_raters import utility_over_raters

__all__ = [
    "BASELINE_KIND",
    "NOT_RATED",
    "PROPERTIES",
    "TIED",
    "AnnotatorUtility",
    "BertScores",
    "Bleu",
    "Buckets",
    "CachedEncoder",
    "Calibration",
    "Correlation",
    "Cosine",
    "Diversity",
    "Encoder",
    "FollowUps",
    "ForwardAccuracy",
    "GenUResult",
    "Generality",
    "GeneralizationCell",
    "Growth",
    "Jaccard",
    "JudgeCorrected",
    "MixedModel",
    "PairedDifference",
    "ParsingQuality",
    "PerCounterfactual",
    "PerExplanation",
    "PredictionPowered",
    "PropertyRow",
    "ReliabilityBin",
    "Reliance",
    "SanityCheck",
    "SentenceTransformerEncoder",
    "Similarity",
    "Simulatability",
    "SimulatabilityGain",
    "SystemComparison",
    "TaskAccuracy",
    "TfidfEncoder",
    "UnitSimulatability",
    "UnitTable",
    "UtilityResult",
    "accuracy_over_raters",
    "all_pairs",
    "all_similarities",
    "annotator_ceiling",
    "bertscore",
    "buckets_of",
    "by",
    "calibration",
    "chance_u",
    "common_instances",
    "compare_diversity",
    "compare_systems",
    "compared_rows",
    "correlation_ratio",
    "diversity_by_generator",
    "followups_of",
    "forward_accuracy",
    "gain_difference",
    "gen_u",
    "gen_u_score",
    "generality",
    "generalization_accuracy",
    "group_generality",
    "growth",
    "judge_corrected_precision",
    "judge_corrected_rate",
    "judge_corrected_ratio",
    "judge_corrected_simulatable",
    "majority_effects",
    "mean_by_instance",
    "mean_estimate",
    "mean_over_raters",
    "mean_over_systems",
    "median_estimate",
    "mix_generators",
    "normal_against_forced",
    "normalized_gain",
    "paired_difference",
    "parsing_quality",
    "per_annotator_utility",
    "per_counterfactual",
    "per_explanation",
    "per_rater_simulatability",
    "precision_by_instance",
    "prediction_powered_label",
    "prediction_powered_mean",
    "prediction_powered_precision",
    "prediction_powered_ratio",
    "prediction_powered_simulatable",
    "property_model",
    "property_table",
    "ratio_estimate",
    "reliance",
    "sanity_check",
    "simulatability",
    "simulatability_gain",
    "simulatability_over_raters",
    "sums_over_raters",
    "task_accuracy",
    "theils_u",
    "unit_simulatability",
    "utility",
    "utility_by_system",
    "utility_class",
    "utility_classes",
    "utility_over_raters",
    "variance_of_effects",
    "weight_of_advice",
    "within_instance_correlation",
]
