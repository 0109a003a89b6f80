"""Pausing and resuming; workers that share a run, die, or take short turns; the sweeper."""

from __future__ import annotations

import threading

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.core import jobs
from annotator.core.errors import Conflict
from evaluation.models import Run
from evaluation.runs.lifecycle import run_cancel, run_finish, run_pause, run_resume
from evaluation.runs.outcome import unsent
from evaluation.runs.settle import give_back_lost, settle
from evaluation.runs.sweep import runs_sweep
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    claim_as,
    make_endpoint,
    make_material,
    make_run,
    states,
    wait_for,
    work,
    work_and_close,
)
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = SCRIPTED_MARKS


def test_a_run_can_be_paused_resumed_and_cancelled(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted, concurrency=2, timeout_seconds=300), make_material(60))
    worker = threading.Thread(target=work_and_close, args=(run.pk,))
    scripted.hold(after=4)
    worker.start()
    wait_for(lambda: run.calls.filter(state="done").count() == 4)
    run_pause(run=run)
    scripted.release()
    worker.join(300)
    done = states(run)
    assert done["in_flight"] == 0
    assert 4 <= done["done"] < 60
    assert scripted.stats()["requests"] == done["done"]
    assert work(run).calls == 0
    run_resume(run=run)
    worker = threading.Thread(target=work_and_close, args=(run.pk,))
    scripted.hold(after=2)
    worker.start()
    wait_for(lambda: run.calls.filter(state="done").count() > done["done"])
    run_cancel(run=run)
    run_cancel(run=run)
    scripted.release()
    worker.join(300)
    run.refresh_from_db()
    assert run.state == "cancelled"
    assert scripted.stats()["paid_again"] == 0
    with pytest.raises(Conflict):
        run_resume(run=run)


def test_a_cancelled_run_frees_its_worker_from_replies_that_do_not_come(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted, concurrency=2, timeout_seconds=3600), make_material(6))
    scripted.hold(after=1)
    worker = threading.Thread(target=work_and_close, args=(run.pk,), daemon=True)
    worker.start()
    try:
        wait_for(lambda: scripted.stats()["requests"] >= 3)
        run_cancel(run=run)
        worker.join(300)
        assert not worker.is_alive()
    finally:
        scripted.release()
    run.refresh_from_db()
    assert (run.state, states(run)["in_flight"], states(run)["done"]) == ("cancelled", 0, 1)
    assert (run.reserved_cost, run.lost_cost > 0) == (0, True)
    assert run.calls.filter(error_kind="cancelled").count() == 2


def test_two_workers_share_a_run_within_the_endpoints_concurrency(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=8)
    run = make_run(endpoint, make_material(80), workers=2, tried=True)
    workers = [threading.Thread(target=work_and_close, args=(run.pk, number)) for number in (0, 1)]
    scripted.hold()
    for worker in workers:
        worker.start()
    wait_for(lambda: scripted.stats()["in_flight"] == 8)
    scripted.release()
    for worker in workers:
        worker.join(300)
    assert run_finish(run=run)
    stats = scripted.stats()
    assert (stats["requests"], stats["paid_again"]) == (80, 0)
    assert stats["most_in_flight"] == 8
    assert states(run) == {"done": 80}


def test_requests_claimed_ahead_take_no_place_from_another_worker(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=32)
    run = make_run(endpoint, make_material(200), workers=2, tried=True)

    def claimed(token: str, want: int) -> tuple[int, int]:
        got = claim_as(token, run, want=want)
        return len(got.ready), got.allowed

    assert claimed("0:first", 20) == (20, 20)
    # The second worker has 12 places left, and claims 8 more for when they become free.
    assert claimed("1:second", 50) == (20, 12)
    assert claimed("0:first", 50) == (8, 20)
    assert claimed("1:second", 50) == (0, 12)
    # Once its calls have been given back, the allowance of a worker that was killed no longer counts.
    assert give_back_lost(run=run, slice_number=0) == 28
    assert claimed("1:second", 50) == (20, 32)


def test_a_slice_has_one_worker_at_a_time(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(3))
    assert jobs.lock_take("run-slice", run.pk, 0)
    try:
        result: list[str] = []
        thread = threading.Thread(target=lambda: result.append(work_and_close(run.pk)))
        thread.start()
        thread.join(300)
        assert result == ["busy"]
        assert scripted.stats()["requests"] == 0
    finally:
        jobs.lock_release("run-slice", run.pk, 0)


def test_calls_of_a_dead_worker_are_retried_once_and_counted(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    run = make_run(endpoint, make_material(10))
    held = claim_as("0:dead", run, want=4)
    assert states(run) == {"in_flight": 4, "pending": 6}
    run.refresh_from_db()
    reserved = run.reserved_cost
    assert reserved > 0
    work(run)
    assert (run.state, run.lost_calls, run.lost_cost) == ("done", 4, reserved)
    assert run.sent_calls == 14
    assert sorted(run.calls.filter(lost=1).values_list("pk", flat=True)) == [
        r.calls[0].id for r in held.ready
    ]
    # The worker that seemed dead is alive and late: its results no longer count.
    before = list(run.calls.order_by("pk").values())
    assert settle(run=run, token="0:dead", outcomes=[o for r in held.ready for o in unsent(r)]) == 0
    assert list(run.calls.order_by("pk").values()) == before


def test_the_sweeper_wakes_a_run_that_no_worker_has(scripted: ScriptedProcess, settings: object) -> None:
    settings.RUN_WAKE_SECONDS = 0.0  # type: ignore[attr-defined]
    endpoint = make_endpoint(scripted)
    run = make_run(endpoint, make_material(4))
    claim_as("0:dead", run, want=2)
    assert runs_sweep() == 1
    assert states(run) == {"pending": 4}
    run.refresh_from_db()
    assert run.lost_calls == 2
    work(run)
    assert runs_sweep() == 0


def test_the_sweeper_sends_as_many_statements_for_forty_runs_as_for_two(
    scripted: ScriptedProcess, settings: object
) -> None:
    endpoint = make_endpoint(scripted, concurrency=1000)
    counts = []
    for runs in (2, 40):
        made = [make_run(endpoint, make_material(2, slug=f"s{runs}-{n}"), workers=2) for n in range(runs)]
        for run in made:
            claim_as("1:dead", run, want=1)
        settings.RUN_WAKE_SECONDS = 0.0  # type: ignore[attr-defined]
        with CaptureQueriesContext(connection) as asked:
            assert runs_sweep() == runs
        counts.append(len(asked))
        assert [states(run) for run in made] == [{"pending": 2}] * runs
        Run.objects.filter(pk__in=[run.pk for run in made]).update(state="cancelled")
    assert counts[0] == counts[1]


def test_the_sweeper_leaves_a_run_with_a_worker_alone(scripted: ScriptedProcess, settings: object) -> None:
    settings.RUN_WAKE_SECONDS = 0.0  # type: ignore[attr-defined]
    endpoint = make_endpoint(scripted)
    run = make_run(endpoint, make_material(4))
    claim_as("0:alive", run, want=2)
    woken: list[int] = []
    assert jobs.lock_take("run-slice", run.pk, 0)
    try:
        thread = threading.Thread(target=lambda: (woken.append(runs_sweep()), connection.close()))
        thread.start()
        thread.join(300)
    finally:
        jobs.lock_release("run-slice", run.pk, 0)
    assert woken == [0]
    assert states(run) == {"in_flight": 2, "pending": 2}


def test_a_call_that_kills_every_worker_fails(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    run = make_run(endpoint, make_material(1))
    run.calls.update(lost=19)
    claim_as("0:dead", run, want=1)
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"failed": 1})
    assert run.calls.get().error_kind == "lost"


def test_a_slice_ends_with_no_call_in_flight(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(60), model="scripted?latency=0.1")
    turns = 0
    while run.state == "running":
        turns += 1
        assert work(run, seconds=0.3).ended in ("time", "idle")
        assert states(run)["in_flight"] == 0
        run.refresh_from_db()
        assert run.reserved_cost == 0
    assert turns > 1
    assert scripted.stats()["requests"] == run.sent_calls == 60
