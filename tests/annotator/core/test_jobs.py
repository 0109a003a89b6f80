"""Background jobs: locks that end with their connection, waking workers, and what a task is declared with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection, transaction
from kombu.exceptions import OperationalError

from annotator.core import jobs
from annotator.core.acting import acting
from tests.databases import address


def elsewhere(take: Callable[[], bool]) -> bool:
    """The result of taking a lock in another thread, whose connection is closed afterwards."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: (found.append(take()), connection.close()))
    thread.start()
    thread.join(60)
    return found[0]


@contextmanager
def other_connection() -> Iterator[psycopg.Connection]:
    with psycopg.connect(address(connection.settings_dict["NAME"]), autocommit=True) as other:
        yield other


@pytest.mark.django_db(transaction=True)
def test_one_connection_at_a_time_has_a_lock() -> None:
    with jobs.lock_held("report", 7) as mine:
        assert mine
        assert not elsewhere(lambda: jobs.lock_take("report", 7))
        assert elsewhere(lambda: jobs.lock_take("report", 8))
    assert elsewhere(lambda: jobs.lock_take("report", 7))


@pytest.mark.django_db(transaction=True)
def test_a_lock_that_another_connection_has_is_not_released() -> None:
    with other_connection() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [jobs.lock_key("report", 7)])
        with jobs.lock_held("report", 7) as mine:
            assert not mine
        assert not elsewhere(lambda: jobs.lock_take("report", 7))


@pytest.mark.django_db(transaction=True)
def test_a_lock_ends_with_its_connection() -> None:
    with other_connection() as other:
        other.execute("SELECT pg_advisory_lock(%s)", [jobs.lock_key("report", 7)])
        assert not jobs.lock_take("report", 7)
    jobs.lock_wait_briefly("report", 7)
    assert jobs.lock_take("report", 7)
    jobs.lock_release("report", 7)


@pytest.mark.django_db(transaction=True)
def test_a_brief_lock_ends_with_the_transaction() -> None:
    with transaction.atomic():
        assert jobs.lock_take_briefly("report", 7)
        assert not elsewhere(lambda: jobs.lock_take("report", 7))
    assert elsewhere(lambda: jobs.lock_take("report", 7))


@pytest.mark.django_db(transaction=True)
def test_many_locks_are_seen_and_taken_at_once() -> None:
    names: set[jobs.Name] = {("report", number) for number in range(20)}
    held = {name for name in names if isinstance(name[1], int) and name[1] < 6}
    assert {jobs.lock_key(*name) < 0 for name in held} == {True, False}, "keys of both signs"
    with other_connection() as other:
        for name in held:
            other.execute("SELECT pg_advisory_lock(%s)", [jobs.lock_key(*name)])
        assert jobs.locks_free(names) == names - held
        with transaction.atomic():
            assert jobs.locks_take_briefly(names) == names - held
            assert not elsewhere(lambda: jobs.lock_take("report", 7))
        assert elsewhere(lambda: jobs.lock_take("report", 7))
    jobs.lock_wait_briefly("report", 0)
    assert jobs.locks_free(names) == names


@pytest.mark.parametrize("error", [OperationalError("refused"), ConnectionResetError()])
def test_a_worker_that_cannot_be_woken_is_no_error(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(jobs.current_app, "send_task", fail)
    assert jobs.enqueue("annotator.export_build", export_pk=1) is False


def test_a_task_is_redelivered_if_its_worker_is_lost_and_acts_as_a_job() -> None:
    @jobs.job("tests.remember")
    def remember(*, number: int) -> tuple[int, str]:
        return number, acting().via

    try:
        assert (remember.acks_late, remember.reject_on_worker_lost, remember.ignore_result) == (
            True,
            True,
            True,
        )
        assert remember(number=3) == (3, "job")
    finally:
        jobs.current_app.tasks.unregister("tests.remember")
