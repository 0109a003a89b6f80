"""Which follow-ups of a table have a label, can be simulated, and are right."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from annotator.hit_types.base import NEITHER, REFUSAL
from evaluation.metrics.coded_columns import CodedTexts
from evaluation.metrics.resample import Ints

TIED = "raters tie"
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Masks:
    """Properties of single follow-ups, each an array of shape (N,); described at the properties of ``FollowUps``.

    A part of a table takes its rows of these arrays; to compute them again takes several times as long.
    """

    labelled: Mask
    simulatable: Mask
    known: Mask
    predicted: Mask
    tied: Mask
    unanswered: Mask
    right: Mask

    @classmethod
    def of_columns(
        cls,
        *,
        simulated: Any,
        real: Any,
        missing: Any,
        abstain: Collection[str],
        refusals_left_out: bool,
        ties_wrong: bool,
    ) -> Masks:
        """The masks of a table's columns, which are arrays of objects."""
        labelled = ~_equal(simulated, None)
        simulatable = labelled & np.array([value not in abstain for value in simulated], dtype=bool)
        unanswered = _equal(real, REFUSAL) | _equal(real, NEITHER)
        known = ~_equal(real, None)
        if refusals_left_out:
            known &= ~unanswered
        tied = ~labelled & _equal(missing, TIED)
        return cls(
            labelled=labelled,
            simulatable=simulatable,
            known=known,
            predicted=simulatable | tied if ties_wrong else simulatable,
            tied=tied,
            unanswered=unanswered,
            right=simulatable & known & _equal(simulated, real),
        )

    @classmethod
    def of_coded(
        cls,
        *,
        simulated: CodedTexts,
        real: CodedTexts,
        missing: CodedTexts,
        abstain: Collection[str],
        refusals_left_out: bool,
        ties_wrong: bool,
    ) -> Masks:
        """The same masks of coded columns, without an object for each row."""
        labelled = simulated.codes >= 0
        simulatable = labelled & ~simulated.among(abstain)
        unanswered = real.among({REFUSAL, NEITHER})
        known = real.codes >= 0
        if refusals_left_out:
            known &= ~unanswered
        tied = ~labelled & missing.among({TIED})
        return cls(
            labelled=labelled,
            simulatable=simulatable,
            known=known,
            predicted=simulatable | tied if ties_wrong else simulatable,
            tied=tied,
            unanswered=unanswered,
            right=simulatable & known & (real.coded_as(simulated.names) == simulated.codes),
        )

    def take(self, rows: Mask | Ints) -> Masks:
        """The masks of some rows only."""
        return Masks(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})


def _equal(column: Any, other: Any) -> Mask:
    return np.asarray(column == other, dtype=bool)
