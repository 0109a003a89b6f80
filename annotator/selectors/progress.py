"""A study's progress: places, judgments, raters, time and pay."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db import connection

from annotator.models import Study

# One look at each table; the medians are of counted judgments that people made in the browser.
_PLACES = """
SELECT count(*), count(*) FILTER (WHERE a.state = 'submitted'),
    count(*) FILTER (WHERE a.state IS NOT NULL AND a.state <> 'submitted')
FROM annotator_place p LEFT JOIN annotator_assignment a ON a.id = p.assignment_id
WHERE p.study_id = %s AND NOT p.rehearsal
"""
_ITEMS = """
SELECT count(*), count(*) FILTER (WHERE role = 'gold'), count(*) FILTER (WHERE role = 'attention')
FROM annotator_item WHERE study_id = %s
"""
_JUDGMENTS = """
SELECT count(*),
    count(*) FILTER (WHERE j.source = 'web'), count(*) FILTER (WHERE j.source = 'import'),
    count(*) FILTER (WHERE j.source = 'simulator'), count(*) FILTER (WHERE j.source = 'rehearsal'),
    count(*) FILTER (WHERE j.standing = 'surplus'),
    count(DISTINCT j.rater_id) FILTER (WHERE r.kind = 'human'),
    count(DISTINCT j.rater_id) FILTER (WHERE r.kind = 'simulator'),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY j.seconds)
        FILTER (WHERE j.source IN ('web', 'rehearsal') AND j.standing = 'counted'),
    count(*) FILTER (WHERE j.source IN ('web', 'rehearsal') AND j.seconds < %s)
FROM annotator_judgment j JOIN annotator_rater r ON r.id = j.rater_id WHERE j.study_id = %s
"""


@dataclass(frozen=True)
class Progress:
    """Counts of one study. ``median_seconds`` and ``pay_per_hour`` are None where there are no judgments.

    ``pay_per_hour`` is the pay of an item over the median time of an item, in the study's currency.
    """

    items: int
    gold: int
    attention: int
    places: int
    done: int
    leased: int
    judgments: int
    web: int
    imported: int
    simulated: int
    rehearsed: int
    surplus: int
    people: int
    simulators: int
    median_seconds: float | None
    fast: int
    pay_per_hour: float | None
    excluded: int

    @property
    def free(self) -> int:
        return self.places - self.done - self.leased

    @property
    def percent(self) -> float:
        """Share of the places that are done, in percent; 0 if there are none."""
        return 100 * self.done / self.places if self.places else 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"free": self.free}


def study_progress(study: Study) -> Progress:
    """Count a study; for a draft, the places it will have."""
    with connection.cursor() as cursor:
        cursor.execute(_ITEMS, [study.pk])
        items, gold, attention = cursor.fetchone()
        cursor.execute(_PLACES, [study.pk])
        places, done, leased = cursor.fetchone()
        cursor.execute(_JUDGMENTS, [study.min_seconds, study.pk])
        (judgments, web, imported, simulated, rehearsed, surplus, people, simulators, median, fast) = (
            cursor.fetchone()
        )
    pay = float(study.pay_per_item)
    return Progress(
        items=items,
        gold=gold,
        attention=attention,
        places=places or (items * study.redundancy if study.state == Study.State.DRAFT else 0),
        done=done,
        leased=leased,
        judgments=judgments,
        web=web,
        imported=imported,
        simulated=simulated,
        rehearsed=rehearsed,
        surplus=surplus,
        people=people,
        simulators=simulators,
        median_seconds=median,
        fast=fast,
        pay_per_hour=pay * 3600 / median if median and pay else None,
        excluded=study.exclusions.filter(lifted_at__isnull=True).count(),
    )
