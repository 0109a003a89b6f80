"""Budgets in calls and in money, and the endpoint's rate."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import ROUND_UP, Decimal
from random import Random

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from annotator.core.errors import Conflict
from annotator.services.workspace import workspace_personal, workspace_update
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.health import endpoint_report
from evaluation.runs.lifecycle import run_budget_set, run_pause, run_resume
from evaluation.selectors.run import workspace_spent
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    claim_as,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
    work_alone,
)
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS


def test_a_budget_in_calls_holds_with_many_in_flight(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=32)
    run = make_run(endpoint, make_material(40), model="scripted?latency=0.05", budget_calls=35)
    work(run)
    assert run.state == "paused"
    assert "35 calls" in run.reason
    assert scripted.stats()["requests"] == run.sent_calls == 35
    assert states(run) == {"done": 35, "pending": 5}
    run_budget_set(run=run, budget_calls=40, budget_cost=None)
    run_resume(run=run)
    work(run)
    assert (run.state, scripted.stats()["requests"]) == ("done", 40)


def test_a_budget_in_money_is_never_overspent(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=32, price_in=100, price_out=100)
    probe = make_run(endpoint, make_material(1), use_cache=False)
    work(probe)
    budget = (probe.spent_cost * 30).quantize(Decimal("0.000001"))
    run = make_run(
        endpoint,
        make_material(40),
        model="scripted?latency=0.05&faults=0.3&kinds=500,empty&seed=2",
        budget_cost=budget,
        use_cache=False,
    )
    work(run)
    assert run.state == "paused"
    assert "budget" in run.reason
    assert run.reserved_cost == 0
    assert 0 < run.spent_cost + run.lost_cost <= budget
    assert states(run)["pending"] > 0
    assert states(run)["done"] >= 1


@pytest.mark.parametrize("budget", [Decimal(100), None])
def test_an_endpoint_that_charges_for_too_many_tokens_pauses_the_run(
    scripted: ScriptedProcess, budget: Decimal | None
) -> None:
    endpoint = make_endpoint(scripted, concurrency=1, price_in=1, price_out=1000)
    run = make_run(
        endpoint,
        make_material(5),
        model="scripted?overcharge=100",
        budget_cost=budget,
        parameters={"max_tokens": 50},
    )
    work(run)
    assert run.state == "paused"
    assert "charged more" in run.reason
    assert run.overrun_cost > 0
    assert states(run) == {"done": 1, "pending": 4}
    dearest = run.calls.get(state="done").cost
    assert f"{dearest:.4f} for one call" in run.reason
    run_resume(run=run)
    claimed = claim_as("0:a", run, want=1).ready[0]
    assert sum(claimed.reserved.values()) >= dearest, "a charge that has been seen is reserved from now on"


def test_requests_stay_within_the_rate_limit_of_the_endpoint(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, requests_per_minute=600, concurrency=32)
    run = make_run(endpoint, make_material(36))
    started = time.monotonic()
    work(run)
    # 600 a minute is one each 0.1 s; 2 s of it may be saved up, so 36 take 1.5 s at least.
    assert time.monotonic() - started >= 1.4
    assert states(run) == {"done": 36}


def test_cached_tokens_have_their_own_price(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, price_in=10, price_cached=1, price_out=0)
    run = make_run(endpoint, make_material(4), model="scripted?cached=0.5")
    work(run)
    for call in run.calls.all():
        assert call.tokens_cached == call.tokens_in // 2
        uncached = call.tokens_in - call.tokens_cached
        assert call.cost == Decimal(10 * uncached + call.tokens_cached) / 1_000_000
    assert run.spent_cost == sum(call.cost for call in run.calls.all())


def test_requests_stay_within_the_rate_in_tokens(scripted: ScriptedProcess) -> None:
    per_second = 2500
    endpoint = make_endpoint(scripted, tokens_per_minute=per_second * 60, concurrency=32)
    run = make_run(endpoint, make_material(40), parameters={"max_tokens": 2000})
    started = time.monotonic()
    work(run)
    seconds = time.monotonic() - started
    used = sum(call.tokens_in + call.tokens_out for call in run.calls.all())
    assert states(run) == {"done": 40}
    # Two seconds of the rate may be saved up before the start, and one request may exceed it.
    allowed = per_second * (seconds + 2)
    assert used <= allowed * 1.1


def test_tokens_that_a_reply_did_not_use_are_given_back_to_the_rate(scripted: ScriptedProcess) -> None:
    due = timezone.now()
    endpoint = make_endpoint(scripted, tokens_per_minute=6_000, tokens_due=due)
    outcome = Outcome(id=1, state="done", tokens_in=60, tokens_out=40, estimated=2_000)
    endpoint_report(endpoint=endpoint, outcomes=[outcome], rng=Random(1))
    endpoint.refresh_from_db()
    # 1,900 tokens at 100 a second: the next request may go out 19 seconds earlier.
    assert due - endpoint.tokens_due == timedelta(seconds=19)


def test_a_budget_cannot_be_set_below_what_has_been_used(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(4), budget_calls=10)
    work(run)
    for budget in (
        {"budget_calls": 3, "budget_cost": None},
        {"budget_calls": None, "budget_cost": Decimal(0)},
    ):
        with pytest.raises(ValidationError, match="or more"):
            run_budget_set(run=run, **budget)
    run_budget_set(run=run, budget_calls=4, budget_cost=run.spent_cost.quantize(Decimal("0.0001"), ROUND_UP))
    run.refresh_from_db()
    assert run.budget_calls == 4
    run_budget_set(run=run, budget_calls=None, budget_cost=None)
    run.refresh_from_db()
    assert (run.budget_calls, run.budget_cost) == (None, None)


def test_the_budget_of_a_workspace_holds_for_all_its_runs_together(scripted: ScriptedProcess) -> None:
    rosa = make_user("rosa", staff=True)
    lab = workspace_personal(user=rosa)
    endpoints = [
        make_endpoint(scripted, by=rosa, name=name, concurrency=16, price_in=100, price_out=100)
        for name in ("one", "two")
    ]
    probe = make_run(endpoints[0], make_material(1, by=rosa), use_cache=False)
    work(probe)
    lab = workspace_update(
        workspace=lab, by=rosa, model_budget=(probe.spent_cost * 30).quantize(Decimal("0.01"), ROUND_UP)
    )
    runs = [make_run(endpoint, make_material(40, by=rosa), use_cache=False) for endpoint in endpoints]
    with ThreadPoolExecutor(len(runs)) as both:
        list(both.map(work_alone, runs))
    for run in runs:
        run.refresh_from_db()
    assert {run.state for run in runs} == {"paused"}
    assert "the workspace's budget" in runs[0].reason
    assert 0 < workspace_spent(lab.pk) <= lab.model_budget
    assert sum(states(run)["done"] for run in runs) >= 1
    other = make_user("otto", staff=True)
    elsewhere = make_endpoint(scripted, by=other, name="three", price_in=100, price_out=100)
    free = make_run(elsewhere, make_material(3, by=other), use_cache=False)
    work(free)
    assert free.state == "done", "another lab's budget is its own"
    workspace_update(workspace=lab, by=rosa, model_budget=None)
    run_resume(run=runs[0])
    work(runs[0])
    assert runs[0].state == "done"


def test_a_run_is_not_resumed_at_an_endpoint_that_is_not_shared_any_more(scripted: ScriptedProcess) -> None:
    rosa, otto = make_user("rosa", staff=True), make_user("otto", staff=True)
    endpoint = make_endpoint(scripted, by=otto)
    study = make_material(3, by=rosa)
    endpoint.shared_with.add(study.workspace)
    run = make_run(endpoint, study)
    run_pause(run=run)
    endpoint.shared_with.clear()
    with pytest.raises(Conflict, match="isn't shared"):
        run_resume(run=run)
    run.refresh_from_db()
    assert run.state == "paused"
    endpoint.shared_with.add(study.workspace)
    assert run_resume(run=run).state == "running"
