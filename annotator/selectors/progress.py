"""A study's progress: places, judgments, raters, time and pay."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from annotator.core.kept_figures import StudyCount
from annotator.models import Study
from annotator.selectors.conduct import GroupWork, study_work

_CONDITIONS = StudyCount(
    "places by condition",
    """
SELECT i.condition, count(*), count(*) FILTER (WHERE a.state = 'submitted'),
    count(*) FILTER (WHERE a.state IS NOT NULL AND a.state <> 'submitted')
FROM annotator_place p JOIN annotator_item i ON i.id = p.item_id
LEFT JOIN annotator_assignment a ON a.id = p.assignment_id
WHERE p.study_id = %s AND NOT p.rehearsal GROUP BY i.condition ORDER BY i.condition
""",
)
_ITEMS = StudyCount(
    "items by role",
    """
SELECT count(*), count(*) FILTER (WHERE role = 'gold'), count(*) FILTER (WHERE role = 'attention')
FROM annotator_item WHERE study_id = %s
""",
)


@dataclass(frozen=True)
class Condition:
    """Places of one condition (empty name: items without one)."""

    name: str
    places: int
    done: int
    held: int

    @property
    def share(self) -> float:
        return self.done / self.places if self.places else 0.0

    @property
    def held_share(self) -> float:
        return self.held / self.places if self.places else 0.0


@dataclass(frozen=True)
class StudyProgress:
    """Counts of one study.

    ``people``, ``surplus``, ``fast``, ``median_seconds`` and ``pay_per_hour`` are of participants only: judgments made in
    the browser, without rehearsals and imports. ``median_seconds`` and ``pay_per_hour`` are None if there are none.
    ``work`` is the participants' work, ``conditions`` are the places by condition. ``pay_per_hour`` is the pay for an item divided by the median time for an item,
    in the study's currency.
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
    imported_raters: int
    rehearsal_raters: int
    simulators: int
    median_seconds: float | None
    fast: int
    pay_per_hour: float | None
    excluded: int
    work: GroupWork = field(default_factory=GroupWork)
    conditions: tuple[Condition, ...] = ()
    excluded_raters: frozenset[int] = frozenset()

    @property
    def free(self) -> int:
        return self.places - self.done - self.leased

    @property
    def percent(self) -> float:
        """Share of the places that are done, in percent; 0 if there are none."""
        return 100 * self.done / self.places if self.places else 0.0

    def as_json(self) -> dict[str, Any]:
        found = asdict(self) | {"free": self.free}
        for name in ("work", "conditions", "excluded_raters"):
            del found[name]
        return found


def study_progress(study: Study) -> StudyProgress:
    """Count a study; for a draft, the places it will have."""
    [(items, gold, attention)] = _ITEMS.rows([study.pk])
    conditions = tuple(Condition(*row) for row in _CONDITIONS.rows([study.pk]))
    places = sum(one.places for one in conditions)
    excluded = list(study.exclusions.filter(lifted_at__isnull=True).values_list("rater_id", flat=True))
    work = study_work(study)
    people, imported = work.get("participants", GroupWork()), work.get("imported", GroupWork())
    rehearsal, simulators = work.get("rehearsal", GroupWork()), work.get("simulators", GroupWork())
    median = people.median_seconds
    pay = float(study.pay_per_item)
    return StudyProgress(
        items=items,
        gold=gold,
        attention=attention,
        places=places or (items * study.redundancy if study.state == Study.State.DRAFT else 0),
        done=sum(one.done for one in conditions),
        leased=sum(one.held for one in conditions),
        judgments=sum(one.judgments for one in work.values()),
        web=people.judgments,
        imported=imported.judgments,
        simulated=simulators.judgments,
        rehearsed=rehearsal.judgments,
        surplus=people.surplus,
        people=people.raters,
        imported_raters=imported.raters,
        rehearsal_raters=rehearsal.raters,
        simulators=simulators.raters,
        median_seconds=median,
        fast=people.fast,
        pay_per_hour=pay * 3600 / median if median and pay else None,
        excluded=len(excluded),
        work=people,
        conditions=conditions,
        excluded_raters=frozenset(pk for pk in excluded if pk is not None),
    )
