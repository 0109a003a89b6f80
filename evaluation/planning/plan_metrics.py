"""The metrics that a plan's hypotheses can be about, and what each of them allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

#: What a metric is of, in brackets after its name: nothing; a variable, the first one if none is named; a variable that must be named;
#: a variable and a label, "variable=label"; a similarity of texts.
About = Literal["", "variable or first", "variable", "label", "similarity"]
SIMILARITIES = ("bleu", "cosine", "jaccard")


@dataclass(frozen=True)
class PlanMetric:
    """``words`` name it in a sentence. ``whom`` is whom it is of: "systems" (or all of them), "raters" (all people, or one
    simulator), "people", or "cell".

    ``paired``: it has a value on each instance, so two systems are compared on the instances that they share. ``limits`` are the least and
    the greatest value of an instance, where a stopping rule has a valid interval for it. ``no_power`` says why its power isn't
    simulated without an assumed spread, empty if it is.
    """

    words: str
    whom: Literal["systems", "raters", "people", "cell"] = "systems"
    about: About = ""
    paired: bool = False
    percent: bool = True
    limits: tuple[float, float] | None = None
    no_power: str = ""

    @property
    def takes_spread(self) -> bool:
        """Whether its power is simulated from an assumed standard deviation."""
        return bool(self.no_power) and self.whom != "cell"

    def written(self, name: str) -> str:
        """How a hypothesis names it; capitals stand for what the plan's author fills in.

        >>> METRICS["share"].written("share")
        'share(VARIABLE=LABEL)'
        """
        inside = {
            "variable or first": "VARIABLE",
            "variable": "VARIABLE",
            "label": "VARIABLE=LABEL",
            "similarity": ", ".join(SIMILARITIES[:-1]) + " or " + SIMILARITIES[-1],
        }.get(self.about)
        if self.whom == "cell":
            return f"{name} of TABLE | ROW | COLUMN"
        short = f"{name}, " if self.about == "variable or first" else ""
        return f"{short}{name}({inside})" if inside else name


_RIGHT = "how alike the answers of several raters to one question are isn’t known before the study"
SHARE, SIGNED = (0.0, 1.0), (-1.0, 1.0)
METRICS: Mapping[str, PlanMetric] = {
    "precision": PlanMetric("simulation precision", paired=True, limits=SHARE),
    "simulatable": PlanMetric("simulatable share", paired=True, limits=SHARE),
    "generality": PlanMetric(
        "generality of simulatable follow-ups",
        about="similarity",
        paired=True,
        no_power="it depends on the follow-ups’ texts",
    ),
    "gain": PlanMetric("gain from the explanation", paired=True),
    "nsg": PlanMetric("normalized simulatability gain (NSG)", percent=False),
    "share": PlanMetric("share of the label", about="label", paired=True, limits=SHARE),
    "mean": PlanMetric(
        "mean",
        about="variable",
        paired=True,
        percent=False,
        no_power="it depends on how far the numbers spread",
    ),
    "right_before": PlanMetric(
        "share of right answers before the explanation",
        paired=True,
        limits=SHARE,
        no_power=_RIGHT,
    ),
    "right_after": PlanMetric(
        "share of right answers after the explanation", paired=True, limits=SHARE, no_power=_RIGHT
    ),
    "right_gain": PlanMetric(
        "difference of right answers after and before the explanation",
        paired=True,
        limits=SIGNED,
        no_power=_RIGHT,
    ),
    "useful": PlanMetric("share of useful explanations", paired=True, limits=SHARE, no_power=_RIGHT),
    "accuracy": PlanMetric(
        "accuracy against the correct labels",
        "raters",
        "variable or first",
        no_power="it depends on how hard the items are for the raters",
    ),
    "kappa": PlanMetric("mean of Cohen’s κ", "raters", "variable or first", percent=False),
    "alpha": PlanMetric("Krippendorff’s α among people", "people", "variable or first", percent=False),
    "cell": PlanMetric(
        "value of the report’s cell",
        "cell",
        percent=False,
        no_power="a cell can be any statistic; name its metric instead, where there is one",
    ),
}
#: What two systems can be compared in, and what a stopping rule has valid intervals for.
PAIRED = tuple(name for name, one in METRICS.items() if one.paired)
WATCHED = tuple(name for name, one in METRICS.items() if one.limits)
#: Metrics of answers given before and after an explanation.
OF_UTILITY = ("right_before", "right_after", "right_gain", "useful")
_WHOM = {
    "systems": "a system, or all",
    "raters": "a simulator, or all",
    "people": "all",
    "cell": "the report",
}


def metric_guide() -> list[dict[str, str]]:
    """What a hypothesis can be about, for the page on which one is written: one row for each metric.

    >>> metric_guide()[0]
    {'written': 'precision', 'words': 'simulation precision', 'whom': 'a system, or all', 'against': 'another system or a number'}
    """
    return [
        {
            "written": one.written(name),
            "words": one.words,
            "whom": _WHOM[one.whom],
            "against": "another system or a number" if one.paired else "a number",
        }
        for name, one in METRICS.items()
    ]
