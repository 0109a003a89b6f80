"""How sure raters are of each label, and whether it is right: what calibration is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from annotator.hit_types.confidence import CONFIDENCE
from annotator.models import Item
from evaluation.core.live_calibration import stages_of_variables
from evaluation.core.ratings_table import Codes, Floats, Ratings
from evaluation.ratings.load import StudyRatings, VariableRatings
from evaluation.selectors.confidence import CORRECT, MAJORITY, REAL

#: Items that are read to find out which stage asks which variable.
_ITEMS = 200


@dataclass(frozen=True, eq=False)
class SureLabels:
    """The labels of one variable that say something about the outcome, arrays of shape (N,).

    ``confidence`` in [0, 1] is nan where the rater gave none, ``right`` is 1, 0, or nan where it isn't known (``criterion`` says what
    a label is compared with). ``cluster`` has each label's instance. ``abstained`` labels ("cannot guess") aren't among them.
    """

    ratings: Ratings
    rater: Codes
    item: Codes
    confidence: Floats
    right: Floats
    cluster: Codes
    criterion: str
    abstained: npt.NDArray[np.bool_]
    abstainers: Codes

    def of(self, raters: Iterable[str]) -> SureLabels:
        """Those of some raters."""
        wanted = np.isin(np.asarray(self.ratings.raters), list(raters))
        kept = wanted[self.rater]
        return replace(
            self, rater=self.rater[kept], item=self.item[kept], confidence=self.confidence[kept], right=self.right[kept],
            cluster=self.cluster[kept], abstainers=self.abstainers[wanted[self.abstainers]],
        )  # fmt: skip

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Labels of which it is known whether they are right."""
        return ~np.isnan(self.right)

    @property
    def missing(self) -> int:
        """How many of these labels have no confidence."""
        return int(np.isnan(self.confidence[self.known]).sum())

    @property
    def people(self) -> list[str]:
        return [name for name in self.ratings.raters if name not in self.ratings.simulators]


def stages_in(data: StudyRatings) -> Mapping[str, frozenset[str]]:
    """``stages_of_variables`` for the items of a study."""
    rows = Item.objects.filter(study=data.judgments.study).order_by("id").values_list("payload", flat=True)
    return stages_of_variables(data.hit_type, rows[:_ITEMS])


def sure_labels(data: StudyRatings, variable: str, stages: frozenset[str]) -> SureLabels:
    """The labels of a variable with what their raters said in these stages."""
    table = data.table(variable)
    ratings = table.ratings
    item = table.units.item[ratings.unit]
    abstain = np.isin(np.asarray(ratings.labels, dtype=object), list(ratings.abstain))[ratings.value]
    right, criterion = _right(data, table)
    kept = ~abstain
    clusters = (
        ratings.clusters if ratings.clusters is not None else np.arange(len(ratings.units), dtype=np.int32)
    )
    return SureLabels(
        ratings=ratings,
        rater=ratings.rater[kept],
        item=item[kept],
        confidence=_said(data, ratings.rater[kept], item[kept], stages),
        right=right[kept],
        cluster=clusters[ratings.unit[kept]],
        criterion=criterion,
        abstained=abstain,
        abstainers=ratings.rater[abstain],
    )


def _said(data: StudyRatings, rater: Codes, item: Codes, stages: frozenset[str]) -> Floats:
    """The confidence of each (rater, item) in these stages; nan for none."""
    table = data.table(CONFIDENCE)
    ratings = table.ratings
    of_stage = np.isin(table.units.suffix.values("").astype(str), list(stages))[ratings.unit]
    width = max(len(data.judgments.items), 1)
    keys = ratings.rater[of_stage].astype(np.int64) * width + table.units.item[ratings.unit[of_stage]]
    scores = np.array([ratings.scores[label] for label in ratings.labels], dtype=np.float64)
    order = np.argsort(keys)
    keys, values = keys[order], scores[ratings.value[of_stage]][order]
    wanted = rater.astype(np.int64) * width + item
    found = np.full(wanted.size, np.nan)
    if keys.size:
        at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        same = keys[at] == wanted
        found[same] = values[at[same]]
    return found


def _right(data: StudyRatings, table: VariableRatings) -> tuple[Floats, str]:
    """Whether each label is right, nan where that isn't known, and what it is compared with."""
    ratings, items = table.ratings, data.judgments.items
    measures = data.hit_type.measures
    truth = None
    if "simulatability" in measures:
        truth, criterion = table.units.real_output, REAL
    elif "forward_simulation" in measures:
        truth, criterion = table.units.output, REAL
    elif measures & {"utility", "generalization"}:
        gold = items.follow_up_gold if "follow_up" in table.variable.name else items.gold
        truth, criterion = gold.take(table.units.item), CORRECT
    known = truth.values("") if truth is not None else np.zeros(0, dtype=object)
    if any(known):
        of_rating = known[ratings.unit]
        label = np.asarray(ratings.labels, dtype=object)[ratings.value]
        right = np.where(of_rating == label, 1.0, 0.0)
        return np.where(of_rating == "", np.nan, right), criterion
    return _as_others(ratings), MAJORITY


def _as_others(ratings: Ratings) -> Floats:
    """Whether each label is that of most other people on the unit; nan where they tie or nobody else judged it."""
    people = ~ratings.is_simulator[ratings.rater]
    counts = np.zeros((len(ratings.units), max(len(ratings.labels), 1)), dtype=np.int32)
    np.add.at(counts, (ratings.unit[people], ratings.value[people]), 1)
    right = np.full(len(ratings), np.nan)
    for start in range(0, len(ratings), 50_000):
        part = slice(start, start + 50_000)
        others = counts[ratings.unit[part]]
        rows = np.arange(others.shape[0])
        others[rows, ratings.value[part]] -= people[part]
        most = others.max(axis=1)
        clear = (most > 0) & ((others == most[:, None]).sum(axis=1) == 1)
        right[part] = np.where(clear, others[rows, ratings.value[part]] == most, np.nan)
    return right
