"""Agreement so far, computed on people's ratings that count, in the order in which they were made."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models.functions import Mod

from annotator.core.kept_figures import StudyCount, figures_kept
from annotator.hit_types.base import Variable
from annotator.models import Study
from annotator.selectors.judgment import judgments_filter
from annotator.selectors.study import study_hit_type, study_is_large
from evaluation.core.live_alpha import Alpha, Point, agreement_over_time

#: The most judgments that a web request reads; with more, it reads only every second, third, ... item.
MOST = 12_000


@dataclass(frozen=True)
class AgreementSoFar:
    """Agreement on the study's headline variable. ``every``: 1 for all items, 3 for every third."""

    variable: Variable
    points: list[Point]
    judgments: int
    every: int
    rehearsal: bool


def agreement_so_far(*, study: Study) -> AgreementSoFar | None:
    """The same ratings as in reports: no surplus, exclusions or gold, and rehearsals only if there is nothing else.
    Returns None if the items don't share a headline variable.
    """
    kind = study_hit_type(study)
    variable = next((one for one in kind.variables if one.name == kind.headline), None)
    if variable is None:
        return None
    counted = judgments_filter(
        study=study,
        filters={
            "standing": "counted",
            "rater_kind": "human",
            "role": "ordinary",
            "excluded": "no",
            "rehearsal": "both",
        },
    )
    people = counted.filter(rater__rehearsal=False)
    rehearsal = not people.exists()
    rows: Any = counted if rehearsal else people
    n = rows.count()
    every = -(-n // MOST) if n else 1
    if every > 1:  # the items first, whose judgments an index has, instead of looking at all judgments
        rows = rows.filter(item__in=study.items.alias(left=Mod("pk", every)).filter(left=0).values("pk"))
    fetched = list(
        rows.order_by("created_at", "id").values_list("item_id", "digest", "response", "created_at")
    )
    payloads = dict(study.items.filter(pk__in={row[0] for row in fetched}).values_list("pk", "payload"))
    ratings: list[tuple[Hashable, str, datetime]] = []
    read: dict[tuple[int, str], list[tuple[str, str]]] = {}
    for item, digest, response, at in fetched:
        if (item, digest) not in read:
            read[item, digest] = [
                (rating.unit, rating.value)
                for rating in kind.to_ratings(payloads[item], response)
                if rating.variable == variable.name
            ]
        ratings += [((item, unit), value, at) for unit, value in read[item, digest]]
    return AgreementSoFar(variable, agreement_over_time(ratings, variable), len(fetched), every, rehearsal)


def _kept_count(study_pk: int) -> list[tuple[Any, ...]]:
    """Agreement so far as rows of plain JSON: what it's about, then its points."""
    found = agreement_so_far(study=Study.objects.get(pk=study_pk))
    if found is None:
        return []
    points = [
        (point.at, point.ratings, *(_number(n) for n in (point.alpha.value, point.alpha.low, point.alpha.high)), point.alpha.units, point.alpha.reason)
        for point in found.points
    ]  # fmt: skip
    return [(found.judgments, found.every, found.rehearsal), *points]


_KEPT = StudyCount("agreement so far", count=_kept_count)


def agreement_so_far_kept(*, study: Study) -> tuple[bool, AgreementSoFar | None]:
    """(ready, ``agreement_so_far``); of a large study, not ready until a job has computed it: that goes through all judgments."""
    if not study_is_large(study):
        return True, agreement_so_far(study=study)
    with figures_kept(study.pk):
        rows = _KEPT.rows_by_job([study.pk])
    if rows is None:
        return False, None
    kind = study_hit_type(study)
    variable = next((one for one in kind.variables if one.name == kind.headline), None)
    if not rows or variable is None:
        return True, None
    (judgments, every, rehearsal), *points = rows
    return True, AgreementSoFar(variable, [_point(row) for row in points], judgments, every, rehearsal)


def _point(row: Sequence[Any]) -> Point:
    at, ratings, *numbers, units, reason = row
    value, low, high = (math.nan if number is None else number for number in numbers)
    return Point(at, ratings, Alpha(value, low, high, units, reason))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
