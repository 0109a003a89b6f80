"""P3 Table 7: rationales before and after training with GEN-U as a reward, beside those of other systems."""

from __future__ import annotations

import numpy as np

from annotator.models import Study
from evaluation.core.estimate import Estimate, undefined
from evaluation.metrics import task_accuracy, utility_by_system, utility_classes
from evaluation.metrics.paired import PairedDifference, holm_corrected, paired_difference
from evaluation.reports.columns import labelled_items
from evaluation.reports.content import Cell, Section, Table, TableColumn, TableRow
from evaluation.reports.context import Context
from evaluation.reports.helping import gen_u_by_model
from evaluation.reports.registry import section
from evaluation.reports.utility_estimands import utility_estimands
from evaluation.selectors.pipeline import pipeline_behind

#: The method of a system whose model was trained on rewards.
TRAINED = "quark"
#: The method of the same model's system before it was trained.
BEFORE = "before quark"
CLASSES = {"useful": "% Useful", "not useful": "% Not useful", "unsure": "% Unsure"}
NO_GEN_U = "GEN-U has no answers with this system's rationales"


@section(order=70, title="P3 Table 7: GEN-U as a reward", measure="utility")
def p3_table7(ctx: Context) -> Section | None:
    """GEN-U, task accuracy and the utility classes of every system, and paired differences to the trained one."""
    known = ctx.data.judgments.items.systems
    trained = sorted(name for name, (_, method) in known.items() if method == TRAINED)
    rows = labelled_items(ctx, "before", "after")
    if not trained or not rows.instance:
        return None
    judged = sorted(name for name in set(rows.system) if name not in trained)
    before = [name for name in judged if known.get(name, ("", ""))[1] == BEFORE]
    order = [*before, *trained, *(name for name in judged if name not in before)]
    found = utility_by_system(
        rows.label["before"],
        rows.label["after"],
        rows.gold,
        rows.instance,
        rows.system,
        **utility_estimands(ctx, rows),
        **ctx.resampling,
    )
    accuracy = task_accuracy(rows.output, rows.gold, rows.instance, rows.system, **ctx.resampling)
    nothing = undefined("no rationale of this system was judged")
    means = {system: mean for run in gen_u_by_model(ctx)[:1] for system, mean in run.means.items()}
    cells: dict[str, list[Estimate]] = {
        "GEN-U": [means.get(name, undefined(NO_GEN_U)) for name in order],
        "Task accuracy": [accuracy.systems.get(name, nothing) for name in order],
        **{
            title: [found[name].shares[key] if name in found else nothing for name in order]
            for key, title in CLASSES.items()
        },
    }
    return Section(
        id="p3-table-7",
        number="P3 Table 7",
        title="GEN-U as a reward",
        blocks=[
            Table(
                id="p3-table-7",
                number="P3 Table 7",
                title="Rationales before and after training, and of other systems",
                head=["Dataset", "Measure"],
                columns=[TableColumn(name) for name in order],
                rows=[
                    TableRow(
                        [ctx.dataset, title],
                        [
                            Cell.of(value, shape="number" if title == "GEN-U" else "percent", rule=rows.rule)
                            for value in values
                        ],
                    )
                    for title, values in cells.items()
                ],
                notes=[
                    "Trained by fine-tuning on rationales with the token of their reward quantile, without the KL and "
                    "entropy terms of the paper's Quark, which the protocol's fine-tuning does not have. GEN-U's mean is "
                    "over the questions of the test part.",
                    *parts_notes(ctx.study),
                ],
            ),
            _differences(ctx, order, trained),
        ],
    )


def parts_notes(study: Study) -> list[str]:
    """Where the training, validation and test part come from, by what the pipeline counted when it chose a round."""
    found = pipeline_behind(study=study)
    counts = [held["own_parts"] for held in found[0].results.values() if "own_parts" in held] if found else []
    if not counts:
        return []
    if max(counts):
        return ["The training, validation and test part are those that the dataset's file names."]
    return [
        "The dataset's file names no parts: a fifth of the questions is the test part and a tenth of the others the "
        "validation part, by key."
    ]


def _differences(ctx: Context, order: list[str], trained: list[str]) -> Table:
    rows = labelled_items(ctx, "before", "after")
    classes = utility_classes(rows.label["before"], rows.label["after"], rows.gold)
    values: dict[str, dict[str, dict[str, float]]] = {name: {key: {} for key in CLASSES} for name in order}
    for system, instance, label in zip(rows.system, rows.instance, classes, strict=True):
        if label is not None:
            for key in CLASSES:
                values[system][key][instance] = float(label == key)
    rng = np.random.default_rng([ctx.choices.seed, 7])
    compared = [
        (key, after, other) for after in trained for other in order if other != after for key in CLASSES
    ]
    pairs = holm_corrected(
        [
            paired_difference(
                values[after][key],
                values[other][key],
                names=(after, other),
                rng=rng,
                replicates=ctx.choices.replicates,
            )
            for key, after, other in compared
        ]
    )
    return Table(
        id="p3-table-7-differences",
        title="Differences of the shares, paired by question",
        head=["After training", "Other", "Measure"],
        columns=[
            TableColumn("Difference"),
            TableColumn("p (Holm)"),
            TableColumn("p (t-test)"),
            TableColumn("Questions"),
        ],
        rows=[
            TableRow([after, other, CLASSES[key]], _cells(pair, rows.rule))
            for (key, after, other), pair in zip(compared, pairs, strict=True)
        ],
        notes=[
            "p: permutation within questions, after Holm’s correction over all rows; that of the paired t-test isn’t corrected."
        ],
    )


def _cells(pair: PairedDifference, rule: str) -> list[Cell]:
    reason = "no difference that could be tested"
    return [
        Cell.of(pair.difference, shape="percent", rule=rule),
        Cell.number(pair.p_holm, shape="p", n=pair.difference.n, reason=reason),
        Cell.number(pair.p_t, shape="p", n=pair.difference.n, reason=reason),
        Cell.count(pair.difference.n),
    ]
