"""Claim the next free place for a person: one statement that finds it, takes it and creates the assignment.

``Place`` describes the order in which places are given out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Model
from django.utils import timezone

from annotator.core.allocation import WIDTH
from annotator.core.prepared import prepared_cursor
from annotator.models import Assignment, Item, Participation, Place, Rater, Study
from annotator.models.study_settings.allocation import WholeExplanations
from annotator.selectors.arms import control_arms_of
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study_texts import consent_digests

M = TypeVar("M", bound=Model)

# One statement claims a place and creates its assignment. It looks for one in several parts of the study in turn, each of
# which is a range of an index. SKIP LOCKED lets concurrent annotators take neighbouring places without waiting for each
# other. NO KEY: a place that somebody else has taken meanwhile is passed over, but stays locked until the commit, and
# their judgment's foreign key needs it.
_PART = """{name} AS (
    SELECT p.id, p.item_id, p.position, p.rehearsal FROM annotator_place p
    WHERE {before}p.study_id = %(study)s AND {layer} AND p.assignment_id IS NULL AND {where} AND {allowed}
    ORDER BY p.position, p.number LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
)"""
_NOTHING, _PICKED = "NOT EXISTS (SELECT 1 FROM {name}) AND ", "SELECT * FROM {name}"
# First places that were given back, then onwards from the annotator's position, then (if there was nothing) places that
# were taken when they passed.
_IN_ORDER = {"freed": "p.freed", "onward": "p.position > %(cursor)s", "behind": "p.position <= %(cursor)s"}
# Where one person gets all follow-ups of an explanation: the rest of theirs, then places that others have left over, then
# the beginning of another explanation that has room for one more person. Who finds none of these gets any place.
_BEGINS = f"p.position %% {WIDTH} = 0"
_TOGETHER = {
    "own": "p.position > %(cursor)s AND p.position < %(end)s",
    "freed": "p.freed",
    "earlier": f"p.position < %(end)s AND {_BEGINS}",
    "next": f"p.position >= %(end)s AND {_BEGINS}",
    "onward": "p.position > %(cursor)s",
    "behind": "p.position <= %(cursor)s",
}
_CLAIM = """
WITH {parts}, pick AS (
    {picks}
), made AS (
    INSERT INTO annotator_assignment (participation_id, item_id, rater_id, instance_id_of_item, snapshot_id, state, stage,
        presentation, draft, draft_version, taken_back, leased_at, lease_until, stage_opened_at, reason, sole)
    SELECT %(participation)s, i.id, %(rater)s, i.instance_id, %(snapshot)s, 'leased', 0,
        '{{}}', '{{}}', 0, 0, %(now)s, %(until)s, %(now)s, '', {sole}
        FROM pick JOIN annotator_item i ON i.id = pick.item_id
    ON CONFLICT (rater_id) WHERE state = 'leased' AND sole DO NOTHING
    RETURNING id, item_id, instance_id_of_item, sole
), held AS (
    UPDATE annotator_place p SET assignment_id = made.id, freed = false FROM pick, made WHERE p.id = pick.id
), moved AS (
    UPDATE annotator_participation SET cursor = GREATEST(cursor, (SELECT position FROM pick))
    WHERE id = %(participation)s AND EXISTS (SELECT 1 FROM made)
)
SELECT made.id, made.instance_id_of_item, made.sole, i.id, i.key, i.payload, pick.id, pick.position, pick.rehearsal
FROM made JOIN annotator_item i ON i.id = made.item_id CROSS JOIN pick
"""
# Guests have no password. A rehearsal's raters have none either, but hold only places of their rehearsal; and somebody
# for whom a panel vouches is one person however many studies they are in.
_SOLE = (
    "COALESCE((SELECT u.password LIKE '!%%' AND NOT r.rehearsal AND NOT n.recruiter_verified FROM annotator_rater r"
    " JOIN annotator_user u ON u.id = r.user_id JOIN annotator_participation n ON n.id = %(participation)s"
    " WHERE r.id = %(rater)s), false)"
)
# Tasks that the person skipped or let run out in the last hour: counted up to the limit and no further.
_UNFINISHED = (
    " AND (SELECT count(*) FROM (SELECT 1 FROM annotator_assignment u WHERE u.participation_id = %(participation)s"
    " AND u.state IN ('expired', 'returned') AND u.closed_at > %(hour_ago)s LIMIT %(unfinished)s) recent"
    ") < %(unfinished)s"
)
# Scalar subqueries, not NOT EXISTS, which the planner turns into a join over everything that the person has done. The
# look-up for each candidate (nearly always one) must not slow down as their work grows.
_NOT_TWICE = "(SELECT a.id FROM annotator_assignment a WHERE a.item_id = p.item_id AND a.rater_id = %(rater)s LIMIT 1) IS NULL"
# Rehearsal raters take the places of the rehearsal, everybody else those of the study.
_LAYER = "p.rehearsal = (SELECT r.rehearsal FROM annotator_rater r WHERE r.id = %(rater)s)"
# The same input may be an instance of several datasets, since each study's import makes its own. A person who has seen
# one of them has seen them all.
_ONE_CONDITION = (
    " AND (SELECT b.id FROM annotator_item i JOIN annotator_instance own ON own.id = i.instance_id"
    " JOIN annotator_instance same ON md5(same.input) = md5(own.input) AND (own.input <> '' OR same.id = own.id)"
    " JOIN annotator_assignment b ON b.instance_id_of_item = same.id"
    " WHERE i.id = p.item_id AND b.rater_id = %(rater)s LIMIT 1) IS NULL"
)
# Nobody sees two arms of one instance, whatever the system and the follow-up: somebody who has seen its explanation can't
# predict as if they hadn't. As above, the same input in another study is the same instance.
_ONE_ARM = (
    " AND (SELECT b.id FROM annotator_item i JOIN annotator_instance own ON own.id = i.instance_id"
    " JOIN annotator_instance same ON md5(same.input) = md5(own.input) AND (own.input <> '' OR same.id = own.id)"
    " JOIN annotator_assignment b ON b.instance_id_of_item = same.id JOIN annotator_item seen ON seen.id = b.item_id"
    " WHERE i.id = p.item_id AND b.rater_id = %(rater)s"
    " AND seen.payload->>'arm' IS DISTINCT FROM i.payload->>'arm' LIMIT 1) IS NULL"
)
# Checked in the same statement, so that a person who has just lost a qualification gets nothing more.
_QUALIFIED = (
    " AND (SELECT q.id FROM annotator_qualification q LEFT JOIN annotator_exam e ON e.id = q.exam_id"
    " WHERE q.rater_id = %(rater)s AND q.hit_type = %(hit_type_{n})s AND q.revoked_at IS NULL"
    " AND (q.exam_id IS NULL OR e.digest LIKE %(digest_{n})s) LIMIT 1) IS NOT NULL"
)


_CONSENTED = (
    " AND (SELECT c.id FROM annotator_consent c WHERE c.participation_id = %(participation)s"
    " AND c.digest = ANY(%(consent)s) AND c.withdrawn_at IS NULL LIMIT 1) IS NOT NULL"
)


def place_claim(participation: Participation, study: Study) -> Assignment | None:
    """A new assignment with its item and place, inside a transaction that has locked the participation; None if no place
    is free for this person."""
    rules = snapshot_content(study.snapshot_id)
    arms, together = control_arms_of(rules), rules.get("whole_explanations") == WholeExplanations.TOGETHER
    if study.one_condition_per_instance or arms:
        # The rule depends on the person's tasks in all studies, so they are given out one at a time.
        Rater.objects.select_for_update(no_key=True).get(pk=participation.rater_id)
    now = timezone.now()
    until = now + timedelta(minutes=study.lease_minutes)
    allowed = _NOT_TWICE + (_ONE_CONDITION if study.one_condition_per_instance else "")
    allowed += _ONE_ARM if arms else ""
    needs, values = _needs(study)
    allowed += needs
    if study.unfinished_per_hour is not None:
        allowed += _UNFINISHED
        values |= {"unfinished": study.unfinished_per_hour, "hour_ago": now - timedelta(hours=1)}
    with prepared_cursor() as cursor:
        cursor.execute(
            _statement(_TOGETHER if together else _IN_ORDER, allowed),
            {
                "study": study.pk,
                "cursor": participation.cursor,
                "rater": participation.rater_id,
                "participation": participation.pk,
                "snapshot": study.snapshot_id,
                "now": now,
                "until": until,
                **({"end": (participation.cursor // WIDTH + 1) * WIDTH} if together else {}),
                **values,
            },
        )
        row = cursor.fetchone()
    return _claimed(row, participation, now, until) if row else None


@lru_cache(maxsize=500)
def _written(parts: tuple[tuple[str, str], ...], allowed: str) -> str:
    looked, written = list[str](), list[str]()
    for name, where in parts:
        before = "".join(_NOTHING.format(name=one) for one in looked)
        written.append(_PART.format(name=name, before=before, layer=_LAYER, where=where, allowed=allowed))
        looked.append(name)
    picks = " UNION ALL ".join(_PICKED.format(name=name) for name in looked)
    return _CLAIM.format(parts=", ".join(written), picks=picks, sole=_SOLE)


def _statement(parts: Mapping[str, str], allowed: str) -> str:
    """The statement that looks for a place in these parts of the study, in their order."""
    return _written(tuple(parts.items()), allowed)


def _claimed(row: Sequence[Any], participation: Participation, now: datetime, until: datetime) -> Assignment:
    """The assignment that ``_CLAIM`` made, as a query would return it, with its item and its place.

    Of the item and the place, only what the task and its presentation need; the rest is loaded when it is first used.
    """
    pk, instance, sole, item, key, payload, place, position, rehearsal = row
    made = _loaded(
        Assignment,
        id=pk,
        participation_id=participation.pk,
        item_id=item,
        rater_id=participation.rater_id,
        instance_id_of_item=instance,
        snapshot_id=participation.study.snapshot_id,
        state=Assignment.State.LEASED.value,
        stage=0,
        presentation={},
        draft={},
        draft_version=0,
        leased_at=now,
        lease_until=until,
        stage_opened_at=now,
        closed_at=None,
        taken_back=0,
        extended=0,
        reason="",
        sole=sole,
    )
    made.participation = participation
    made.item = _loaded(Item, id=item, study_id=participation.study_id, key=key, payload=json.loads(payload))
    made.place = _loaded(
        Place, id=place, item_id=item, position=position, assignment_id=pk, freed=False, rehearsal=rehearsal
    )
    return made


def _loaded(model: type[M], **values: Any) -> M:
    """An instance with these columns, given in the model's order; the others are deferred."""
    return model.from_db(connection.alias, list(values), list(values.values()))


def _needs(study: Study) -> tuple[str, dict[str, Any]]:
    """The qualifications and the consent that a study requires, as a condition of ``_CLAIM`` and its parameters."""
    rules = snapshot_content(study.snapshot_id)
    wanted = [tuple(one.partition("@")[::2]) for one in rules.get("requires", ())]
    if rules["exam_required"]:
        wanted.append((rules["hit_type"], rules["exam_digest"]))
    values: dict[str, Any] = {}
    for n, (hit_type, digest) in enumerate(wanted):
        values |= {f"hit_type_{n}": hit_type, f"digest_{n}": f"{digest}%"}
    needs = "".join(_QUALIFIED.format(n=n) for n in range(len(wanted)))
    if rules["consent_text"]:
        needs += _CONSENTED
        values["consent"] = consent_digests(rules)
    return needs, values
