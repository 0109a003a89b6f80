"""Lease places, extend leases and release places; ``Place`` describes the order in which they are given out."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from annotator.core.allocation import arm_choose, presentation_rng
from annotator.core.errors import Refused
from annotator.hit_types.base import FieldErrors, clean_text
from annotator.models import GIVEN_BACK, Assignment, Item, Participation, Place, Study
from annotator.selectors.consent import consented
from annotator.selectors.qualification import may_work
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type
from annotator.services.budget import budget_admits, pay_for_item
from annotator.services.limits import refuse_after_many_unfinished, refuse_second_task_of_guest
from annotator.services.place_claim import place_claim


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
    admitted = (
        study.budget_cap is None
        or participation.rater.rehearsal
        or budget_admits(study=study, pay=pay_for_item(study, study.snapshot_id))
    )
    assignment = place_claim(participation, study) if admitted else None
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


def _presented(assignment: Assignment, study: Study) -> Assignment:
    kind, payload = study_hit_type(study), assignment.item.payload
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
    others = others.filter(
        judgment__replacement__isnull=True
    )  # the replacement takes the arm of what it replaces

    def by_arm(rows: QuerySet[Assignment]) -> dict[int, int]:
        counted = rows.order_by().values_list("presentation__arm").annotate(n=Count("id"))
        return {arm: n for arm, n in counted if arm is not None}

    return arm_choose(
        arms=arms,
        places=_places_of(assignment, study, layer),
        turn=assignment.place.position,
        held=by_arm(others.filter(item_id=assignment.item_id)),
        own=by_arm(others.filter(participation_id=assignment.participation_id)),
        rng=rng,
    )


def _places_of(assignment: Assignment, study: Study, layer: bool) -> int:
    """How many raters the item gets; they are counted only where items differ in it."""
    if snapshot_content(study.snapshot_id).get("shared_items") is None:
        return study.redundancy
    return Place.objects.filter(item_id=assignment.item_id, rehearsal=layer).count()


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
    pay = pay_for_item(study, study.snapshot_id)
    if not assignment.rater.rehearsal and not budget_admits(study=study, pay=pay, instead_of=assignment):
        return False
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
        state=Assignment.State.EXPIRED, closed_at=timezone.now(), reason=GIVEN_BACK
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
