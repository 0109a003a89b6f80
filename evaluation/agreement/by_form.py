"""The agreement suited to values that are more than a label: of people, and with each simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from evaluation.agreement.bootstrap import DEFAULT_REPLICATES
from evaluation.agreement.bradley_terry import FIRST, TIED, PairwiseStrengths, bradley_terry
from evaluation.agreement.ranking_agreement import ranking_agreement
from evaluation.agreement.set_agreement import set_agreement
from evaluation.agreement.span_agreement import TO_THE_LAST_SPAN, SpanAgreement, span_agreement
from evaluation.agreement.value_forms import EQUAL, Form, read_choice
from evaluation.core.estimate import Estimate
from evaluation.core.ratings_table import Ratings

#: The sides of a comparison whose systems aren't named, and what a file may call them.
SIDES = ("a", "b")
ITSELF = "comparisons of a system with itself"
ALPHA = "Krippendorff’s α"
#: What each level's statistics are called, in the order shown.
TITLES: dict[str, str] = {
    "alpha_masi": f"{ALPHA}, MASI distance",
    "alpha_jaccard": f"{ALPHA}, Jaccard distance",
    "alpha_nominal": f"{ALPHA}, equal sets or not",
    "kendall_w": "Kendall’s W, mean over units",
    "mean_tau_b": "Kendall’s τ-b, mean over pairs of raters",
    "alpha_marked": f"{ALPHA} over characters, marked or not",
    "alpha_categories": f"{ALPHA} over characters, set of categories",
    "alpha_category": f"{ALPHA} over characters, marked as",
    "f1_exact": "F1 of pairs of annotators, equal spans",
    "f1_overlapping": "F1 of pairs of annotators, overlapping spans",
    "same_severity": "Same severity, of equal spans",
    "strength": "Strength (log, mean 0) of",
    "ties": "Parameter of ties (Davidson’s ν)",
}
#: What ``n`` counts at each level.
COUNTED: dict[Form, str] = {
    "set": "n counts pairable ratings.",
    "ranking": "n counts units with two rankings or more of the same options.",
    "span": "n counts pairs of a character and an annotator for α, and spans for F1, once for each other annotator of the text.",
    "pairwise": "n counts comparisons: those with the system, for the parameter of ties all.",
}


@dataclass(frozen=True)
class FormFigure:
    """One statistic: ``name`` is a key of ``TITLES``, ``about`` the category or system that it is about."""

    name: str
    estimate: Estimate
    about: str = ""

    @property
    def title(self) -> str:
        """Its name for a row of a table."""
        return f"{TITLES[self.name]} {self.about}" if self.about else TITLES[self.name]


@dataclass(frozen=True, eq=False)
class FormGroup:
    """The statistics of some raters: ``who`` is "people", a simulator, or both."""

    who: str
    raters: int
    ratings: int
    figures: tuple[FormFigure, ...]
    spans: SpanAgreement | None = None
    strengths: PairwiseStrengths | None = None
    #: Comparisons of a system with itself.
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class FormSummary:
    """Agreement of one variable whose values have a form; the first group is that of people."""

    form: Form
    units: int
    groups: tuple[FormGroup, ...]
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


def summarize_form(
    ratings: Ratings,
    form: Form,
    *,
    sides: Sequence[Mapping[str, str]] | None = None,
    lengths: Mapping[str, int] | None = None,
    rng: np.random.Generator | None = None,
    replicates: int = DEFAULT_REPLICATES,
) -> FormSummary:
    """The statistics of a table whose labels are sets, rankings, spans or preferences.

    Sets have :func:`set_agreement`, rankings :func:`ranking_agreement`, spans :func:`span_agreement` (``lengths`` by unit), preferences
    :func:`bradley_terry`: ``sides`` has, for each rating in the table's order, the systems by the choice that means them; without it, the sides a and b
    are compared themselves. A choice among more than two systems counts as one comparison with each of the others.

    The first group is people's ratings (everyone's without simulators), then people's with each simulator's added; for preferences, each
    simulator's alone. ``ValueError`` for a label that doesn't have the form, with what was expected.

    >>> rows = [("a", "u", '["x"]'), ("b", "u", '["x"]'), ("a", "v", '["y"]'), ("b", "v", '["y"]')]
    >>> [(one.name, one.estimate.value) for one in summarize_form(Ratings.from_rows(rows), "set").groups[0].figures]
    [('alpha_masi', 1.0), ('alpha_jaccard', 1.0), ('alpha_nominal', 1.0)]
    """
    simulators = [name for name in ratings.raters if name in ratings.simulators]
    people = [name for name in ratings.raters if name not in ratings.simulators]
    groups = [("people", people)] if people else []
    together = form != "pairwise" and people
    groups += [
        (f"people and {name}" if together else name, [*people, name] if together else [name])
        for name in simulators
    ]
    if not groups:
        groups = [("people", [])]
    resampling: dict[str, Any] = {"rng": rng, "replicates": replicates}
    found = []
    for who, raters in groups:
        kept = np.isin(ratings.rater, [ratings.raters.index(name) for name in raters])
        part = ratings.where(kept)
        group = FormGroup(who, len(raters), len(part), ())
        if form == "pairwise":
            own = None if sides is None else [sides[row] for row in np.flatnonzero(kept).tolist()]
            found.append(_with_strengths(group, part, own, sides, resampling))
        else:
            found.append(_MAKE[form](group, part, lengths, resampling))
    notes = [TO_THE_LAST_SPAN] if any(one.spans and not one.spans.whole for one in found) else []
    same = sum(one.left_out for one in found)
    return FormSummary(form, len(ratings.units), tuple(found), tuple(notes), {ITSELF: same} if same else {})


def _with_sets(
    group: FormGroup, part: Ratings, lengths: Mapping[str, int] | None, resampling: Any
) -> FormGroup:
    found = set_agreement(part, **resampling)
    values = {"alpha_masi": found.masi, "alpha_jaccard": found.jaccard, "alpha_nominal": found.nominal}
    return replace(group, figures=tuple(FormFigure(name, value) for name, value in values.items()))


def _with_rankings(
    group: FormGroup, part: Ratings, lengths: Mapping[str, int] | None, resampling: Any
) -> FormGroup:
    found = ranking_agreement(part, **resampling)
    return replace(group, figures=(FormFigure("kendall_w", found.w), FormFigure("mean_tau_b", found.tau_b)))


def _with_spans(
    group: FormGroup, part: Ratings, lengths: Mapping[str, int] | None, resampling: Any
) -> FormGroup:
    found = span_agreement(part, lengths=lengths, **resampling)
    return replace(group, spans=found, figures=tuple(_of_spans(found)))


_MAKE: dict[str, Callable[[FormGroup, Ratings, Mapping[str, int] | None, Any], FormGroup]] = {
    "set": _with_sets,
    "ranking": _with_rankings,
    "span": _with_spans,
}


def _of_spans(found: SpanAgreement) -> list[FormFigure]:
    categories = found.by_category if len(found.categories) > 1 else {}
    return [
        FormFigure("alpha_marked", found.marked),
        *([FormFigure("alpha_categories", found.categorised)] if categories else []),
        *(FormFigure("alpha_category", one, name) for name, one in categories.items()),
        FormFigure("f1_exact", found.exact),
        FormFigure("f1_overlapping", found.overlapping),
        FormFigure("same_severity", found.severities),
    ]


def _with_strengths(
    group: FormGroup,
    ratings: Ratings,
    sides: Sequence[Mapping[str, str]] | None,
    every: Sequence[Mapping[str, str]] | None,
    resampling: Any,
) -> FormGroup:
    """The strengths of the systems that any rater compared; comparisons of a system with itself are left out and counted."""
    own = sides if sides is not None else [dict(zip(SIDES, SIDES, strict=True))] * len(ratings)
    names = sorted({name for one in (every or own) for name in one.values()}) or list(SIDES)
    place = {name: number for number, name in enumerate(names)}
    choices = [read_choice(label) for label in ratings.labels]
    clusters = np.arange(len(ratings.units)) if ratings.clusters is None else ratings.clusters
    rows: list[tuple[int, int, int, int]] = []
    same = 0
    for value, unit, systems in zip(ratings.value.tolist(), ratings.unit.tolist(), own, strict=True):
        chosen = choices[value]
        if chosen != EQUAL and chosen not in systems:
            expected = ", ".join([*systems, EQUAL])
            raise ValueError(
                f"{ratings.labels[value]!r} of {ratings.units[unit]!r}: expected one of: {expected}"
            )
        for one, other in combinations(systems, 2):
            if chosen in (EQUAL, one, other):
                better, worse = (other, one) if chosen == other else (one, other)
                same += systems[better] == systems[worse]
                said = TIED if chosen == EQUAL else FIRST
                rows.append((place[systems[better]], place[systems[worse]], said, int(clusters[unit])))
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    first, second, choice, cluster = table[table[:, 0] != table[:, 1]].T
    word = "units" if ratings.clusters is None else "instances"
    found = bradley_terry(first, second, choice, systems=names, clusters=cluster, word=word, **resampling)
    figures = [
        FormFigure("strength", one, name) for name, one in zip(found.systems, found.strengths, strict=True)
    ]
    return replace(group, strengths=found, figures=(*figures, FormFigure("ties", found.ties)), left_out=same)
