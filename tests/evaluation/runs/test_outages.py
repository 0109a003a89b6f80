"""Outages and rate limits slow a run down or pause it; they don't use up the attempts of its calls."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from evaluation.models import Call, Run
from evaluation.runs.lifecycle import run_resume
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
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


@pytest.mark.parametrize("status", [503, 429])
def test_an_outage_in_the_middle_of_a_run_fails_no_call(scripted: ScriptedProcess, status: int) -> None:
    endpoint = make_endpoint(scripted, concurrency=8, timeout_seconds=300)
    run = make_run(endpoint, make_material(60), max_attempts=3)
    worker = threading.Thread(target=work_and_close, args=(run.pk,))
    scripted.hold(after=8)
    worker.start()
    wait_for(lambda: Call.objects.filter(run=run, state="done").count() == 8)
    scripted.outage(3600, status)
    scripted.release()
    wait_for(lambda: scripted.stats()["counts"].get("outage", 0) > 0)
    scripted.outage(6.0, status)
    worker.join(300)
    while work(run).ended != "idle":
        pass
    assert (run.state, states(run)) == ("done", {"done": 60})
    stats = scripted.stats()
    assert 0 < stats["counts"]["outage"] <= 40  # single probes, at growing intervals
    assert run.endpoint.failing_calls == []
    assert sum(run.calls.values_list("excused", flat=True)) > 0


def test_a_rate_limit_without_retry_after_fails_no_call(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=16)
    run = make_run(endpoint, make_material(60), model="scripted?per_second=20", max_attempts=2)
    while work(run).ended != "idle":
        pass
    assert (run.state, states(run)) == ("done", {"done": 60})
    assert scripted.stats()["counts"]["limited"] < 60, "the pauses grow, so that few requests are refused"


def test_a_server_that_is_down_pauses_the_run_and_costs_nothing(
    scripted: ScriptedProcess, settings: Any
) -> None:
    settings.RUN_OUTAGE_SECONDS = 2
    settings.LLM_ALLOWED_HOSTS = ["127.0.0.1:9"]
    endpoint = make_endpoint(scripted, base_url="http://127.0.0.1:9/v1")
    run = make_run(endpoint, make_material(20), max_attempts=2)
    while work(run).ended in ("time", "idle"):
        pass
    assert run.state == "paused"
    assert "No request to scripted has succeeded since" in run.reason
    assert "No connection" in run.reason
    assert states(run)["pending"] == 20
    assert (run.spent_cost, run.lost_cost, run.reserved_cost) == (0, 0, 0)
    settings.LLM_ALLOWED_HOSTS = [scripted.host]
    endpoint.base_url = scripted.base_url
    endpoint.save()
    Run.objects.filter(pk=run.pk).update(use_cache=False)
    run_resume(run=run)
    while work(run).ended != "idle":
        pass
    assert (run.state, states(run)) == ("done", {"done": 20})


def test_one_item_that_always_fails_is_given_up_while_the_others_succeed(scripted: ScriptedProcess) -> None:
    study = make_material(6)
    word = study.items.get(key="item-2").payload["follow_up"].replace(" ", "+")
    model = f"scripted?refuse={word}&code=server_error"
    run = make_run(make_endpoint(scripted, concurrency=2), study, model=model, max_attempts=3)
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"failed": 1, "done": 5})


def test_items_that_always_fail_are_given_up_however_many_they_are(
    scripted: ScriptedProcess, settings: Any
) -> None:
    """When only they are left, nothing succeeds any more; yet the endpoint answers every other item."""
    settings.RUN_OUTAGE_SECONDS = 120
    study = make_material(20)
    for item in study.items.filter(key__in=[f"item-{n}" for n in range(0, 16, 2)]):
        item.payload["follow_up"] += " (forbidden)"
        item.save()
    model = "scripted?refuse=forbidden&code=server_error"
    run = make_run(make_endpoint(scripted, concurrency=1), study, model=model, max_attempts=3)
    while work(run).ended == "time":
        pass
    assert (run.state, states(run)) == ("incomplete", {"failed": 8, "done": 12})
    assert set(run.calls.filter(state="failed").values_list("error_kind", flat=True)) == {"server"}
    assert run.endpoint.failing_calls == []
