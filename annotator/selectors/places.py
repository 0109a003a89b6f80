"""The places that a study, or one person in it, has left."""

from __future__ import annotations

from dataclasses import dataclass

from annotator.core.replica import reading_from
from annotator.models import Participation, PlaceAlert, Study
from annotator.selectors.budget import cap_reached

#: Free places are counted up to this number, so that pages of very large studies stay fast.
MOST = 1000

#: SQL for the places whose judgment is excluded and has been given another place. There are few, in all studies together.
REPLACED = (
    "(SELECT j.place_id FROM annotator_replacement n JOIN annotator_judgment j ON j.id = n.judgment_id"
    " WHERE j.place_id IS NOT NULL AND EXISTS (SELECT 1 FROM annotator_exclusion x WHERE x.study_id = j.study_id"
    " AND x.lifted_at IS NULL AND (x.judgment_id = j.id OR x.rater_id = j.rater_id)))"
)
_OF_STUDY = """
SELECT (SELECT count(*) FROM (SELECT 1 FROM annotator_place p
        WHERE p.study_id = %(study)s AND NOT p.rehearsal AND p.assignment_id IS NULL LIMIT %(most)s) free),
    EXISTS (SELECT 1 FROM annotator_place p JOIN annotator_assignment a ON a.id = p.assignment_id AND a.state = 'leased'
        WHERE p.study_id = %(study)s AND NOT p.rehearsal)
"""
# Nobody gets an item twice, whatever became of the first time; nor an instance, if only one of each is allowed.
_MINE = {
    False: "SELECT 1 FROM annotator_assignment m WHERE m.rater_id = %(rater)s AND m.item_id = i.id",
    True: "SELECT 1 FROM annotator_assignment m WHERE m.rater_id = %(rater)s AND m.instance_id_of_item = i.instance_id",
}
_UNIT = {False: "i.id", True: "i.instance_id"}
FREE_TASKS = """
SELECT count(DISTINCT unit) AS tasks FROM (
    SELECT {unit} AS unit FROM annotator_place p JOIN annotator_item i ON i.id = p.item_id
    WHERE p.study_id = %(study)s
        AND p.rehearsal = (SELECT r.rehearsal FROM annotator_rater r WHERE r.id = %(rater)s)
        AND p.assignment_id IS NULL AND NOT EXISTS ({mine})
    LIMIT %(most)s) free
"""
#: The progress of a person counts the study's free places up to this number, with every answer. Where a person gets one
#: item of each instance only, that counts up to ``MOST``: the study's items say too little about what is left.
NEAR_END = 200
# Where that many are free, the person's own tasks among them are not looked for: nobody is near the end yet.
_NEAR_END = """
WITH free AS MATERIALIZED (SELECT p.item_id FROM annotator_place p WHERE p.study_id = %(study)s
    AND p.rehearsal = (SELECT r.rehearsal FROM annotator_rater r WHERE r.id = %(rater)s)
    AND p.assignment_id IS NULL LIMIT {most})
SELECT near.near::int AS near, CASE WHEN near.near THEN
    (SELECT count(DISTINCT {unit}) FROM free JOIN annotator_item i ON i.id = free.item_id WHERE NOT EXISTS ({mine}))
    ELSE 0 END AS tasks
FROM (SELECT count(*) < {most} AS near FROM free) near
"""
_HELD = """
SELECT EXISTS (SELECT 1 FROM annotator_place p JOIN annotator_assignment a ON a.id = p.assignment_id AND a.state = 'leased'
    JOIN annotator_item i ON i.id = p.item_id
    WHERE p.study_id = %(study)s
        AND p.rehearsal = (SELECT r.rehearsal FROM annotator_rater r WHERE r.id = %(rater)s)
        AND NOT EXISTS ({mine}))
"""


@dataclass(frozen=True)
class Places:
    """``free`` is at most ``MOST``. ``held`` says whether others are doing tasks that they might give back."""

    free: int
    held: bool

    @property
    def many(self) -> bool:
        return self.free >= MOST

    @property
    def full(self) -> bool:
        return self.free == 0


def places_of(study: Study) -> Places:
    """The places left for new participants: none once the study's cap is reached. Rehearsals have places of their own."""
    with reading_from().cursor() as cursor:
        cursor.execute(_OF_STUDY, {"study": study.pk, "most": MOST})
        places = Places(*cursor.fetchone())
    return Places(0, places.held) if places.free and cap_reached(study) else places


def places_for(participation: Participation) -> Places:
    """The tasks that one person could still get, without the one that they have open: none once the study's cap is reached."""
    study = participation.study
    values = {"study": study.pk, "rater": participation.rater_id, "most": MOST}
    one = study.one_condition_per_instance
    with reading_from().cursor() as cursor:
        cursor.execute(FREE_TASKS.format(unit=_UNIT[one], mine=_MINE[one]), values)
        (free,) = cursor.fetchone()
        cursor.execute(_HELD.format(mine=_MINE[one]), values)
        (held,) = cursor.fetchone()
    if free and study.budget_cap is not None and not participation.rater.rehearsal and cap_reached(study):
        return Places(0, held)
    return Places(free, held)


def near_end_sql(one_condition: bool) -> str:
    """SQL that tells whether fewer places of a study are free than it counts (``near``) and, if so, the number of
    different tasks among them that a person could take (``tasks``).
    """
    most = MOST if one_condition else NEAR_END
    return _NEAR_END.format(unit=_UNIT[one_condition], mine=_MINE[one_condition], most=most)


def place_alerts_of(*, rater_id: int) -> list[PlaceAlert]:
    """A person's open requests, and those that were answered as long as their studies still have places."""
    alerts = PlaceAlert.objects.select_related("study").filter(
        rater_id=rater_id, study__state=Study.State.LIVE, study__deleted_at=None
    )
    return [
        alert
        for alert in alerts.order_by("asked_at")
        if alert.told_at is None or not places_of(alert.study).full
    ]
