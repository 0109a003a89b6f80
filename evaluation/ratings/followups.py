"""From a study's ratings to the table of follow-ups that the simulatability metrics work on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evaluation.core.ratings_table import Ratings
from evaluation.metrics import NOT_RATED, TIED, FollowUps
from evaluation.metrics.coded_columns import CodedTexts
from evaluation.ratings.load import StudyRatings, VariableRatings

if TYPE_CHECKING:
    from evaluation.agreement import Aggregated

#: In place of a label's code.
_TIES, _UNRATED = -1, -2

#: Follow-ups that no metric of explanations can use, by reason.
NO_EXPLANATION = "items without an explanation"


@dataclass(frozen=True, eq=False)
class FollowUpTable:
    """A study's items as follow-ups, still without labels: ``with_labels`` adds those of an aggregation rule.

    ``left_out`` counts items that can't be included. ``item`` of shape (N,) are the items' numbers.
    """

    study: StudyRatings
    variable: str
    item: npt.NDArray[np.int64]
    left_out: dict[str, int]
    refusals_left_out: bool = False
    ties_wrong: bool = False

    @classmethod
    def of(
        cls,
        study: StudyRatings,
        variable: str,
        *,
        refusals_left_out: bool = False,
        ties_wrong: bool = False,
    ) -> FollowUpTable:
        """All items in play that have an explanation, rated or not; for the choices see :class:`FollowUps`."""
        items, in_play = study.judgments.items, study.judgments.in_play
        explained = items.explanation >= 0
        missing = int((in_play & ~explained).sum())
        return cls(
            study,
            variable,
            np.flatnonzero(in_play & explained),
            {NO_EXPLANATION: missing} if missing else {},
            refusals_left_out,
            ties_wrong,
        )

    @property
    def rated(self) -> VariableRatings:
        return self.study.table(self.variable)

    @cached_property
    def base(self) -> FollowUps:
        """The follow-ups without any label or text: texts are long, and few metrics need them (``with_texts``)."""
        items, rows = self.study.judgments.items, self.item
        named = {
            "explanation": items.explanation_names.take(rows),
            "instance": items.instance_names.take(rows),
            "system": items.system.take(rows),
            "generator": items.generator.take(rows),
            "kind": items.kind.take(rows),
        }
        columns: dict[str, Any] = {name: CodedTexts.of(*column.used("")) for name, column in named.items()}
        real: Any = items.real_output.take(rows)
        return FollowUps(
            **columns,
            unit=CodedTexts(items.key.codes[rows], items.key.names),  # type: ignore[arg-type]
            simulated=CodedTexts.constant(None, rows.size),  # type: ignore[arg-type]
            real=CodedTexts.of(real.codes, real.names),  # type: ignore[arg-type]
            abstain=self.rated.variable.abstain,
            refusals_left_out=self.refusals_left_out,
            ties_wrong=self.ties_wrong,
            _coded={name: (column, column.codes, column.names) for name, column in columns.items()},
        )

    def with_texts(self, table: FollowUps) -> FollowUps:
        """Rows of this study's follow-ups with their texts."""
        texts = self.study.judgments.items.follow_up_texts_of(table.unit)
        return table.with_columns(text=[texts[unit] for unit in table.unit.tolist()])  # type: ignore[attr-defined]

    def with_labels(self, labels: Aggregated, pool: Ratings) -> FollowUps:
        """The follow-ups with one label per unit, from a rule applied to the ratings of ``pool``. A unit without a
        label either wasn't rated by the raters that count, or they tie.
        """
        why_none: Any = np.int32(_UNRATED)
        if not labels.of_one_rater:
            why_none = np.where(pool.grouped.sizes > 0, np.int32(_TIES), np.int32(_UNRATED))
        by_item = np.full(len(self.study.judgments.items), _UNRATED, dtype=np.int32)
        by_item[self.rated.units.item] = np.where(labels.value >= 0, labels.value, why_none)
        codes = by_item[self.item]
        missing = np.where(codes >= 0, 0, -codes)  # "", TIED, NOT_RATED
        return self.base.replaced(
            simulated=CodedTexts.of(np.maximum(codes, -1), labels.labels),
            missing=CodedTexts.of(missing, ("", TIED, NOT_RATED)),
        )
