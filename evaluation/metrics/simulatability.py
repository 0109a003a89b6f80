"""Simulatability of explanations on classification: precision and simulatable share (Chen et al. 2024)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.agreement.new_raters import RaterVariance
from evaluation.core.estimand import Items
from evaluation.core.estimate import Estimate, none_if_nan
from evaluation.metrics.followups import NOT_RATED, FollowUps, Key
from evaluation.metrics.masks import TIED
from evaluation.metrics.resample import Floats, Ints, codes_of, ratio_estimate

NO_SIMULATABLE = "no simulatable follow-up"
NO_REAL = "real output not known"
REFUSED = "refused or answered with neither answer"
CANNOT_GUESS = "cannot guess"
UNLABELLED = "no labelled follow-up"


@dataclass(frozen=True, eq=False)
class PerExplanation:
    """The counts behind every figure, one entry per explanation, all of shape (E,).

    ``labelled`` follow-ups have an aggregated label, ``simulatable`` of them are not "cannot guess",
    ``known`` of those have a real output that counts and on ``right`` of them the simulation equals it (``known`` has ties too
    where they count as wrong). ``unanswered`` are refusals or neither answer, among the known ones unless they are
    left out; the real output of ``unknown`` isn't there. ``precision`` = right / known, nan where known is 0.
    """

    explanation: npt.NDArray[np.object_]
    instance: npt.NDArray[np.object_]
    system: npt.NDArray[np.object_]
    follow_ups: Ints
    labelled: Ints
    simulatable: Ints
    known: Ints
    unanswered: Ints
    unknown: Ints
    right: Ints

    @property
    def precision(self) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.where(self.known > 0, self.right / np.maximum(self.known, 1), np.nan)

    def __len__(self) -> int:
        return len(self.explanation)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One JSON-serialisable dict per explanation."""
        precision = self.precision
        for i in range(len(self)):
            yield {
                "explanation": self.explanation[i],
                "instance": self.instance[i],
                "system": self.system[i],
                "follow_ups": int(self.follow_ups[i]),
                "labelled": int(self.labelled[i]),
                "simulatable": int(self.simulatable[i]),
                "known": int(self.known[i]),
                "unanswered": int(self.unanswered[i]),
                "unknown": int(self.unknown[i]),
                "right": int(self.right[i]),
                "precision": none_if_nan(float(precision[i])),
            }


@dataclass(frozen=True, eq=False)
class Simulatability:
    """Precision and simulatable share of a set of explanations.

    ``precision`` is the headline (macro: the mean over explanations), ``precision_micro`` pools the follow-ups,
    ``simulatable`` is the pooled share |C*| / |C| and ``simulatable_macro`` its mean over explanations. ``unanswered``
    is the share of the follow-ups behind ``precision_micro`` to which the system gave no answer: they count as wrong.
    """

    precision: Estimate
    precision_micro: Estimate
    simulatable: Estimate
    simulatable_macro: Estimate
    unanswered: Estimate
    per_explanation: PerExplanation


def per_explanation(followups: FollowUps) -> PerExplanation:
    """Count follow-ups, simulatable ones and right ones for each explanation."""
    codes, size = followups.explanation_codes, len(followups.explanations)

    def count(mask: npt.NDArray[np.bool_]) -> Ints:
        return np.bincount(codes[mask], minlength=size).astype(np.int64)

    return PerExplanation(
        explanation=np.array(followups.explanations, dtype=object),
        instance=followups.of_explanation("instance"),
        system=followups.of_explanation("system"),
        follow_ups=count(np.ones(len(followups), dtype=bool)),
        labelled=count(followups.labelled),
        simulatable=count(followups.simulatable),
        known=count(followups.predicted & followups.known),
        unanswered=count(followups.predicted & followups.unanswered),
        unknown=count(followups.predicted & ~followups.known & ~followups.unanswered),
        right=count(followups.right),
    )


def simulatability(
    followups: FollowUps,
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
    items: Items = "like",
    unjudged: float | None = None,
    new_raters: Mapping[str, RaterVariance] | None = None,
) -> Simulatability:
    """Simulation precision (macro and micro) and simulatable share.

    C*(e) = the follow-ups of e whose aggregated simulation is not "cannot guess";
    precision(e) = mean over C*(e) of [simulated label = real output];
    macro = mean of precision(e) over the explanations where it is defined; micro = the same pooled over
    follow-ups; simulatable = |C*| / |C|, C the follow-ups that have an aggregated label.

    Left out, and counted: follow-ups without an aggregated label (tie, not rated) from everything; follow-ups
    whose real output is not known from precision; explanations without a simulatable follow-up from the macro
    mean. A real output that is a refusal or neither answer is known, and no simulation of it is right, unless the table leaves
    refusals out; ties are left out, unless the table counts them as wrong. All values lie in [0, 1]. With ``rng``, each has a 95 % interval over instances.
    With ``items`` *these*, it is for the table's own follow-ups, of which those that nobody has rated are unknown: the rated ones must be a random
    sample of them; ``unjudged``, if given, is the share of them that is unknown. ``new_raters`` has figures' variances over raters (``evaluation.metrics.over_raters``), for raters like these.
    Source: Chen et al. 2024, sections 3.2 and 5.

    >>> table = FollowUps(
    ...     unit=["1", "2", "3"], explanation=["e", "e", "f"], instance=["x", "x", "y"], system=["s"] * 3,
    ...     simulated=["yes", "yes", "no"], real=["yes", "no", "no"],
    ... )
    >>> result = simulatability(table)
    >>> result.precision.value, round(result.precision_micro.value, 3)
    (0.75, 0.667)
    """
    rated = ~followups.among("missing", {NOT_RATED}) | followups.labelled
    if items != "these" or not rated.any():
        unjudged = None
    elif unjudged is None:
        unjudged = 1.0 - float(rated.mean())
    return summarise(
        [per_explanation(followups)], [followups], rng=rng, replicates=replicates, unjudged=unjudged, new_raters=new_raters or {}
    )  # fmt: skip


def by(
    followups: FollowUps, key: Key, *, rng: np.random.Generator | None = None, replicates: int = 1_000
) -> dict[str, Simulatability]:
    """``simulatability`` for each value of a column, such as ``system`` or ``generator``, in sorted order."""
    names = sorted(set(getattr(followups, key)))
    return {
        name: simulatability(followups.where(key, name), rng=rng, replicates=replicates) for name in names
    }


def per_rater_simulatability(
    tables: Mapping[str, FollowUps] | Sequence[FollowUps],
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> Simulatability:
    """The mean over raters of each rater's own figures (the rule ``per_rater``).

    ``tables`` hold, for each rater, the follow-ups labelled by that rater alone (by the rater's name, or in any
    order). A rater for
    whom a figure is not defined is left out of its mean. ``n`` and the counts left out add up over raters, and
    ``per_explanation`` adds the counts of all raters. Without a rater, every figure is undefined.
    """
    found = [tables[name] for name in sorted(tables)] if isinstance(tables, Mapping) else list(tables)
    return summarise([per_explanation(table) for table in found], found, rng=rng, replicates=replicates)


def summarise(
    counts: Sequence[PerExplanation],
    tables: Sequence[FollowUps],
    *,
    rng: np.random.Generator | None,
    replicates: int,
    unjudged: float | None = None,
    new_raters: Mapping[str, RaterVariance] = {},
) -> Simulatability:
    """Estimates from the counts of one table, or the means of those of several."""
    together = _side_by_side(counts)
    instances, _ = codes_of(together.instance)
    groups = np.repeat(np.arange(len(counts)), [len(count) for count in counts])
    unlabelled: dict[str, int] = {}
    for table in tables:
        for why, number in table.why_unlabelled().items():
            unlabelled[why] = unlabelled.get(why, 0) + number
    defined, rated = together.known > 0, together.labelled > 0
    refusals_left_out = any(table.refusals_left_out for table in tables)
    refused = together.unanswered if refusals_left_out else np.zeros_like(together.unanswered)
    unlabelled_wrong = {TIED} if any(table.ties_wrong for table in tables) else set()

    def estimate(
        top: npt.ArrayLike, bottom: npt.ArrayLike, reason: str, left: dict[str, int], figure: str = ""
    ) -> Estimate:
        return ratio_estimate(
            top,
            bottom,
            instances,
            groups=groups,
            rng=rng,
            replicates=replicates,
            reason=reason,
            left_out={why: number for why, number in left.items() if number},
            unjudged=unjudged,
            new_raters=new_raters.get(figure),
        )

    unrated = {UNLABELLED: int((~rated).sum())}
    no_precision = {
        NO_REAL: int(((together.simulatable > 0) & ~defined & (refused == 0)).sum()),
        REFUSED: int(((together.simulatable > 0) & ~defined & (refused > 0)).sum()),
        NO_SIMULATABLE: int((rated & ~defined & (together.simulatable == 0)).sum()),
        UNLABELLED: int((~rated & ~defined).sum()),
    }
    pooled = {
        CANNOT_GUESS: int((together.labelled - together.simulatable).sum()),
        NO_REAL: int(together.unknown.sum()),
        REFUSED: int(refused.sum()),
        **{why: number for why, number in unlabelled.items() if why not in unlabelled_wrong},
    }
    why = "no simulatable follow-up with a known real output"
    nobody = "no follow-up has an aggregated label"
    share = together.simulatable / np.maximum(together.labelled, 1)
    return Simulatability(
        precision=estimate(np.nan_to_num(together.precision), defined, why, no_precision, "precision"),
        precision_micro=estimate(together.right, together.known, why, pooled, "precision_micro"),
        simulatable=estimate(together.simulatable, together.labelled, nobody, unlabelled, "simulatable"),
        simulatable_macro=estimate(share, rated, nobody, unrated, "simulatable_macro"),
        unanswered=estimate(
            together.unanswered,
            together.known + refused,
            why,
            {k: v for k, v in pooled.items() if k != REFUSED},
        ),
        per_explanation=together if len(counts) == 1 else _added(together),
    )


_COUNTS = ("follow_ups", "labelled", "simulatable", "known", "unanswered", "unknown", "right")
_NAMES = ("explanation", "instance", "system")


def _side_by_side(counts: Sequence[PerExplanation]) -> PerExplanation:
    """The entries of all tables, one after the other."""
    names = {
        key: np.concatenate([[], *(getattr(count, key) for count in counts)]).astype(object) for key in _NAMES
    }
    numbers: dict[str, Any] = {
        key: np.concatenate([[], *(getattr(count, key) for count in counts)]).astype(np.int64)
        for key in _COUNTS
    }
    return PerExplanation(**names, **numbers)


def _added(together: PerExplanation) -> PerExplanation:
    """One entry per explanation, with the counts of all its entries added."""
    codes, explanations = codes_of(together.explanation)
    size = len(explanations)
    names: dict[str, Any] = {key: np.empty(size, dtype=object) for key in _NAMES}
    for key, values in names.items():
        values[codes] = getattr(together, key)
    sums: dict[str, Any] = {
        key: np.bincount(codes, weights=getattr(together, key), minlength=size).astype(np.int64)
        for key in _COUNTS
    }
    return PerExplanation(**names, **sums)
