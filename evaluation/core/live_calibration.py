"""How well each rater's confidence matches what is right, for the raters' page, without numpy so that the web process stays small."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotator.hit_types.base import JSON, HitType
from annotator.hit_types.confidence import answer_variables, without_confidence

NO_LABEL = "no label has both a confidence and something to compare it with"


@dataclass(frozen=True)
class RaterCalibration:
    """One rater. The figures are of ``labels`` that have a confidence and are known to be right or wrong; nan where they aren't defined,
    and ``reason`` or ``auc_reason`` says why. ``missing`` labels have no confidence, ``unknown`` ones nothing to compare with."""

    labels: int
    missing: int
    unknown: int
    confidence: float = math.nan
    right: float = math.nan
    brier: float = math.nan
    auc: float = math.nan
    reason: str = ""
    auc_reason: str = ""


def rater_calibration(rows: Sequence[tuple[float | None, bool | None]]) -> RaterCalibration:
    """Mean confidence, share right, Brier score and area under the ROC curve of (confidence in [0, 1], whether right) pairs.

    None is a confidence that wasn't given, or a label that can't be compared; such labels are counted and left out. Brier = mean of
    (c - y)². AUC: the chance that a label that is right has a higher confidence than one that is wrong, ties counting half;
    undefined where all are right or all are wrong. Source: Brier, 1950; Hanley and McNeil, 1982.

    >>> found = rater_calibration([(0.9, True), (0.6, True), (0.6, False), (None, True)])
    >>> round(found.brier, 3), found.auc, found.labels, found.missing
    (0.177, 0.75, 3, 1)
    """
    unknown = sum(hit is None for _, hit in rows)
    missing = sum(sure is None and hit is not None for sure, hit in rows)
    known = [(sure, hit) for sure, hit in rows if sure is not None and hit is not None]
    n = len(known)
    if not n:
        return RaterCalibration(0, missing, unknown, reason=NO_LABEL, auc_reason=NO_LABEL)
    right = sorted(sure for sure, hit in known if hit)
    wrong = sorted(sure for sure, hit in known if not hit)
    auc, why = math.nan, ""
    if right and wrong:
        above = sum(bisect_left(wrong, sure) + bisect_right(wrong, sure) for sure in right) / 2
        auc = above / (len(right) * len(wrong))
    else:
        why = f"all labels are {'right' if right else 'wrong'}"
    return RaterCalibration(
        labels=n,
        missing=missing,
        unknown=unknown,
        confidence=sum(sure for sure, _ in known) / n,
        right=len(right) / n,
        brier=sum((sure - hit) ** 2 for sure, hit in known) / n,
        auc=auc,
        auc_reason=why,
    )


def stages_of_variables(kind: HitType, payloads: Iterable[JSON]) -> Mapping[str, frozenset[str]]:
    """Variable -> the units of ``confidence`` that are about it: the stages of these items that ask it; "" for types with one stage."""
    names = [answer_variable.name for answer_variable in answer_variables(kind)]
    if kind.most_stages == 1:
        return dict.fromkeys(names, frozenset({""}))
    found: dict[str, set[str]] = {name: set() for name in names}
    plain = without_confidence(kind)
    for payload in payloads:
        for stage in plain.every_stage(payload):
            answer = {
                field.name: [field.options[0].value] if field.kind == "multi" else field.options[0].value
                for field in stage.fields
                if field.options
            }
            for rating in plain.to_ratings(payload, answer):
                found.setdefault(rating.variable, set()).add(stage.name)
    return {name: frozenset(stages) for name, stages in found.items()}
