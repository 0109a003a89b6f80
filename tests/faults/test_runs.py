"""Runs that complete, within budget and with the same result, despite a faulty endpoint, kills and flushes."""

from __future__ import annotations

import threading
from decimal import Decimal
from pathlib import Path

import pytest
import redis
from django.conf import settings as django_settings
from django.db import connection, connections

from annotator.models import Judgment
from evaluation.models import Run
from evaluation.runs.lifecycle import run_finish, run_start
from evaluation.runs.request import Prices
from evaluation.runs.sweep import runs_sweep
from evaluation.runs.worker import SliceWorker
from evaluation.tasks.runs import run_work
from tests.evaluation.conftest import scripted, scripted_process  # noqa: F401
from tests.evaluation.run_factories import make_endpoint, make_material, make_run, work_and_close
from tests.evaluation.scripted_process import ScriptedProcess
from tests.faults.llm_faults import FaultPlan, run_with_faults, run_without_faults
from tests.processes import WorkerProcess, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.fault]


@pytest.fixture(autouse=True)
def _allowed(scripted: ScriptedProcess, settings: object, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    settings.LLM_ALLOWED_HOSTS = [scripted.host]  # type: ignore[attr-defined]
    settings.RUN_WAKE_SECONDS = 2  # type: ignore[attr-defined]
    monkeypatch.setenv("LLM_ALLOWED_HOSTS", scripted.host)


def bill(provider: ScriptedProcess) -> Decimal:
    """What the server charges for all its replies, at the prices of the tests' endpoints."""
    billed = provider.stats()["billed"]
    return Prices(Decimal(1), Decimal(2)).cost(billed["prompt_tokens"], billed["completion_tokens"])


def test_a_run_survives_kills_and_flushes_without_paying_twice(
    scripted: ScriptedProcess,  # noqa: F811
    tmp_path: Path,
) -> None:
    said: list[str] = []
    plan = FaultPlan(calls=400, faults=0.3, kills=5, flushes=2, outages=2)
    outcome = run_with_faults(plan, scripted, tmp_path, said.append)
    assert sum(outcome.states.values()) == 400
    assert outcome.states == {"done": 400}
    assert len(outcome.judgments) == 400
    assert (outcome.kills, outcome.flushes, outcome.outages) == (5, 2, 2)
    assert outcome.leases_freed > 0, "housekeeping frees leases while a run is under way"
    assert outcome.lost <= outcome.in_flight_at_kills
    assert outcome.paid_again <= outcome.lost
    assert outcome.spent + outcome.perhaps_spent <= outcome.budget
    assert outcome.requests <= outcome.sent
    assert outcome.spent <= outcome.billed <= outcome.spent + outcome.perhaps_spent
    assert set(outcome.errors) >= {"rate_limit", "server", "timeout", "invalid_reply", "refusal"}
    assert outcome.judgments == run_without_faults(400, scripted)


def test_a_task_that_is_delivered_twice_has_one_effect(scripted: ScriptedProcess) -> None:  # noqa: F811
    run = make_run(make_endpoint(scripted, timeout_seconds=300), make_material(30))
    results: list[str] = []

    def deliver() -> None:
        try:
            results.append(run_work(run_pk=run.pk, number=0))
        finally:
            connection.close()

    scripted.hold()  # whoever got the lock keeps it until the other two have ended
    threads = [threading.Thread(target=deliver) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(results) == 2, 300, "two of three deliveries have ended")
    scripted.release()
    for thread in threads:
        thread.join(900)
    assert sorted(results) == ["busy", "busy", "idle"]
    assert run_work(run_pk=run.pk, number=0) == "not running"
    assert scripted.stats()["requests"] == 30
    assert Judgment.objects.count() == 30


def test_a_call_whose_reply_was_lost_is_sent_once_more(
    scripted: ScriptedProcess,  # noqa: F811
    tmp_path: Path,
) -> None:
    endpoint = make_endpoint(scripted, concurrency=4, timeout_seconds=300)
    run = make_run(endpoint, make_material(4), started=False)
    scripted.hold()
    redis.Redis.from_url(django_settings.CELERY_BROKER_URL).flushdb()  # messages that earlier tests left
    worker = WorkerProcess(tmp_path, WORKER_CONCURRENCY="1")
    worker.start()
    try:
        run_start(run=run)
        wait_until(lambda: scripted.stats()["in_flight"] == 4, 300, "four calls are in flight")
        worker.kill()
        scripted.release()
        wait_until(lambda: scripted.stats()["answered"] == 4, 300, "the endpoint has answered nobody")
        assert runs_sweep() in (0, 1)
        # Postgres releases the lock of a killed worker when it notices that its connection is closed.
        wait_until(lambda: SliceWorker(run_pk=run.pk).work().ended != "busy", 300, "the lock is free")
    finally:
        worker.stop()
    assert run_finish(run=run)
    run.refresh_from_db()
    assert (scripted.stats()["requests"], scripted.stats()["paid_again"]) == (8, 4)
    assert run.lost_calls == 4
    assert set(run.calls.values_list("state", "lost")) == {("done", 1)}
    assert run.sent_calls == scripted.stats()["requests"]
    # The server charges for both replies to each request. One arrived, and the other counts as perhaps spent.
    assert 2 * run.spent_cost == bill(scripted)
    assert run.spent_cost <= run.lost_cost
    assert Judgment.objects.count() == 4


def test_another_run_that_waits_for_a_killed_workers_replies_sends_the_requests_once(
    scripted: ScriptedProcess,  # noqa: F811
    tmp_path: Path,
) -> None:
    endpoint = make_endpoint(scripted, timeout_seconds=300)
    first, second = (make_run(endpoint, make_material(4), started=False) for _ in range(2))
    scripted.hold()
    redis.Redis.from_url(django_settings.CELERY_BROKER_URL).flushdb()  # messages that earlier tests left
    worker = WorkerProcess(tmp_path, WORKER_CONCURRENCY="1")
    worker.start()
    thread = threading.Thread(target=work_and_close, args=(second.pk,))
    try:
        run_start(run=first)
        wait_until(lambda: scripted.stats()["in_flight"] == 4, 90, "four calls are in flight")
        run_start(run=second)
        thread.start()
        waiting = second.calls.filter(state="pending", not_before__isnull=False)
        wait_until(lambda: waiting.count() == 4, 90, "the second run waits for their replies")
        worker.kill()
        scripted.release()
        wait_until(lambda: scripted.stats()["answered"] == 4, 90, "the endpoint has answered nobody")
        assert (scripted.stats()["requests"], second.calls.filter(state="done").count()) == (4, 0)
        wait_until(lambda: _swept(first), 90, "a sweep frees the killed worker's calls")
        thread.join(300)
    finally:
        worker.stop()
    # On a slow machine, the thread's turn may have ended before the replies came.
    SliceWorker(run_pk=second.pk).work()
    SliceWorker(run_pk=first.pk).work()
    assert (run_finish(run=first), run_finish(run=second)) == (True, True)
    assert (scripted.stats()["requests"], scripted.stats()["paid_again"]) == (8, 4)
    assert set(first.calls.values_list("state", "lost", "from_cache")) == {("done", 1, True)}
    assert set(second.calls.values_list("state", "from_cache")) == {("done", False)}


def _swept(run: Run) -> bool:
    """Sweep once, as housekeeping does every few seconds; returns whether no call of the run is in flight any more.

    One sweep may come too soon: Postgres releases the lock of a killed worker when it notices that its connection is
    closed, and a run whose row is locked at that moment is left to the next sweep.
    """
    runs_sweep()
    return not run.calls.filter(state="in_flight").exists()


def test_a_run_whose_message_is_lost_is_found_by_the_sweeper(
    scripted: ScriptedProcess,  # noqa: F811
    tmp_path: Path,
    settings: object,
) -> None:
    runs = [make_run(make_endpoint(scripted, name=f"e{n}"), make_material(3)) for n in range(5)]
    redis.Redis.from_url(django_settings.CELERY_BROKER_URL).flushdb()
    worker = WorkerProcess(tmp_path, WORKER_CONCURRENCY="1")
    worker.start()
    try:
        assert Judgment.objects.count() == 0, "no message, no work"
        settings.RUN_WAKE_SECONDS = 0  # type: ignore[attr-defined]
        assert runs_sweep() == 5
        settings.RUN_WAKE_SECONDS = 60  # type: ignore[attr-defined]
        wait_until(lambda: Judgment.objects.count() == 15, 300, "all runs are done")
        wait_until(lambda: runs_sweep() == 0, 300)
    finally:
        worker.stop()
    for run in runs:
        run.refresh_from_db()
        assert run.state == "done"


def test_a_worker_survives_cut_database_connections(scripted: ScriptedProcess) -> None:  # noqa: F811
    """Every connection of the worker is cut three times; it continues and sends no call twice."""
    run = make_run(make_endpoint(scripted, concurrency=8, timeout_seconds=300), make_material(120))
    done: list[str] = []

    def work() -> None:
        try:
            done.append(SliceWorker(run_pk=run.pk, seconds=900).work().ended)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    scripted.hold()
    thread.start()
    cut = 0
    for settled in (10, 40, 70):
        scripted.hold(after=settled - scripted.stats()["answered"])
        wait_until(
            lambda least=settled: run.calls.filter(state="done").count() == least,
            300,
            f"{settled} calls are done",
        )
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
            )
            cut += cursor.fetchone()[0]
    scripted.release()
    thread.join(900)
    assert cut >= 3
    assert done == ["idle"]
    assert run_finish(run=run)
    assert set(run.calls.values_list("state", flat=True)) == {"done"}
    assert scripted.stats()["paid_again"] == 0
    assert Judgment.objects.count() == 120
