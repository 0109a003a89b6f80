"""Human utility of rationales: who gets the answer right before and after reading one (Joshi et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.agreement.new_raters import RaterVariance
from evaluation.core.estimate import Estimate
from evaluation.core.interval import SHARE, SIGNED, Bounds
from evaluation.metrics.resample import codes_of, ratio_estimate

USEFUL, NOT_USEFUL, UNSURE = "useful", "not useful", "unsure"
CLASSES = (USEFUL, NOT_USEFUL, UNSURE)
#: Flow names are "before -> after".
FLOWS = ("right -> right", "right -> wrong", "wrong -> right", "wrong -> wrong")
UNLABELLED = "without a label before, after, or a gold label"


def utility_class(before_right: bool | None, after_right: bool | None) -> str | None:
    """The utility class of one rationale, None where one of the two labels is missing.

    useful: wrong before, right after; not useful: wrong after; unsure: right both times.

    >>> utility_class(False, True), utility_class(True, False), utility_class(True, True), utility_class(None, False)
    ('useful', 'not useful', 'unsure', None)
    """
    if before_right is None or after_right is None:
        return None
    return (UNSURE if before_right else USEFUL) if after_right else NOT_USEFUL


def utility_classes(
    before: Sequence[str | None], after: Sequence[str | None], gold: Sequence[str | None]
) -> list[str | None]:
    """``utility_class`` of each entry from its labels and the gold label.

    >>> utility_classes(["no", "yes"], ["yes", None], ["yes", "yes"])
    ['useful', None]
    """
    if not len(before) == len(after) == len(gold):
        raise ValueError("before, after, gold: expected one length")
    return [
        None if None in (b, a, g) else utility_class(b == g, a == g)
        for b, a, g in zip(before, after, gold, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class UtilityResult:
    """One system's utility, or that of all together.

    ``counts`` and ``shares`` by class, ``flows`` counts by flow (right -> wrong, ...); ``right_before`` and
    ``right_after`` the shares answered correctly, ``gain`` their paired difference (after - before).
    """

    counts: Mapping[str, int]
    shares: Mapping[str, Estimate]
    flows: Mapping[str, int]
    right_before: Estimate
    right_after: Estimate
    gain: Estimate


def utility(
    before: Sequence[str | None],
    after: Sequence[str | None],
    gold: Sequence[str | None],
    instance: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    unjudged: float | None = None,
    new_raters: Mapping[str, RaterVariance] | None = None,
) -> UtilityResult:
    """Utility classes, flows and accuracy before and after the rationale.

    One entry for each instance and system, all of length N: the label that the raters (their majority) gave before
    and after reading the rationale, None where there is none (a tie, not rated), and the gold label. An entry
    without any of the three is left out of everything and counted: taking such a one into "not useful" alone,
    where the label after is wrong, would raise that class's share. Shares add up to 1. With ``rng``,
    intervals over instances; for these items with ``unjudged``, the share of the study's rationales that nobody has judged, and for raters like these with
    ``new_raters``, the figures' variances over raters (``utility_over_raters``). Source: Joshi et al. 2023, section 2 and Table 3.

    >>> found = utility(["no", "yes", "yes"], ["yes", "no", "yes"], ["yes"] * 3, ["a", "b", "c"])
    >>> found.counts, found.gain.value
    ({'useful': 1, 'not useful': 1, 'unsure': 1}, 0.0)
    """
    if len(instance) != len(gold):
        raise ValueError("instance, gold: expected one length")
    classes = utility_classes(before, after, gold)
    ok = np.array([name is not None for name in classes], dtype=bool)
    was = np.array([b == g for b, g in zip(before, gold, strict=True)], dtype=bool) & ok
    now = np.array([a == g for a, g in zip(after, gold, strict=True)], dtype=bool) & ok
    clusters, _ = codes_of(instance)
    left = {UNLABELLED: int((~ok).sum())} if not ok.all() else {}

    def mean(values: npt.ArrayLike, name: str, bounds: Bounds = SHARE) -> Estimate:
        return ratio_estimate(
            values,
            ok,
            clusters,
            rng=rng,
            replicates=replicates,
            reason="no rationale has labels before and after",
            left_out=left,
            bounds=bounds,
            unjudged=unjudged,
            new_raters=(new_raters or {}).get(name),
        )

    masks = {name: np.array([found == name for found in classes], dtype=bool) for name in CLASSES}
    flows = (now & was, ok & was & ~now, now & ~was, ok & ~was & ~now)
    return UtilityResult(
        counts={name: int(mask.sum()) for name, mask in masks.items()},
        shares={name: mean(mask, name) for name, mask in masks.items()},
        flows={name: int(mask.sum()) for name, mask in zip(FLOWS, flows, strict=True)},
        right_before=mean(was, "right_before"),
        right_after=mean(now, "right_after"),
        gain=mean(now.astype(float) - was.astype(float), "gain", SIGNED),
    )


def utility_by_system(
    before: Sequence[str | None],
    after: Sequence[str | None],
    gold: Sequence[str | None],
    instance: Sequence[str],
    system: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    unjudged: Mapping[str, float] | None = None,
    new_raters: Mapping[str, Mapping[str, RaterVariance]] | None = None,
) -> dict[str, UtilityResult]:
    """``utility`` of each system in sorted order, and of all together under the key ``"all"`` (last).

    ``unjudged`` and ``new_raters`` are those of ``utility``, by system and for ``"all"``.

    Raises ``ValueError`` where a system is itself called "all".
    """
    if "all" in system:
        raise ValueError("system: no system may be called 'all', which is the name of the total")
    results = {}
    for name in [*sorted(set(system)), "all"]:
        rows = [i for i, found in enumerate(system) if name in (found, "all")]
        results[name] = utility(
            [before[i] for i in rows],
            [after[i] for i in rows],
            [gold[i] for i in rows],
            [instance[i] for i in rows],
            rng=rng,
            replicates=replicates,
            unjudged=(unjudged or {}).get(name),
            new_raters=(new_raters or {}).get(name),
        )
    return results


@dataclass(frozen=True, eq=False)
class AnnotatorUtility:
    """``shares`` of all annotators' own classes; ``annotators`` the counts of each annotator by class."""

    shares: Mapping[str, Estimate]
    annotators: Mapping[str, Mapping[str, int]]


def per_annotator_utility(
    before: Sequence[str | None],
    after: Sequence[str | None],
    gold: Sequence[str | None],
    instance: Sequence[str],
    rater: Sequence[str],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    unjudged: float | None = None,
    new_raters: Mapping[str, RaterVariance] | None = None,
) -> AnnotatorUtility:
    """The distribution of utility classes when every annotator's own answers are classed, without a majority.

    One entry for each annotator, instance and system. Entries without a label are left out and counted. ``unjudged`` and
    ``new_raters`` (``utility_over_raters`` of single answers) are those of ``utility``.
    """
    if len(rater) != len(gold):
        raise ValueError("rater, gold: expected one length")
    found = utility(
        before, after, gold, instance, rng=rng, replicates=replicates, unjudged=unjudged, new_raters=new_raters
    )  # fmt: skip
    counts: dict[str, dict[str, int]] = {name: dict.fromkeys(CLASSES, 0) for name in sorted(set(rater))}
    for name, label in zip(rater, utility_classes(before, after, gold), strict=True):
        if label is not None:
            counts[name][label] += 1
    return AnnotatorUtility(shares=found.shares, annotators=counts)
