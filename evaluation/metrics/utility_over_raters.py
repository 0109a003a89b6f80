"""How much the figures of utility would change with other raters of the same kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.agreement.new_raters import RaterVariance
from evaluation.metrics.over_raters import sums_over_raters
from evaluation.metrics.rater_effects import (
    majority_effects,
    majority_labels,
    ratio_gradient,
    variance_of_effects,
)
from evaluation.metrics.resample import Floats, Ints, codes_of
from evaluation.metrics.utility import NOT_USEFUL, UNSURE, USEFUL

#: Figures of ``UtilityResult`` by name, in the order of the columns of ``_figures``.
FIGURES = (USEFUL, NOT_USEFUL, UNSURE, "right_before", "right_after", "gain")


def utility_over_raters(
    before: Sequence[str],
    after: Sequence[str],
    gold: Sequence[str | None],
    item: Sequence[str],
    instance: Sequence[str],
    rater: Sequence[str],
    *,
    single: bool = False,
) -> dict[str, RaterVariance]:
    """The variance over raters of each of ``FIGURES``, for ``utility`` of majority labels, or with ``single`` of single answers.

    All have length N, an entry is one rater's answers to one ``item`` before and after its rationale: both given, with the item's correct answer
    and instance. Items without a correct answer are left out. Too few raters (``evaluation.agreement.new_raters.LEAST_RATERS``) are said to be too
    few in the results. ``ValueError`` for unequal lengths.

    >>> found = utility_over_raters(["no"], ["yes"], ["yes"], ["i"], ["x"], ["ann"])
    >>> found["useful"].none
    'none: 1 raters are too few to generalise to new ones'
    """
    if not len(before) == len(after) == len(gold) == len(item) == len(instance) == len(rater):
        raise ValueError("before, after, gold, item, instance, rater: expected one length")
    kept = [number for number, answer in enumerate(gold) if answer is not None]
    items, names = codes_of([item[n] for n in kept])
    clusters, _ = codes_of([instance[n] for n in kept])
    raters, _ = codes_of([rater[n] for n in kept])
    labels, _ = codes_of(
        [*(before[n] for n in kept), *(after[n] for n in kept), *(str(gold[n]) for n in kept)]
    )
    first, second, right = np.split(labels, 3)
    gold_of = np.zeros(len(names), dtype=np.int64)
    gold_of[items] = right

    def figures(label: Ints, of: Ints) -> Floats:
        return _figures(label[:, 0], label[:, 1], gold_of[of])

    answers = np.stack([first, second], axis=1)
    if single or not items.size:
        table = figures(answers, items)
        return {
            name: sums_over_raters(
                [table[:, column], table[:, -1]], clusters, raters, lambda sums: sums[..., 0] / sums[..., 1]
            )
            for column, name in enumerate(FIGURES)
        }
    whole = figures(majority_labels(items, answers, len(names)), np.arange(len(names)))
    last = len(FIGURES)
    gradients = [
        ratio_gradient(whole[:, column], whole[:, -1], len(names), (column, last), last + 1)
        for column in range(last)
    ]
    effects, sizes = majority_effects(items, answers, figures, np.stack(gradients, axis=2))
    return dict(zip(FIGURES, variance_of_effects(effects, sizes, clusters, raters), strict=True))


def _figures(before: Ints, after: Ints, gold: Ints) -> Floats:
    """Shape (n, 7): the figures' numerators, 0 where a label is missing (-1), and whether there are both."""
    both = (before >= 0) & (after >= 0)
    was, now = both & (before == gold), both & (after == gold)
    columns = [now & ~was, both & ~now, now & was, was, now, now.astype(np.int64) - was, both]
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
