"""How well each rater's confidence matches what is right so far, for the raters' page."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import F, FilteredRelation, Q

from annotator.hit_types.base import JSON, HitType
from annotator.hit_types.confidence import CONFIDENCE, AsksConfidence, confidence_variable
from annotator.models import Item, Rater, Study
from annotator.selectors.judgment import judgments_filter
from annotator.selectors.study import study_hit_type
from evaluation.core.live_calibration import RaterCalibration, rater_calibration, stages_of_variables

#: The most judgments that a web request reads, the latest ones.
MOST = 12_000
#: At most this many raters are listed, those with the most labels first.
LISTED = 200
REAL, CORRECT, MAJORITY = "the system’s real output", "the correct answer", "the majority of the other people"


@dataclass(frozen=True)
class RatersConfidence:
    """Each rater's figures on the headline variable: (name, whether it is a simulator, figures). ``criterion`` says when a label is right;
    ``cut`` whether only the latest judgments were read; ``rehearsal`` whether they are a rehearsal's, because people's aren't there yet."""

    variable: str
    scale: str
    criterion: str
    raters: list[tuple[str, bool, RaterCalibration]]
    others: int
    cut: bool
    rehearsal: bool


def raters_confidence(*, study: Study) -> RatersConfidence | None:
    """People's and simulators' counted judgments, without exclusions and gold items, and rehearsals only if there is nothing of
    people yet, as in reports; in four queries. None if the study doesn't ask how sure raters are."""
    kind = study_hit_type(study)
    if not isinstance(kind, AsksConfidence):
        return None
    counted = judgments_filter(
        study=study,
        filters={"standing": "counted", "role": "ordinary", "excluded": "no", "rehearsal": "both"},
    )
    rehearsal = not counted.filter(rater__kind=Rater.Kind.HUMAN, rater__rehearsal=False).exists()
    if not rehearsal:
        counted = counted.filter(rater__rehearsal=False)
    fetched: list[Any] = list(
        counted.order_by("-id").values_list("item_id", "rater__name", "rater__kind", "response")[: MOST + 1]
    )
    cut = len(fetched) > MOST
    fetched = fetched[:MOST]
    truths, payloads = _items(study, kind, {row[0] for row in fetched})
    stages = stages_of_variables(kind, list(payloads.values())[:MOST])[kind.headline]
    criterion, known = next(
        ((name, found) for name, found in truths if any(found.values())), (MAJORITY, None)
    )
    scores = confidence_variable(kind.confidence).scores
    abstain = {
        label for variable in kind.variables if variable.name == kind.headline for label in variable.abstain
    }
    labels: list[tuple[str, bool, tuple[int, str], str, float | None]] = []
    people: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for item, rater, who, response in fetched:
        ratings = kind.to_ratings(payloads[item], response)
        said = [r.value for r in ratings if r.variable == CONFIDENCE and r.unit in stages]
        sure = scores[said[0]] if said else None
        for rating in ratings:
            if rating.variable == kind.headline and rating.value not in abstain:
                labels.append((rater, who == "simulator", (item, rating.unit), rating.value, sure))
        for rating in ratings:
            if rating.variable == kind.headline and who != "simulator":
                people[item, rating.unit][rating.value] += 1
    rows: dict[tuple[str, bool], list[tuple[float | None, bool | None]]] = defaultdict(list)
    for rater, model, unit, label, sure in labels:
        if known is not None:
            right = label == known[unit[0]] if known.get(unit[0]) else None
        else:
            right = _as_others(people[unit], label, own=not model)
        rows[rater, model].append((sure, right))
    order = sorted(rows, key=lambda one: (-len(rows[one]), one))
    shown = [(name, model, rater_calibration(rows[name, model])) for name, model in order[:LISTED]]
    title = next(variable.title for variable in kind.variables if variable.name == kind.headline)
    played = rehearsal and any(not model for _, model in order)
    return RatersConfidence(
        title, kind.confidence, criterion, shown, max(0, len(order) - LISTED), cut, played
    )


def _as_others(counts: Counter[str], label: str, *, own: bool) -> bool | None:
    """Whether a label is that of most other people; None where they tie or there are none."""
    others = Counter(counts)
    if own:
        others[label] -= 1
    found = [(value, n) for value, n in others.most_common() if n > 0]
    if not found or (len(found) > 1 and found[0][1] == found[1][1]):
        return None
    return found[0][0] == label


def _items(
    study: Study, kind: HitType, wanted: set[int]
) -> tuple[list[tuple[str, dict[int, str]]], dict[int, JSON]]:
    """What each item's headline label is compared with, the criteria that the type knows of; and the items' payloads."""
    own = Q(follow_up__outputs__system_id=F("explanation__system_id"))
    rows = (
        Item.objects.filter(study=study, pk__in=wanted)
        .annotate(real=FilteredRelation("follow_up__outputs", condition=own))
        .values_list("pk", "payload", "real__text", "explanation__output", "instance__gold_label", "follow_up__gold_label")
    )  # fmt: skip
    payloads: dict[int, JSON] = {}
    real: dict[int, str] = {}
    correct: dict[int, str] = {}
    for pk, payload, text, output, gold, follow_up_gold in rows:
        payloads[pk] = payload
        if "simulatability" in kind.measures:
            real[pk] = text or ""
        elif "forward_simulation" in kind.measures:
            real[pk] = output or ""
        elif kind.measures & {"utility", "generalization"}:
            correct[pk] = (follow_up_gold if "follow_up" in kind.headline else gold) or ""
    return [(REAL, real), (CORRECT, correct)], payloads
