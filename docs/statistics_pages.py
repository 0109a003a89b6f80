"""Which public statistics are on which page of docs/statistics/, and in which order."""

from __future__ import annotations

from typing import NamedTuple

#: Where public names are imported from.
PACKAGES = (
    "evaluation.agreement",
    "evaluation.metrics",
    "evaluation.planning.synthetic",
    "evaluation.planning.sample_size",
    "evaluation.planning.alpha_spending",
    "evaluation.planning.confidence_sequence",
    "evaluation.planning.by_money",
    "evaluation.planning.plan_power",
    "evaluation.planning.plan_drawn",
    "evaluation.planning.sequential",
)


class Page(NamedTuple):
    name: str
    title: str
    modules: tuple[str, ...]


def _page(package: str, name: str, title: str, *modules: str) -> Page:
    return Page(name, title, tuple(f"{package}.{module}" for module in modules))


def _agreement(name: str, title: str, *modules: str) -> Page:
    return _page("evaluation.agreement", name, title, *modules)


def _metric(name: str, title: str, *modules: str) -> Page:
    return _page("evaluation.metrics", name, title, *modules)


def _plan(name: str, title: str, *modules: str) -> Page:
    return _page("evaluation.planning", name, title, *modules)


SECTIONS: dict[str, tuple[Page, ...]] = {
    "Tables and results": (
        _page("evaluation.core", "ratings", "The ratings table", "ratings_table"),
        _page("evaluation.core", "estimate", "Estimates", "estimate"),
        Page(
            "files",
            "Reading ratings, writing summaries",
            (
                "evaluation.agreement.reading",
                "annotator.core.tables.faults",
                "evaluation.agreement.summary",
                "evaluation.agreement.output",
                "evaluation.agreement.output_csv",
                "evaluation.agreement.output_text",
            ),
        ),
    ),
    "Agreement": (
        _agreement("percent-agreement", "Percent agreement and prevalence", "percent"),
        _agreement("krippendorff-alpha", "Krippendorff's alpha", "krippendorff"),
        _agreement("cohen-kappa", "Cohen's kappa, of two raters and of all pairs", "cohen"),
        _agreement("conger-kappa", "Conger's kappa", "conger"),
        _agreement("fleiss-kappa", "Fleiss' kappa", "fleiss"),
        _agreement("gwet-ac", "Gwet's AC1 and AC2", "gwet"),
        _agreement("intraclass-correlation", "Intraclass correlation", "icc", "icc_mixed"),
        _agreement("single-raters", "Each rater against the rest", "raters"),
        _agreement("alternative-annotator-test", "The alternative annotator test", "alternative"),
        _agreement("soft-labels", "Soft labels", "soft_labels"),
        _agreement("set-agreement", "Agreement on sets: MASI and Jaccard", "set_agreement"),
        _agreement("ranking-agreement", "Agreement on rankings: Kendall's W and tau-b", "ranking_agreement"),
        _agreement("span-agreement", "Agreement on spans of text", "span_agreement"),
        _agreement("bradley-terry", "Strengths from pairwise preferences", "bradley_terry"),
        _agreement("value-forms", "The statistics of each form of value", "by_form"),
        _agreement("disagreement", "Where disagreement comes from", "sources"),
    ),
    "Aggregation of labels": (
        _agreement("aggregation", "Aggregation rules", "aggregate"),
        _agreement("dawid-skene", "Dawid and Skene's model", "dawid_skene"),
    ),
    "Intervals and comparisons": (
        _agreement("bootstrap", "The cluster bootstrap", "bootstrap"),
        _metric("clustered-means", "Ratios of clustered sums", "resample"),
        _metric(
            "over-raters",
            "Intervals for raters like these",
            "over_raters",
            "rater_effects",
            "medians",
            "utility_over_raters",
        ),
        _agreement("comparisons", "Comparing two systems, families of tests", "comparison"),
        _metric("paired-differences", "Paired differences", "paired"),
        _metric("system-comparison", "Several systems on common instances", "systems"),
    ),
    "Simulatability": (
        _metric("follow-ups", "The table of follow-ups", "followups", "from_ratings"),
        _metric("simulatability", "Precision and simulatable share", "simulatability"),
        _metric("simulatability-gain", "Simulatability gain", "gain"),
        _metric("forward-simulation", "Forward simulation", "forward"),
        _metric("atomic-units", "Atomic units", "units", "unit_tables"),
        _metric("task-accuracy", "Task accuracy", "accuracy"),
        _metric("correlations", "Correlations within instances", "correlation"),
    ),
    "Generality and diversity": (
        _metric("generality", "Generality", "generality"),
        _metric("similarities", "Similarities of texts", "similarity"),
        _metric("encoders", "Sentence encoders", "encoders"),
        _metric("generators", "Follow-ups by generator", "generators"),
        _metric("bertscore", "BERTScore", "bertscore"),
    ),
    "Utility, properties and reliance": (
        _metric("utility", "Human utility of rationales", "utility"),
        _metric("generalization", "Generalization questions and GEN-U", "generalization"),
        _metric("properties", "Properties of rationales", "properties"),
        _metric("mixed-model", "The mixed model of properties", "mixed"),
        _metric("association", "Theil's U and the correlation ratio", "association"),
        _metric("reliance", "Appropriate reliance", "reliance"),
        _metric("calibration", "Calibration of confidence", "calibration"),
    ),
    "People and simulators together": (
        _metric("prediction-powered", "Prediction-powered estimates", "ppi"),
        _metric("judge-correction", "Rates corrected by a simulator's errors", "judge_correction"),
    ),
    "Planning": (
        _plan("synthetic-studies", "Synthetic studies", "synthetic"),
        _plan("sample-size", "Sample size", "sample_size"),
        _plan("alpha-spending", "Alpha spending", "alpha_spending"),
        _plan("confidence-sequence", "Confidence sequences", "confidence_sequence"),
        _plan("design-by-money", "Designs by money", "by_money"),
        _plan("plan-power", "Power of an analysis plan", "plan_power", "plan_drawn"),
        _plan("stopping-rules", "Intervals under a stopping rule", "sequential"),
    ),
}
