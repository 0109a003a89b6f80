"""Servers whose replies can't be used: how many requests a run sends before it pauses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.utils import timezone

from evaluation.models import Endpoint, Run
from evaluation.runs.canary import AT_ONCE
from evaluation.runs.health import THRESHOLD, _hold_seconds
from evaluation.runs.lifecycle import run_resume
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    claim_as,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
    work_and_close,
)
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = SCRIPTED_MARKS
#: The most requests before a run on a wholly broken server pauses.
MOST = 60


@pytest.mark.parametrize("concurrency", [1, 8, 64, 500])
@pytest.mark.parametrize("kind", ["empty", "html", "thinking", "nonsense", "tool_calls", "no_content"])
def test_a_wholly_broken_server_gets_few_requests(
    scripted: ScriptedProcess, kind: str, concurrency: int
) -> None:
    endpoint = make_endpoint(scripted, concurrency=concurrency)
    run = make_run(endpoint, make_material(150), model=f"scripted?faults=1&kinds={kind}")
    work(run)
    assert run.state == "paused"
    assert "of the first 20 replies couldn't be used" in run.reason or "of the latest" in run.reason
    stats = scripted.stats()
    assert stats["requests"] <= MOST
    assert stats["most_in_flight"] <= 4
    assert states(run)["pending"] >= 130
    Run.objects.filter(pk=run.pk).update(model="scripted")
    run_resume(run=run)
    work(run)
    assert states(run)["pending"] == 0


@pytest.mark.parametrize("model", ["scripted?faults=1&kinds=html", "scripted?status=503"])
def test_several_workers_on_a_broken_server_send_no_more_requests_than_one(
    scripted: ScriptedProcess, settings: object, model: str
) -> None:
    settings.RUN_OUTAGE_SECONDS = 3  # type: ignore[attr-defined]
    run = make_run(make_endpoint(scripted, concurrency=200), make_material(150), model=model, workers=3)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda number: work_and_close(run.pk, number), range(3)))
    run.refresh_from_db()
    assert run.state == "paused"
    assert scripted.stats()["requests"] <= MOST


@pytest.mark.parametrize("concurrency", [8, 40])
def test_a_server_that_breaks_in_the_middle_gets_few_requests(
    scripted: ScriptedProcess, concurrency: int
) -> None:
    endpoint = make_endpoint(scripted, concurrency=concurrency)
    model = "scripted?faults=1&kinds=html&after=100&latency=0.05"
    run = make_run(endpoint, make_material(300), model=model)
    work(run)
    assert run.state == "paused"
    assert "couldn't be used" in run.reason
    assert scripted.stats()["requests"] <= 100 + MOST
    assert states(run)["done"] == 100


def test_a_server_with_errors_gets_few_requests(scripted: ScriptedProcess, settings: object) -> None:
    settings.RUN_OUTAGE_SECONDS = 3  # type: ignore[attr-defined]
    run = make_run(make_endpoint(scripted, concurrency=500), make_material(150), model="scripted?status=500")
    work(run)
    assert run.state == "paused"
    assert scripted.stats()["requests"] <= MOST


def test_an_outage_takes_few_requests_until_the_run_pauses(settings: object) -> None:
    """Of a server that refuses every request at once, which is asked again as often as can be."""
    began = now = timezone.now()
    endpoint = Endpoint(failing_since=began, failing_calls=list(range(THRESHOLD)))
    requests = THRESHOLD + AT_ONCE  # those that were under way
    while (now - began).total_seconds() < settings.RUN_OUTAGE_SECONDS:  # type: ignore[attr-defined]
        now += timedelta(seconds=_hold_seconds(endpoint, now))
        requests += 1
    assert requests <= MOST


def test_a_good_server_soon_gets_as_many_requests_as_the_endpoint_allows(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=32)
    run = make_run(endpoint, make_material(200), model="scripted?latency=0.5")
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 200})
    assert scripted.stats()["most_in_flight"] == 32


def test_several_workers_share_the_few_requests_at_the_start(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted, concurrency=64), make_material(50), workers=2)
    first, second = claim_as("0:a", run), claim_as("1:b", run)
    assert (first.allowed, second.allowed) == (4, 0)


def test_a_run_may_allow_a_larger_share_of_unusable_replies(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    model = "scripted?faults=.7&kinds=html&seed=3"
    run = make_run(endpoint, make_material(20), model=model, max_failed_share=1, max_attempts=30)
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 20})
