"""Lease places, extend leases and release places; ``Place`` describes the order in which they are given out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Model, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from annotator.core.allocation import arm_choose, presentation_rng
from annotator.core.errors import Refused
from annotator.core.prepared import prepared_cursor
from annotator.hit_types.base import FieldErrors, clean_text
from annotator.hit_types.registry import hit_type_get
from annotator.models import Assignment, Item, Participation, Place, Rater, Study
from annotator.selectors.consent import consented
from annotator.selectors.qualification import may_work
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study_texts import consent_digests
from annotator.services.limits import refuse_after_many_unfinished, refuse_second_task_of_guest

M = TypeVar("M", bound=Model)

# One statement claims a place and creates its assignment. It looks first at places that were given back, then onwards
# from the annotator's position, then (if there was nothing) at places that were taken when they passed. SKIP
# LOCKED lets concurrent annotators take neighbouring places without waiting for each other. NO KEY: a place that somebody
# else has taken meanwhile is passed over, but stays locked until the commit, and their judgment's foreign key needs it.
_CLAIM = """
WITH freed AS (
    SELECT p.id, p.item_id, p.position, p.rehearsal FROM annotator_place p
    WHERE p.study_id = %(study)s AND {layer} AND p.assignment_id IS NULL AND p.freed AND {allowed}
    ORDER BY p.position, p.number LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
), onward AS (
    SELECT p.id, p.item_id, p.position, p.rehearsal FROM annotator_place p
    WHERE NOT EXISTS (SELECT 1 FROM freed)
      AND p.study_id = %(study)s AND {layer} AND p.assignment_id IS NULL AND p.position > %(cursor)s AND {allowed}
    ORDER BY p.position, p.number LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
), behind AS (
    SELECT p.id, p.item_id, p.position, p.rehearsal FROM annotator_place p
    WHERE NOT EXISTS (SELECT 1 FROM freed) AND NOT EXISTS (SELECT 1 FROM onward)
      AND p.study_id = %(study)s AND {layer} AND p.assignment_id IS NULL AND p.position <= %(cursor)s AND {allowed}
    ORDER BY p.position, p.number LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
), pick AS (
    SELECT * FROM freed UNION ALL SELECT * FROM onward UNION ALL SELECT * FROM behind
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
# Guests have no password. A rehearsal's raters have none either, but hold only places of their rehearsal.
_SOLE = (
    "COALESCE((SELECT u.password LIKE '!%%' AND NOT r.rehearsal FROM annotator_rater r"
    " JOIN annotator_user u ON u.id = r.user_id WHERE r.id = %(rater)s), false)"
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


@transaction.atomic
def assignment_next(*, participation: Participation) -> Assignment | None:
    """The annotator's current task: the one that they have open, or else a new one. None if nothing is left for them.

    The caller has checked that the person may work (qualified, consented). Raises ``Refused`` (paused, closed, removed,
    full, wait, elsewhere) if they can't get a new one.
    """
    locked = (
        Participation.objects.select_for_update(of=("self",)).select_related("study").get(pk=participation.pk)
    )
    return assignment_in_hand(locked) or assignment_lease(locked)


def assignment_lease(participation: Participation) -> Assignment | None:
    """Give out a new task, inside a transaction that has locked the participation; see ``assignment_next``."""
    study = participation.study
    if participation.state != Participation.State.ACTIVE:
        raise Refused("removed", gettext("The researchers have ended your participation in this study."))
    if study.state != Study.State.LIVE and not participation.rater.rehearsal:
        if study.state == Study.State.PAUSED:
            raise Refused("paused", gettext("The researchers have paused this study."))
        raise Refused("closed", gettext("This study is closed."))
    if study.max_items_per_rater is not None:
        done = participation.assignments.filter(state__in=["submitted", "leased"]).count()
        if done >= study.max_items_per_rater:
            raise Refused(
                "full", gettext("You have done the maximum number of tasks per person in this study.")
            )
    assignment = _claim(participation, study)
    if assignment is None:
        if not may_work(participation):
            raise Refused(
                "not_qualified", gettext("The researchers have revoked your qualification for this study.")
            )
        if not consented(participation):
            raise Refused("not_now", gettext("The consent text has changed. Please read it again."))
        refuse_second_task_of_guest(participation=participation)
        refuse_after_many_unfinished(participation=participation, study=study)
        return None
    return _presented(assignment, study)


def _claim(participation: Participation, study: Study) -> Assignment | None:
    if study.one_condition_per_instance:
        # The rule depends on the person's tasks in all studies, so they are given out one at a time.
        Rater.objects.select_for_update(no_key=True).get(pk=participation.rater_id)
    now = timezone.now()
    until = now + timedelta(minutes=study.lease_minutes)
    allowed = _NOT_TWICE + (_ONE_CONDITION if study.one_condition_per_instance else "")
    needs, values = _needs(study)
    allowed += needs
    if study.unfinished_per_hour is not None:
        allowed += _UNFINISHED
        values |= {"unfinished": study.unfinished_per_hour, "hour_ago": now - timedelta(hours=1)}
    with prepared_cursor() as cursor:
        cursor.execute(
            _CLAIM.format(allowed=allowed, layer=_LAYER, sole=_SOLE),
            {
                "study": study.pk,
                "cursor": participation.cursor,
                "rater": participation.rater_id,
                "participation": participation.pk,
                "snapshot": study.snapshot_id,
                "now": now,
                "until": until,
                **values,
            },
        )
        row = cursor.fetchone()
    return _claimed(row, participation, now, until) if row else None


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


def _presented(assignment: Assignment, study: Study) -> Assignment:
    kind, payload = hit_type_get(study.hit_type), assignment.item.payload
    rng = presentation_rng(seed=study.seed, item_key=assignment.item.key, rater=assignment.rater_id)
    drawn = kind.present(payload, rng)
    arms = kind.arms(payload)
    if arms > 1:
        drawn = drawn | {"arm": _balanced_arm(assignment, study, arms, rng)}
    if drawn:
        assignment.presentation = drawn
        assignment.save(update_fields=["presentation"])
    return assignment


def _balanced_arm(assignment: Assignment, study: Study, arms: int, rng: Random) -> int:
    """The arm that keeps the item's arms balanced on completed judgments and live leases; see ``arm_choose``.

    Another transaction that takes a place of the same item waits here until our arm is committed. The lock doesn't
    block foreign keys to the item, so two transactions that each hold a place can't deadlock.
    """
    Item.objects.select_for_update(no_key=True).get(pk=assignment.item_id)
    layer = assignment.place.rehearsal
    others = Assignment.objects.filter(place__rehearsal=layer).exclude(pk=assignment.pk)  # leased, or counted

    def by_arm(rows: QuerySet[Assignment]) -> dict[int, int]:
        counted = rows.order_by().values_list("presentation__arm").annotate(n=Count("id"))
        return {arm: n for arm, n in counted if arm is not None}

    return arm_choose(
        arms=arms,
        places=study.redundancy,
        turn=assignment.place.position,
        held=by_arm(others.filter(item_id=assignment.item_id)),
        own=by_arm(others.filter(participation_id=assignment.participation_id)),
        rng=rng,
    )


def assignment_in_hand(participation: Participation) -> Assignment | None:
    """The open task: one with a live lease, or one whose lease expired while its item still has a free place, leased
    again."""
    open_ones = participation.assignments.select_related("item", "place").filter(
        state__in=["leased", "expired"]
    )
    for assignment in open_ones.order_by("-state", "id"):  # 'leased' before 'expired'
        assignment.participation = participation
        if assignment.state == Assignment.State.LEASED:
            return assignment
        study = participation.study
        given_out = study.state == Study.State.LIVE or participation.rater.rehearsal
        ready = given_out and may_work(participation) and consented(participation)
        if ready and assignment.extended < study.extra_time and _lease_again(assignment, study):
            return assignment
    return None


def _lease_again(assignment: Assignment, study: Study) -> bool:
    try:
        with transaction.atomic():
            return _leased_again(assignment, study)
    except IntegrityError:  # a guest who took a task in another study meanwhile
        return False


def _leased_again(assignment: Assignment, study: Study) -> bool:
    place = (
        Place.objects.select_for_update(skip_locked=True, no_key=True)
        .filter(item_id=assignment.item_id, assignment__isnull=True, rehearsal=assignment.rater.rehearsal)
        .order_by("number")
        .first()
    )
    if place is None:
        return False
    place.assignment = assignment
    place.freed = False
    place.save(update_fields=["assignment", "freed"])
    assignment.state = Assignment.State.LEASED
    assignment.snapshot_id = study.snapshot_id
    assignment.lease_until = timezone.now() + timedelta(minutes=study.lease_minutes)
    assignment.closed_at = None
    assignment.extended += 1
    assignment.save(update_fields=["state", "snapshot", "lease_until", "closed_at", "extended"])
    return True


@transaction.atomic
def lease_extend(*, user_id: int, assignment_pk: int) -> Assignment:
    """Extend the lease by its full length from now. Raises ``Refused`` if the task is no longer open, or has been held
    for longer than others should have to wait.
    """
    assignment = own_lease(user_id=user_id, pk=assignment_pk)
    if assignment.extended >= assignment.participation.study.extra_time:
        raise Refused(
            "not_now",
            gettext("There's no more extra time for this task. Submit your answer, or skip the task."),
        )
    assignment.lease_until = timezone.now() + timedelta(minutes=assignment.participation.study.lease_minutes)
    assignment.extended += 1
    assignment.save(update_fields=["lease_until", "extended"])
    return assignment


@transaction.atomic
def assignment_return(*, user_id: int, assignment_pk: int, reason: str) -> Assignment:
    """Skip a task, with a reason. Its place is free at once, and the task isn't offered to the person again."""
    assignment = own_lease(user_id=user_id, pk=assignment_pk)
    try:
        reason = clean_text(reason)
    except FieldErrors:
        reason = ""
    if not reason:
        raise Refused("not_now", gettext("Choose a reason for skipping this task."))
    assignment.state = Assignment.State.RETURNED
    assignment.reason = reason[:2000]
    assignment.closed_at = timezone.now()
    assignment.save(update_fields=["state", "reason", "closed_at"])
    Place.objects.filter(assignment=assignment).update(assignment=None, freed=True)
    return assignment


def own_lease(*, user_id: int, pk: int) -> Assignment:
    """A person's own open task, locked. Raises ``Refused`` (not_found, lease_expired, already_done)."""
    assignment = (
        Assignment.objects.select_for_update(of=("self",))
        .select_related("participation__study", "item")
        .filter(pk=pk, rater__user_id=user_id)
        .first()
    )
    if assignment is None:
        raise Refused("not_found", gettext("This task doesn't exist, or it isn't yours."))
    if assignment.state == Assignment.State.SUBMITTED:
        raise Refused("already_done", gettext("You have already submitted this task."))
    if assignment.state != Assignment.State.LEASED:
        raise Refused("lease_expired", gettext("Time ran out, and the task was given back."))
    return assignment


def leases_expire(*, now: datetime | None = None, limit: int = 1000) -> int:
    """Release the places of expired leases; returns how many. The sweeper runs it; safe to run at any time, and twice."""
    now = now or timezone.now()
    total = 0
    while True:
        with transaction.atomic():
            over = list(
                Assignment.objects.select_for_update(skip_locked=True)
                .filter(state=Assignment.State.LEASED, lease_until__lt=now)
                .order_by("lease_until")
                .values_list("pk", flat=True)[:limit]
            )
            Assignment.objects.filter(pk__in=over).update(state=Assignment.State.EXPIRED, closed_at=now)
            Place.objects.filter(assignment__in=over).update(assignment=None, freed=True)
        total += len(over)
        if len(over) < limit:
            return total


def guest_task_give_back(*, rater_id: int) -> None:
    """Release a guest's open task because they are reopening another one; they get it again if it is still free. Raises
    ``Refused`` while another of their requests is using it.
    """
    held = Assignment.objects.filter(rater_id=rater_id, state=Assignment.State.LEASED, sole=True)
    # Don't wait for the lock: a submit of that task may be waiting for this transaction.
    locked = list(held.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True))
    if held.exclude(pk__in=locked).exists():
        raise Refused(
            "not_now", gettext("Another of your tasks is being submitted, so this answer can't be undone.")
        )
    Assignment.objects.filter(pk__in=locked).update(
        state=Assignment.State.EXPIRED, closed_at=timezone.now(), reason="an earlier answer was taken back"
    )
    Place.objects.filter(assignment__in=locked).update(assignment=None, freed=True)


def participation_release(*, participation: Participation, reason: str) -> int:
    """Release all of a person's open tasks (they stop, are removed, or lose the qualification)."""
    held: list[Any] = list(
        participation.assignments.select_for_update()
        .filter(state=Assignment.State.LEASED)
        .values_list("pk", flat=True)
    )
    Assignment.objects.filter(pk__in=held).update(
        state=Assignment.State.EXPIRED, closed_at=timezone.now(), reason=reason
    )
    Place.objects.filter(assignment__in=held).update(assignment=None, freed=True)
    return len(held)
