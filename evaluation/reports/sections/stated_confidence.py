"""How well what raters say about their confidence matches what is right: people and simulators side by side, and each rater."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotator.hit_types.arms import ARM_TITLES
from annotator.hit_types.confidence import STEPS, AsksConfidence
from annotator.models import Judgment
from evaluation.core.ratings_table import Floats
from evaluation.metrics.calibration import Calibration
from evaluation.metrics.calibration import calibration as calibrate
from evaluation.ratings.arms import IN_CONTROL_ARM
from evaluation.ratings.confidence import SureLabels, stages_in, sure_labels
from evaluation.ratings.load import StudyRatings
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.registry import section
from evaluation.reports.sections.confidence import reliability_diagram
from evaluation.reports.words import CountedSentence, count, stated

#: At most this many raters are listed, those with the most labels first.
LISTED = 200
#: Attribute of a ``Calibration`` -> its column.
COLUMNS = {
    "confidence": "Mean confidence",
    "accuracy": "Share right",
    "brier": "Brier score",
    "reliability": "Reliability",
    "resolution": "Resolution",
    "uncertainty": "Uncertainty",
    "ece": "Expected calibration error",
    "auc": "Area under the ROC curve",
}
OF_RATERS = ("confidence", "accuracy", "brier", "auc")


@dataclass(frozen=True, eq=False)
class _Calibrated:
    """One row: labels of one variable and arm, by people or one simulator, and where their confidence comes from."""

    variable: str
    who: str
    source: str
    labels: SureLabels
    found: Calibration


@section(order=57, title="Comparing confidence with what is right")
def stated_confidence(ctx: Context) -> Section | None:
    """Nothing in a study that doesn't ask how sure raters are."""
    kind = ctx.hit_type
    if not isinstance(kind, AsksConfidence):
        return None
    stages = stages_in(ctx.all_data)
    sides = []
    for arm, data in _arms(ctx):
        for variable in data.variables:
            labels = sure_labels(data, variable.name, stages[variable.name])
            if labels.rater.size:
                sides += _sides(
                    ctx, f"{variable.title}{arm}", labels, headline=variable == ctx.headline and not arm
                )
    if not sides:
        return None
    first = sides[0]
    notes = [
        f"A label is right if it is {_criterion(ctx, first.labels)}. “Cannot guess” and the like are neither right nor wrong, so"
        " nobody is asked how sure they are of it; these labels are left out.",
        "Intervals take whole instances together, with all labels on their follow-ups and explanations.",
        "The Brier score is reliability less resolution plus uncertainty, and what confidences differ within bins; 0 is best, as for the"
        " expected calibration error. Bins have about equal numbers of labels. Area under the ROC curve: how often a label that is"
        " right has a higher confidence than one that is wrong; 0.5 is chance.",
    ]
    if kind.confidence == "steps":
        named = ", ".join(f"{name.replace('_', ' ')} {100 * value:g} %" for name, value in STEPS.items())
        notes.append(
            f"The named steps are not probabilities. They count as {named}: the Brier score and the expected calibration error depend"
            " on this choice, the area under the ROC curve doesn’t."
        )
    return Section(
        id="confidence",
        title="Confidence",
        prose=[_sentence(ctx, first)],
        blocks=[
            _table(ctx, sides),
            *([_raters(ctx, first.labels)] if ctx.named else []),
            *(
                reliability_diagram(
                    f"confidence-reliability-{number}",
                    _in_sentence(ctx, one),
                    first.labels.criterion,
                    one.found,
                )
                for number, one in enumerate(
                    (side for side in sides if side.variable == first.variable and side.found.bins), 1
                )
            ),
        ],
        notes=notes,
    )


def _arms(ctx: Context) -> list[tuple[str, StudyRatings]]:
    """What each variable's rows are about: the study, and each control arm that isn't part of it."""
    found = [("", ctx.data)]
    if ctx.arms is not None and IN_CONTROL_ARM in ctx.data.judgments.left_out:
        found += [
            (f", arm “{ARM_TITLES[name]}”", ctx.arms.data.of_group(ctx.arms.arm, code))
            for code, name in enumerate(ctx.arms.arm.names)
            if code
        ]
    return found


def _in_sentence(ctx: Context, one: _Calibrated) -> str:
    return ctx.people if one.who == ctx.people.capitalize() else one.who


def _criterion(ctx: Context, labels: SureLabels) -> str:
    return labels.criterion.replace("people", ctx.people)


def _sides(ctx: Context, variable: str, labels: SureLabels, *, headline: bool) -> list[_Calibrated]:
    sides = []
    people = labels.of(labels.people)
    if people.rater.size:
        sides.append(
            _Calibrated(variable, ctx.people.capitalize(), "what they say", people, _calibration(ctx, people))
        )
    for name in sorted(labels.ratings.simulators):
        own = labels.of([name])
        if own.rater.size:
            sides.append(_Calibrated(variable, name, "its reply", own, _calibration(ctx, own)))
            signals = _signals(ctx, name, own) if headline else None
            if signals is not None:
                found = _calibration(ctx, own, signals)
                sides.append(_Calibrated(variable, name, "log probabilities or samples", own, found))
    return sides


def _calibration(ctx: Context, labels: SureLabels, confidence: Floats | None = None) -> Calibration:
    known = labels.known
    sure = labels.confidence if confidence is None else confidence
    return calibrate(sure[known], labels.right[known], labels.cluster[known].astype(str), **ctx.resampling)


def _signals(ctx: Context, name: str, labels: SureLabels) -> Floats | None:
    """The confidence of a simulator's labels from log probabilities or samples; None if it has none."""
    stored = Judgment.objects.filter(study=ctx.study, rater__name=name, signals__has_key="confidence")
    of_item = {
        item: float(value)
        for item, value in stored.values_list("item_id", "signals__confidence")
        if isinstance(value, int | float)
    }
    if not of_item:
        return None
    ids = ctx.data.judgments.items.ids[labels.item]
    return np.array([of_item.get(int(pk), np.nan) for pk in ids], dtype=np.float64)


def _table(ctx: Context, sides: list[_Calibrated]) -> Table:
    rows = []
    for side in sides:
        cells = [Cell.of(getattr(side.found, name)) for name in COLUMNS]
        missing = side.found.brier.left_out.get("without a confidence", 0)
        unknown = int((~side.labels.known).sum())
        counts = [side.found.brier.n, missing, unknown, int(side.labels.abstainers.size)]
        rows.append(TableRow([side.variable, side.who, side.source], [*cells, *map(Cell.count, counts)]))
    return Table(
        id="confidence",
        title="How well confidence matches what is right",
        head=["Answer", "Raters", "Confidence from"],
        columns=[
            *(TableColumn(title) for title in COLUMNS.values()),
            TableColumn("Labels"),
            TableColumn("Without a confidence"),
            TableColumn("Not known whether right"),
            TableColumn("Cannot tell"),
        ],
        rows=rows,
        notes=[
            "Labels: those that everything else in the row is computed from. A simulator’s reply that says nothing readable about its"
            " confidence, and imported labels without one, count as without a confidence."
        ],
    )


def _raters(ctx: Context, labels: SureLabels) -> Table:
    sizes = np.bincount(labels.rater, minlength=len(labels.ratings.raters))
    order = [int(code) for code in np.argsort(-sizes, kind="stable") if sizes[code]]
    rows = []
    for code in order[:LISTED]:
        name = labels.ratings.raters[code]
        own = labels.of([name])
        known = own.known
        found = calibrate(
            own.confidence[known], own.right[known], own.cluster[known].astype(str), bins=1, **ctx.resampling
        )
        cells = [Cell.of(getattr(found, column)) for column in OF_RATERS]
        rows.append(TableRow([name], [*cells, Cell.count(found.brier.n), Cell.count(own.missing)]))
    more = (
        [f"The {LISTED} with the most labels of {count(len(order), 'rater')}."] if len(order) > LISTED else []
    )
    return Table(
        id="confidence-raters",
        title="Confidence and what is right, rater by rater",
        head=["Rater"],
        columns=[
            *(TableColumn(COLUMNS[name]) for name in OF_RATERS),
            TableColumn("Labels"),
            TableColumn("Without a confidence"),
        ],
        rows=rows,
        notes=more,
        folded=True,
    )


def _sentence(ctx: Context, one: _Calibrated) -> CountedSentence:
    found = one.found
    if not found.brier.defined:
        return CountedSentence(
            f"How well confidence matches what is right is not defined: {found.brier.reason}.", 0
        )
    return CountedSentence(
        f"Of “{one.variable}”, {_in_sentence(ctx, one)} have a mean confidence of {stated(found.confidence, 'label', 'percent')} and are right in"
        f" {stated(found.accuracy, 'label', 'percent')}. Their Brier score is {stated(found.brier, 'label')}; the area under the ROC"
        f" curve of their confidence is {stated(found.auc, 'label')}.",
        found.brier.n,
    )
