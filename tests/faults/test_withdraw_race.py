"""An item is withdrawn or corrected while somebody takes, submits or skips one of its tasks, or leaves: nobody's work is lost to
a deadlock.

Each test holds the participant's transaction open until the other one waits for it, and then commits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import close_old_connections, connection, transaction
from django.utils import timezone

from annotator.models import Assignment, Judgment, Participation, Place, Study
from annotator.services.assignment import assignment_next, assignment_return, leases_expire
from annotator.services.assignment_lock import assignment_lock
from annotator.services.items import item_correct, item_withdraw
from annotator.services.participation import participation_leave
from annotator.services.submit_and_next import turn_take
from tests.factories import make_participation, make_study, simulation_payload
from tests.faults.armed_studies import armed_study

pytestmark = [pytest.mark.fault, pytest.mark.django_db(transaction=True)]
ANSWER = {"helpful": "no"}


class Beside:
    """A call in a thread with its own connection."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self.thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        close_old_connections()
        try:
            call()
        except BaseException as error:
            self.error = error
        finally:
            connection.close()

    def waits(self) -> None:
        """Return as soon as a connection waits for a lock, or the call has ended."""
        for _ in range(3_000):
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_stat_clear_snapshot()")
                cursor.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                )
                if cursor.fetchone()[0] or not self.thread.is_alive():
                    return
            time.sleep(0.01)
        raise AssertionError("the call neither waited nor ended")

    def ends(self) -> None:
        self.thread.join(timeout=30)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error


def task_of(study: Study) -> tuple[Participation, Assignment]:
    person = make_participation(study)
    task = assignment_next(participation=person)
    assert task is not None
    return person, task


def submit(person: Participation, task: Assignment) -> None:
    turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw=ANSWER)


def withdrawn(task: Assignment) -> None:
    item_withdraw(item=task.item, by=None, reason="a typo")


def corrected(task: Assignment) -> None:
    item_correct(item=task.item, by=None, reason="a typo", payload=simulation_payload("corrected"), gold=None)


def nothing_is_open(task: Assignment) -> None:
    assert not Assignment.objects.filter(item=task.item_id, state=Assignment.State.LEASED).exists()
    assert not Place.objects.filter(item=task.item_id, judgment__isnull=True).exists()


@pytest.mark.parametrize("change", [withdrawn, corrected])
@pytest.mark.parametrize("late", [False, True], ids=["in time", "late"])
def test_an_answer_that_is_being_submitted_is_kept(late: bool, change: Callable[[Assignment], None]) -> None:
    study = make_study(items=1, launched=True, redundancy=2)
    person, task = task_of(study)
    if late:
        Assignment.objects.filter(pk=task.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        assert leases_expire() == 1
    with transaction.atomic():
        submit(person, task)
        beside = Beside(lambda: change(task))
        beside.waits()
    beside.ends()
    assert Judgment.objects.get(assignment=task).standing == Judgment.Standing.COUNTED
    nothing_is_open(task)


@pytest.mark.parametrize("change", [withdrawn, corrected])
def test_a_task_that_is_being_given_out_is_taken_back(change: Callable[[Assignment], None]) -> None:
    study = make_study(items=1, launched=True, redundancy=2)
    with transaction.atomic():
        person, task = task_of(study)
        beside = Beside(lambda: change(task))
        # the item's places are locked by the claim, which the other transaction waits for
        beside.waits()
    beside.ends()
    nothing_is_open(task)
    task.refresh_from_db()
    assert task.state == Assignment.State.EXPIRED
    submit(person, task)
    assert Judgment.objects.get(assignment=task).standing == Judgment.Standing.SURPLUS


def test_a_task_whose_arm_is_just_being_chosen_is_taken_back() -> None:
    """The choice of the arm locks the item after the place."""
    study = armed_study(items=1, places=2)
    person = make_participation(study)
    item = study.items.get()
    with transaction.atomic():
        assert Place.objects.select_for_update(no_key=True).filter(item=item).count() == 2
        list(Place.objects.select_for_update(no_key=True).filter(item=item))
        beside = Beside(lambda: item_withdraw(item=item, by=None, reason="a typo"))
        beside.waits()
        task = assignment_next(participation=person)  # takes its place, and then locks the item
    beside.ends()
    assert task is not None
    nothing_is_open(task)


def test_a_task_that_is_being_skipped_stays_skipped() -> None:
    study = make_study(items=1, launched=True, redundancy=2)
    person, task = task_of(study)
    with transaction.atomic():
        assignment_return(user_id=person.rater.user_id, assignment_pk=task.pk, reason="too long")
        beside = Beside(lambda: withdrawn(task))
        beside.waits()
    beside.ends()
    task.refresh_from_db()
    assert task.state == Assignment.State.RETURNED
    nothing_is_open(task)


def test_leaving_waits_for_an_answer_that_is_being_submitted() -> None:
    """Both lock the participation before the task."""
    study = make_study(items=2, launched=True, redundancy=1)
    person, task = task_of(study)
    with transaction.atomic():
        Participation.objects.select_for_update().get(pk=person.pk)
        beside = Beside(lambda: participation_leave(participation=person))
        beside.waits()
        submit(person, task)
    beside.ends()
    assert Judgment.objects.get(assignment=task).standing == Judgment.Standing.COUNTED
    person.refresh_from_db()
    assert person.state == Participation.State.LEFT
    assert not Assignment.objects.filter(state=Assignment.State.LEASED).exists()


def test_a_submit_waits_for_the_participation_before_it_locks_the_task() -> None:
    """A webhook locks the participation, and then releases its tasks."""
    study = make_study(items=1, launched=True)
    person, task = task_of(study)

    def lock() -> None:
        with transaction.atomic():
            assignment_lock(user_id=person.rater.user_id, pk=task.pk)

    with transaction.atomic():
        Participation.objects.select_for_update().get(pk=person.pk)
        beside = Beside(lock)
        beside.waits()
        Assignment.objects.select_for_update(nowait=True).get(pk=task.pk)
    beside.ends()
