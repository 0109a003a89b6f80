"""What the papers measure of explanations, as pure functions: arrays in, a small frozen result out.

Usable in a notebook without a server: ``from evaluation.metrics import FollowUps, simulatability``.
"""

from evaluation.metrics.encoders import CachedEncoder, Encoder, SentenceTransformerEncoder, TfidfEncoder
from evaluation.metrics.followups import NOT_RATED, FollowUps
from evaluation.metrics.generality import (
    Generality,
    all_similarities,
    generality,
    generality_by,
    group_generality,
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

__all__ = [
    "NOT_RATED",
    "Bleu",
    "CachedEncoder",
    "Cosine",
    "Encoder",
    "FollowUps",
    "Generality",
    "Jaccard",
    "PerExplanation",
    "SentenceTransformerEncoder",
    "Similarity",
    "Simulatability",
    "SystemComparison",
    "TfidfEncoder",
    "all_similarities",
    "by",
    "common_instances",
    "compare_systems",
    "generality",
    "generality_by",
    "group_generality",
    "per_explanation",
    "per_rater_simulatability",
    "ratio_estimate",
    "simulatability",
]
