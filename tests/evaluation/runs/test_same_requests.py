"""Identical requests: one is sent and paid for, and the others share its reply, whatever happens to the first."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from annotator.models import Item, Judgment, Study
from evaluation.models import Run
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import run_cancel, run_finish
from evaluation.runs.outcome import unsent
from evaluation.runs.settle import settle
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
from tests.factories import make_user, simulation_payload

pytestmark = SCRIPTED_MARKS


def make_repeated(texts: int, times: int) -> Study:
    """A study in which each of ``texts`` items is there ``times`` times, under different keys."""
    study = make_material(0)
    for n in range(texts * times):
        Item.objects.create(study=study, key=f"i{n}", payload=simulation_payload(n % texts))
    return study


def in_threads(*runs: Run) -> list[threading.Thread]:
    workers = [threading.Thread(target=work_and_close, args=(run.pk,)) for run in runs]
    for worker in workers:
        worker.start()
    return workers


def test_identical_requests_of_a_run_are_sent_once(scripted: ScriptedProcess) -> None:
    study = make_repeated(3, 5)
    run = make_run(make_endpoint(scripted, concurrency=32), study)
    work(run)
    stats = scripted.stats()
    assert (stats["requests"], stats["paid_again"]) == (3, 0)
    assert (run.state, states(run), run.sent_calls) == ("done", {"done": 15}, 3)
    assert run.calls.filter(from_cache=True).count() == 12
    assert run.spent_cost == sum(call.cost for call in run.calls.filter(from_cache=False)) > 0
    assert Judgment.objects.filter(study=study).count() == 15
    for n in range(3):
        assert len({str(call.parsed) for call in run.calls.filter(key__in=[f"i{n}", f"i{n + 3}"])}) == 1


@pytest.mark.parametrize("endpoints", [1, 2])
def test_identical_requests_of_two_runs_at_the_same_time_are_sent_once(
    scripted: ScriptedProcess, endpoints: int
) -> None:
    places = [make_endpoint(scripted, name=f"e{n}", concurrency=16) for n in range(endpoints)]
    runs = [make_run(places[n % endpoints], make_material(6), tried=True) for n in range(2)]
    scripted.hold()
    workers = in_threads(*runs)
    wait_for(lambda: scripted.stats()["in_flight"] == 6)
    scripted.release()
    for worker in workers:
        worker.join(120)
    assert [(run_finish(run=run), states(run)) for run in runs] == [(True, {"done": 6})] * 2
    stats = scripted.stats()
    assert (stats["requests"], stats["paid_again"]) == (6, 0)
    assert sum(Run.objects.get(pk=run.pk).sent_calls for run in runs) == 6


def test_a_request_is_sent_by_another_call_if_the_first_one_fails(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    first, second = (make_run(endpoint, make_material(1)) for _ in range(2))
    claim_as("0:first", first)
    waits = claim_as("0:second", second)
    assert (waits.ready, waits.hits) == ((), ())
    assert waits.wait is not None
    call = first.calls.get()
    failed = Outcome(id=call.pk, state="failed", reserved=call.reserved_cost, error_kind="bad_request")
    assert settle(run=first, token="0:first", outcomes=[failed]) == 1
    work(second)
    assert (second.state, second.sent_calls, scripted.stats()["requests"]) == ("done", 1, 1)


def test_a_request_is_sent_by_another_run_once_the_sweeper_finds_the_first_worker_dead(
    scripted: ScriptedProcess,
) -> None:
    endpoint = make_endpoint(scripted)
    first, second = (make_run(endpoint, make_material(3)) for _ in range(2))
    claim_as("0:dead", first)
    assert work(second, seconds=1.0).ended == "time"
    assert (scripted.stats()["requests"], states(second)) == (0, {"pending": 3})
    runs_sweep()
    work(second)
    work(first)
    assert (second.state, first.state) == ("done", "done")
    assert (second.sent_calls, scripted.stats()["requests"]) == (3, 3)
    assert first.calls.filter(from_cache=True).count() == 3


def test_a_request_is_not_waited_for_longer_than_a_live_worker_takes(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, timeout_seconds=300.0)
    first, second = (make_run(endpoint, make_material(3)) for _ in range(2))
    claim_as("0:dead", first)
    first.calls.update(claimed_at=timezone.now() - timedelta(seconds=60))
    assert not claim_as("0:second", second).ready
    first.calls.update(claimed_at=timezone.now() - timedelta(seconds=700))
    second.calls.update(not_before=None)
    work(second)
    assert (second.state, scripted.stats()["requests"]) == ("done", 3)


def test_the_reply_to_a_cancelled_run_is_shared_and_what_it_did_not_send_is_sent(
    scripted: ScriptedProcess,
) -> None:
    endpoint = make_endpoint(scripted, concurrency=16)
    first, second = (make_run(endpoint, make_material(8), tried=True) for _ in range(2))
    first.calls.filter(key__in=["item-6", "item-7"]).update(not_before=timezone.now() + timedelta(days=1))
    scripted.hold()
    workers = in_threads(first)
    wait_for(lambda: scripted.stats()["in_flight"] == 6)
    first.calls.filter(state="pending").update(not_before=None)
    unsent_calls = claim_as("1:unsent", first).ready
    assert len(unsent_calls) == 2
    workers += in_threads(second)
    run_cancel(run=first)
    settle(run=first, token="1:unsent", outcomes=[o for one in unsent_calls for o in unsent(one)])
    wait_for(lambda: scripted.stats()["in_flight"] == 8)
    scripted.release()
    for worker in workers:
        worker.join(120)
    assert run_finish(run=second)
    assert (states(first), states(second)) == ({"done": 6, "pending": 2}, {"done": 8})
    assert (scripted.stats()["requests"], scripted.stats()["paid_again"]) == (8, 0)
    assert second.calls.filter(from_cache=True).count() == 6


def test_a_worker_that_is_killed_costs_the_request_that_it_had_sent_and_no_more(
    scripted: ScriptedProcess,
) -> None:
    endpoint = make_endpoint(scripted, concurrency=16)
    run = make_run(endpoint, make_repeated(2, 4))
    claim_as("0:dead", run)
    assert states(run) == {"in_flight": 2, "pending": 6}
    work(run)
    assert (run.state, run.lost_calls, scripted.stats()["requests"]) == ("done", 2, 2)


def test_identical_requests_are_all_sent_if_the_run_uses_no_cache(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_repeated(1, 4), use_cache=False)
    work(run)
    assert (states(run), scripted.stats()["requests"]) == ({"done": 4}, 4)


def test_samples_of_an_item_are_different_requests(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_repeated(1, 2), samples=3)
    work(run)
    assert (states(run), scripted.stats()["requests"]) == ({"done": 6}, 3)


def test_another_workspace_pays_for_its_own_request(scripted: ScriptedProcess) -> None:
    runs = []
    for name in ("ann", "bob"):
        user = make_user(name)
        runs.append(make_run(make_endpoint(scripted, name=name, by=user), make_material(2, by=user)))
    claim_as("0:first", runs[0])
    work(runs[1])
    assert (runs[1].state, scripted.stats()["requests"]) == ("done", 2)


def test_a_batch_has_one_of_several_identical_requests(scripted: ScriptedProcess) -> None:
    study = make_repeated(2, 4)
    run = make_run(make_endpoint(scripted), study, mode="batch")
    run_inline(run=run, seconds=120)
    run.refresh_from_db()
    assert (run.state, states(run), run.sent_calls) == ("done", {"done": 8}, 2)
    assert run.batches.count() == 1
    assert Judgment.objects.filter(study=study).count() == 8


def test_a_live_run_does_not_wait_for_a_batch(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    slow, live = make_run(endpoint, make_material(2), mode="batch"), make_run(endpoint, make_material(2))
    claim_as("file:slow", slow, in_a_file=True)
    work(live)
    assert (live.state, scripted.stats()["requests"]) == ("done", 2)
