"""Generalization questions: accuracy before and after a rationale, and GEN-U (Joshi et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate
from evaluation.core.interval import SHARE, SIGNED
from evaluation.metrics.resample import Ints, codes_of, ratio_estimate

#: Reasons why an entry isn't in a denominator, by the missing label; each applies also if the gold label is unknown.
NO_LABEL = {
    "before": "without a label before the rationale",
    "after": "without a label after the rationale",
    "difference": "without a label both before and after the rationale",
}


@dataclass(frozen=True)
class GeneralizationCell:
    """One cell of Joshi et al. 2023, Table 20: accuracies in [0, 1], ``difference`` = after - before, paired."""

    kind: str
    system: str
    utility_class: str
    before: Estimate
    after: Estimate
    difference: Estimate


def generalization_accuracy(
    before: Sequence[str | None],
    after: Sequence[str | None],
    gold: Sequence[str | None],
    instance: Sequence[str],
    kind: Sequence[str],
    system: Sequence[str],
    utility_class: Sequence[str | None],
    *,
    combine: Sequence[str] = (),
    combined_name: str = "combined",
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> list[GeneralizationCell]:
    """Accuracy on generalization questions by their kind, system and the utility class of the rationale.

    One entry for each question (or for each question and annotator) and system, all of length N: the label given
    before and after the rationale of the *original* question, gold, the original ``instance``, the question's
    ``kind`` (rephrase, counterfactual, similar reasoning), and the rationale's ``utility_class``. Entries without a
    class are left out. Each figure has its own denominator: accuracy before and accuracy after are based on the entries with
    that label, the difference on those with both; what lacks a label is counted in its figure. ``combine`` names the systems that are also
    pooled in a row ``combined_name`` (the paper pools the models, not gold). Cells come in sorted order;
    intervals draw instances. Source: Joshi et al. 2023, Table 20 and Figure 4.

    >>> cells = generalization_accuracy(["no"], ["yes"], ["yes"], ["x"], ["rephrase"], ["s"], ["useful"])
    >>> cells[0].before.value, cells[0].after.value, cells[0].difference.value
    (0.0, 1.0, 1.0)
    """
    columns = (before, after, gold, instance, kind, system, utility_class)
    if len({len(column) for column in columns}) != 1:
        raise ValueError("before, after, gold, instance, kind, system, utility_class: expected one length")
    labelled = {
        "before": _known(before, gold),
        "after": _known(after, gold),
        "difference": _known(before, gold) & _known(after, gold),
    }
    was = np.array([b == g for b, g in zip(before, gold, strict=True)], dtype=float)
    now = np.array([a == g for a, g in zip(after, gold, strict=True)], dtype=float)
    values = {"before": was, "after": now, "difference": now - was}
    clusters, _ = codes_of(instance)

    def mean(name: str, rows: Ints) -> Estimate:
        ok = labelled[name][rows]
        missing = int((~ok).sum())
        return ratio_estimate(
            values[name][rows] * ok,
            ok,
            clusters[rows],
            rng=rng,
            replicates=replicates,
            reason=f"every question is {NO_LABEL[name]}",
            left_out={NO_LABEL[name]: missing} if missing else {},
            bounds=SIGNED if name == "difference" else SHARE,
        )

    return [
        GeneralizationCell(*key, *(mean(name, rows) for name in ("before", "after", "difference")))
        for key, rows in _cells(kind, system, utility_class, combine, combined_name)
    ]


def _known(label: Sequence[str | None], gold: Sequence[str | None]) -> npt.NDArray[np.bool_]:
    """Where both a label and the right answer are known."""
    return np.array([None not in pair for pair in zip(label, gold, strict=True)], dtype=bool)


def _cells(
    kind: Sequence[str],
    system: Sequence[str],
    utility_class: Sequence[str | None],
    combine: Sequence[str],
    combined_name: str,
) -> Iterator[tuple[tuple[str, str, str], Ints]]:
    """Cells in order with their rows; a row of a combined system is in two cells."""
    if combine and combined_name in system:
        raise ValueError(f"combined_name: {combined_name!r} is the name of a system")
    found: dict[tuple[str, int, str, str], list[int]] = {}
    for row, (of_kind, of_system, label) in enumerate(zip(kind, system, utility_class, strict=True)):
        if label is None:
            continue
        found.setdefault((of_kind, 0, of_system, label), []).append(row)
        if of_system in combine:
            found.setdefault((of_kind, 1, combined_name, label), []).append(row)
    for of_kind, late, of_system, label in sorted(found):
        rows = np.array(found[(of_kind, late, of_system, label)], dtype=np.int64)
        yield (of_kind, of_system, label), rows


@dataclass(frozen=True, eq=False)
class GenUResult:
    """``mean`` over instances; ``values`` of shape (I,) in {-1, 0, 1}, aligned with ``instances``; ``ties`` counts."""

    mean: Estimate
    instances: tuple[str, ...]
    values: npt.NDArray[np.int64]
    ties: int


def gen_u_score(with_rationale: bool, without_rationale: bool) -> int:
    """-1 where the model with the rationale is wrong, else 1 where it is wrong without, else 0.

    >>> gen_u_score(False, True), gen_u_score(True, False), gen_u_score(True, True)
    (-1, 1, 0)
    """
    return -1 if not with_rationale else 0 if without_rationale else 1


def gen_u(
    with_right: Sequence[bool | None],
    without_right: Sequence[bool | None],
    instance: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> GenUResult:
    """GEN-U of each instance: the most frequent score over its generalization questions.

    score of a question = -1 where the model with the rationale is wrong, else 1 - [the model without it was
    right]. A tied mode takes the smallest tied value, and ties are counted. Entries are questions, of length N;
    one whose outcome is not known (None) is left out and counted, and so is an instance left without any.
    Source: Joshi et al. 2023, section 4.

    >>> found = gen_u([True, True, False, True], [False, True, True, False], ["x", "x", "y", "y"])
    >>> found.values.tolist(), found.ties
    ([0, -1], 2)
    """
    if not len(with_right) == len(without_right) == len(instance):
        raise ValueError("with_right, without_right, instance: expected one length")
    codes, names = codes_of(instance)
    known = [i for i, pair in enumerate(zip(with_right, without_right, strict=True)) if None not in pair]
    counts = np.zeros((len(names), 3), dtype=np.int64)
    for i in known:
        counts[codes[i], gen_u_score(bool(with_right[i]), bool(without_right[i])) + 1] += 1
    seen = counts.sum(axis=1) > 0
    most = counts.max(axis=1, initial=0)
    ties = int(((counts == most[:, None]).sum(axis=1) > 1)[seen].sum())
    values = counts.argmax(axis=1) - 1  # the first, hence the smallest, of tied values
    left = {
        "questions without an outcome": len(instance) - len(known),
        "instances without an outcome": int((~seen).sum()),
    }
    mean = ratio_estimate(
        np.where(seen, values, 0),
        seen,
        np.arange(len(names)),
        rng=rng,
        replicates=replicates,
        reason="no generalization question has an outcome",
        left_out={why: number for why, number in left.items() if number},
        bounds=SIGNED,
    )
    kept = np.flatnonzero(seen)
    return GenUResult(mean=mean, instances=tuple(names[i] for i in kept), values=values[kept], ties=ties)
