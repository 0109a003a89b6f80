"""A study's progress: places, judgments, raters, time and pay."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from annotator.core.kept_figures import StudyCount
from annotator.models import Study
from annotator.selectors.conduct import GroupWork, study_work
from annotator.selectors.places import REPLACED
from annotator.selectors.workload import Workload, unit_counts, workload_of

# Withdrawn items have no places that anybody waits for, and what was judged there isn't counted; nor are places whose
# excluded judgment was given another place. Subqueries with IN are computed once and looked up by their hash.
_CONDITIONS = StudyCount(
    "places by condition",
    """
SELECT i.condition, count(*), count(*) FILTER (WHERE a.state = 'submitted'),
    count(*) FILTER (WHERE a.state IS NOT NULL AND a.state <> 'submitted'),
    count(*) FILTER (WHERE a.state = 'submitted' AND (
        a.rater_id IN (SELECT e.rater_id FROM annotator_exclusion e
            WHERE e.study_id = %(study)s AND e.lifted_at IS NULL AND e.rater_id IS NOT NULL)
        OR a.id IN (SELECT j.assignment_id FROM annotator_exclusion e JOIN annotator_judgment j ON j.id = e.judgment_id
            WHERE e.study_id = %(study)s AND e.lifted_at IS NULL AND j.assignment_id IS NOT NULL)))
FROM annotator_place p JOIN annotator_item i ON i.id = p.item_id
LEFT JOIN annotator_assignment a ON a.id = p.assignment_id
WHERE p.study_id = %(study)s AND NOT p.rehearsal AND i.withdrawn_at IS NULL AND p.id NOT IN {replaced}
GROUP BY i.condition ORDER BY i.condition
""".replace("{replaced}", REPLACED),
)


@dataclass(frozen=True)
class Condition:
    """Places of one condition (empty name: items without one). ``excluded`` of those that are done hold a judgment that
    is excluded by its rater or by itself and hasn't got another place: statistics leave it out.
    """

    name: str
    places: int
    done: int
    held: int
    excluded: int = 0

    @property
    def share(self) -> float:
        return self.done / self.places if self.places else 0.0

    @property
    def held_share(self) -> float:
        return self.held / self.places if self.places else 0.0


@dataclass(frozen=True)
class StudyProgress:
    """Counts of one study.

    Items that were withdrawn are in no figure. ``done_excluded`` of the ``done`` places hold excluded
    judgments that have no other place; those that have one are left out, and the other place is counted.
    ``people``, ``surplus``, ``fast``, ``median_seconds`` and ``pay_per_hour`` are of participants only: judgments made in
    the browser, without rehearsals and imports. ``median_seconds`` and ``pay_per_hour`` are None if there are none.
    ``work`` is the participants' work, ``conditions`` are the places by condition. ``workload`` is that of one person.
    ``pay_per_hour`` is what a person earns who does as many tasks as one person can, in an hour of all that it takes:
    consent, instructions, practice and exam as announced, tasks at their median time. In the study's currency.
    """

    items: int
    gold: int
    attention: int
    places: int
    done: int
    done_excluded: int
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
    workload: Workload
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
        found = asdict(self) | {
            "free": self.free,
            "people_needed": self.workload.people,
            "tasks_each": self.workload.tasks_each,
            "earns_most": float(self.workload.earns),
            "minutes_most": self.workload.minutes,
            "pay_per_hour_planned": self.workload.per_hour,
        }
        for name in ("work", "workload", "conditions", "excluded_raters"):
            del found[name]
        return found


def study_progress(study: Study) -> StudyProgress:
    """Count a study; for a draft, the places it will have."""
    counts = unit_counts(study)
    conditions = tuple(Condition(*row) for row in _CONDITIONS.rows({"study": study.pk}))
    places = sum(condition.places for condition in conditions)
    excluded = list(study.exclusions.filter(lifted_at__isnull=True).values_list("rater_id", flat=True))
    work = study_work(study)
    people, imported = work.get("participants", GroupWork()), work.get("imported", GroupWork())
    rehearsal, simulators = work.get("rehearsal", GroupWork()), work.get("simulators", GroupWork())
    median = people.median_seconds
    workload = workload_of(study, counts)
    return StudyProgress(
        items=counts.items,
        gold=counts.gold,
        attention=counts.attention,
        places=places or (workload.places if study.state == Study.State.DRAFT else 0),
        done=sum(condition.done for condition in conditions),
        done_excluded=sum(condition.excluded for condition in conditions),
        leased=sum(condition.held for condition in conditions),
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
        pay_per_hour=workload.per_hour_at(median / 60) if median and workload.earns else None,
        workload=workload,
        excluded=len(excluded),
        work=people,
        conditions=conditions,
        excluded_raters=frozenset(pk for pk in excluded if pk is not None),
    )
