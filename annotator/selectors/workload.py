"""How much work a study is for one person, what it pays with everything around the tasks, and how many people it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Any

from annotator.core.kept_figures import StudyCount
from annotator.core.words import plural
from annotator.models import Snapshot, Study
from annotator.selectors.preparation import Preparation, preparation_of
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type

# A unit is what a person gets at most once: an item, or an instance where only one of its conditions is allowed. Items
# without an instance are units of their own.
_UNIT = {False: "i.id", True: "coalesce(i.instance_id, -i.id)"}
_UNITS = StudyCount(
    "units of studies",
    """
SELECT s.id, count(*), count(*), 1, count(*) FILTER (WHERE i.role = 'gold'), count(*) FILTER (WHERE i.role = 'attention')
FROM annotator_item i JOIN annotator_study s ON s.id = i.study_id
WHERE s.id = ANY(%(studies)s) AND i.withdrawn_at IS NULL AND NOT s.one_condition_per_instance GROUP BY s.id
UNION ALL
SELECT study_id, sum(n)::int, count(*), max(n), sum(gold)::int, sum(attention)::int FROM (
    SELECT i.study_id, count(*) AS n, count(*) FILTER (WHERE i.role = 'gold') AS gold,
        count(*) FILTER (WHERE i.role = 'attention') AS attention
    FROM annotator_item i JOIN annotator_study s ON s.id = i.study_id
    WHERE s.id = ANY(%(studies)s) AND i.withdrawn_at IS NULL AND s.one_condition_per_instance
    GROUP BY i.study_id, coalesce(i.instance_id, -i.id)) units
GROUP BY study_id
""",
)

# The free places of each unit that everybody present has had, skipped ones included. "Present" are the people who have
# joined, haven't left and can do more tasks.
_OUT_OF_REACH = """
WITH present AS MATERIALIZED (
    SELECT p.rater_id FROM annotator_participation p JOIN annotator_rater r ON r.id = p.rater_id
    WHERE p.study_id = %(study)s AND p.state = 'active' AND NOT r.rehearsal
        AND (%(most)s::int IS NULL OR %(most)s > (SELECT count(*) FROM annotator_assignment a
            WHERE a.participation_id = p.id AND a.state IN ('leased', 'submitted')))
), looked_for AS MATERIALIZED (
    SELECT (SELECT count(*) FROM present) <= %(most_present)s AND EXISTS (SELECT 1 FROM annotator_participation p
        JOIN annotator_rater r ON r.id = p.rater_id WHERE p.study_id = %(study)s AND NOT r.rehearsal) AS yes
), free AS MATERIALIZED (
    SELECT {unit} AS unit, count(*) AS places FROM annotator_place l JOIN annotator_item i ON i.id = l.item_id
    WHERE l.study_id = %(study)s AND NOT l.rehearsal AND l.assignment_id IS NULL AND i.withdrawn_at IS NULL
        AND (SELECT yes FROM looked_for) GROUP BY {unit}
), met AS (
    SELECT {met} AS unit, count(DISTINCT a.rater_id) AS people FROM annotator_assignment a JOIN present ON present.rater_id = a.rater_id
    WHERE {met} IN (SELECT unit FROM free) GROUP BY 1
)
SELECT coalesce(sum(free.places), 0)::int, coalesce(max(free.places), 0)::int
FROM free LEFT JOIN met ON met.unit = free.unit WHERE coalesce(met.people, 0) >= (SELECT count(*) FROM present)
"""
_MET = {False: "a.item_id", True: "coalesce(a.instance_id_of_item, -a.item_id)"}
_STUCK = {
    one: StudyCount(
        f"places out of reach, one condition {one}", _OUT_OF_REACH.format(unit=_UNIT[one], met=_MET[one])
    )
    for one in _UNIT
}
#: With more people present than this, somebody who hasn't had an item can nearly always be found: it isn't looked for.
MOST_PRESENT = 200


@dataclass(frozen=True)
class ItemCounts:
    """A study's items that aren't withdrawn, its units, and the number of items of the largest unit."""

    items: int = 0
    units: int = 0
    largest: int = 0
    gold: int = 0
    attention: int = 0


@dataclass(frozen=True)
class Workload:
    """``places`` are items times raters for each. ``units`` are what nobody gets twice: items, or instances. ``tasks_each`` is the largest number of tasks that one person can do,
    and ``people`` the smallest number of participants who can fill all places; 0 without items. ``pay`` is for one task,
    ``exam_pay`` for the exam. Times are in minutes.
    """

    places: int
    units: int
    tasks_each: int
    people: int
    preparation: Preparation
    minutes_each: float
    pay: Decimal
    exam_pay: Decimal

    @property
    def earns(self) -> Decimal:
        """What a person earns who does every task that one person can do."""
        return self.tasks_each * self.pay + self.exam_pay

    @property
    def minutes(self) -> float:
        """How long that takes: with consent, instructions, practice and exam."""
        return self.preparation.minutes + self.tasks_each * self.minutes_each

    @property
    def per_hour(self) -> float:
        """What that is in an hour; without items, as for a great many tasks."""
        return self.per_hour_at(self.minutes_each)

    def per_hour_at(self, minutes_each: float) -> float:
        """Pay per hour if a task takes this many minutes.

        >>> work = Workload(places=12, units=12, tasks_each=1, people=12, preparation=Preparation(10, 4, 10), minutes_each=2,
        ...     pay=Decimal("0.6"), exam_pay=Decimal(0))
        >>> round(work.per_hour, 2)
        1.38
        """
        if not self.tasks_each:
            return float(self.pay) * 60 / minutes_each
        return float(self.earns) * 60 / (self.preparation.minutes + self.tasks_each * minutes_each)

    def remedies(self, floor: float) -> list[str]:
        """What would raise the pay to ``floor`` an hour, each alone: more for a task, more for the exam, more tasks."""
        missing = floor * self.minutes / 60 - float(self.earns)
        ways = [f"pay {_up(float(self.pay) + missing / max(self.tasks_each, 1)):.2f} for a task"]
        if self.preparation.exam:
            ways.append(f"pay {_up(float(self.exam_pay) + missing):.2f} for the exam")
        surplus = float(self.pay) - floor * self.minutes_each / 60
        if surplus > 0:
            tasks = ceil((floor * self.preparation.minutes / 60 - float(self.exam_pay)) / surplus)
            if tasks <= self.units:
                ways.append(f"give each person at least {plural(tasks, 'task')}")
        return ways


def _up(amount: float) -> float:
    """Rounded up to a whole cent."""
    return ceil(amount * 100 - 1e-9) / 100


def study_workload(study: Study) -> Workload:
    """The workload of a study as it is now: of a draft by its settings, afterwards by its current version."""
    return workload_of(study, unit_counts(study))


def unit_counts(study: Study) -> ItemCounts:
    """Count the items and units of one study."""
    return next((ItemCounts(*rest) for _, *rest in unit_rows([study.pk])), ItemCounts())


def unit_rows(studies: Sequence[int]) -> list[tuple[Any, ...]]:
    """(study's id, and the numbers of ``ItemCounts``) of each study that has items."""
    return _UNITS.rows({"studies": list(studies)})


def workload_of(study: Study, counts: ItemCounts) -> Workload:
    """The workload of a study whose items are counted already."""
    return _workload(study, counts, snapshot_content(study.snapshot_id) if study.snapshot_id else None)


def study_workloads(studies: Sequence[Study], units: Mapping[int, Sequence[int]]) -> dict[int, Workload]:
    """The workload of each study by its id, of which ``units`` has the rest of its ``unit_rows``; one query at most."""
    wanted = [study.snapshot_id for study in studies if study.snapshot_id]
    versions = dict(Snapshot.objects.filter(pk__in=wanted).values_list("pk", "content")) if wanted else {}
    return {
        study.pk: _workload(study, ItemCounts(*units.get(study.pk, ())), versions.get(study.snapshot_id or 0))
        for study in studies
    }


def _workload(study: Study, counts: ItemCounts, rules: Mapping[str, Any] | None) -> Workload:
    raters = study.raters_by_arm
    checks = (counts.gold + counts.attention) if len(raters) > 1 else 0
    places = checks * study.redundancy + (counts.items - checks) * sum(raters.values()) // len(raters)
    if study.shared_items is not None:
        divided = max(counts.items - counts.gold - counts.attention - study.shared_items, 0)
        places = (counts.items - divided) * study.redundancy + divided
    units = counts.units
    if len(raters) > 1 and not study.one_condition_per_instance:  # nobody gets two arms of one item
        units = checks + (counts.items - checks) // len(raters)
    each = min(units, study.max_items_per_rater or units)
    return Workload(
        places=places,
        units=units,
        tasks_each=each,
        # People can always share the units so that this many are enough: nobody gets a unit twice, or more than `each`.
        people=max(_of_largest(study, counts), ceil(places / each)) if each else 0,
        preparation=preparation_of(rules or _rules_of_draft(study)),
        minutes_each=float(study.minutes_per_item),
        pay=study.pay_per_item,
        exam_pay=study.exam_pay if study.exam_required else Decimal(0),
    )


def _of_largest(study: Study, counts: ItemCounts) -> int:
    """The places of the largest unit, each of which needs another person; where some items are divided, at least so many."""
    raters = study.raters_by_arm
    if study.shared_items is not None:
        return max(counts.largest, study.redundancy)
    if study.one_condition_per_instance:
        return ceil(counts.largest * sum(raters.values()) / len(raters))
    return counts.largest * sum(raters.values())


def _rules_of_draft(study: Study) -> dict[str, Any]:
    kind = study_hit_type(study)
    return {
        "consent_text": study.consent_text,
        "instructions": study.instructions_text or kind.instructions,
        "practice": kind.practice,
        "practice_required": study.practice_required,
        "exam_required": study.exam_required,
        "exam_questions": study.exam_questions,
        "minutes_per_item": study.minutes_per_item,
    }


@dataclass(frozen=True)
class OutOfReach:
    """Free places that nobody who is present may take, and how many more people they need at least."""

    places: int
    people: int


def places_out_of_reach(study: Study, workload: Workload) -> OutOfReach:
    """The free places of a live study that nobody who has joined may take: everybody has had the item (or another of its
    instance), has done the most tasks that one person can do, or has left. None before anybody has joined."""
    values = {"study": study.pk, "most": study.max_items_per_rater, "most_present": MOST_PRESENT}
    [(places, of_one)] = _STUCK[study.one_condition_per_instance].rows(values)
    people = max(of_one, ceil(places / workload.tasks_each)) if places and workload.tasks_each else 0
    return OutOfReach(places, people)


def people_needed_words(study: Study, workload: Workload) -> str:
    """A sentence on how many people the study takes, with the reason where it is more than the raters of an item; empty without items."""
    if not workload.people:
        return ""
    words = (
        f"At least {plural(workload.people, 'participant')} {'is' if workload.people == 1 else 'are'} needed"
    )
    each = f"{plural(workload.tasks_each, 'task')}"
    if study.one_condition_per_instance and workload.people > study.redundancy:
        return f"{words}: nobody gets two items of one instance, so one person can do at most {each} of {workload.places:,}."
    if study.shared_items is not None and workload.people <= study.redundancy:
        return f"{words}, who all get the items for all raters and divide the others."
    if study.max_items_per_rater and workload.people > study.redundancy:
        return f"{words}: one person can do at most {each} of {workload.places:,}."
    return f"{words}."
