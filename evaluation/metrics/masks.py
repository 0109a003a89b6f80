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
        return cls._of(
            labelled=~_equal(simulated, None),
            abstained=np.array([value in abstain for value in simulated], dtype=bool),
            answered=~_equal(real, None),
            unanswered=_equal(real, REFUSAL) | _equal(real, NEITHER),
            tied=_equal(missing, TIED),
            same=_equal(simulated, real),
            refusals_left_out=refusals_left_out,
            ties_wrong=ties_wrong,
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
        return cls._of(
            labelled=simulated.codes >= 0,
            abstained=simulated.among(abstain),
            answered=real.codes >= 0,
            unanswered=real.among({REFUSAL, NEITHER}),
            tied=missing.among({TIED}),
            same=real.coded_as(simulated.names) == simulated.codes,
            refusals_left_out=refusals_left_out,
            ties_wrong=ties_wrong,
        )

    @classmethod
    def _of(
        cls,
        *,
        labelled: Mask,
        abstained: Mask,
        answered: Mask,
        unanswered: Mask,
        tied: Mask,
        same: Mask,
        refusals_left_out: bool,
        ties_wrong: bool,
    ) -> Masks:
        """The masks from what the columns hold; ``tied`` and ``abstained`` also where that says nothing, ``same`` where both lack."""
        simulatable, tied = labelled & ~abstained, ~labelled & tied
        known = answered & ~unanswered if refusals_left_out else answered
        return cls(
            labelled=labelled,
            simulatable=simulatable,
            known=known,
            predicted=simulatable | tied if ties_wrong else simulatable,
            tied=tied,
            unanswered=unanswered,
            right=simulatable & known & same,
        )

    def take(self, rows: Mask | Ints) -> Masks:
        """The masks of some rows only."""
        return Masks(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def _equal(column: Any, other: Any) -> Mask:
    return np.asarray(column == other, dtype=bool)
