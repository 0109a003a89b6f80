"""Runs through the endpoint's batch API."""

from __future__ import annotations

from typing import Any

from annotator.models import Judgment
from evaluation.models import Batch, Endpoint
from evaluation.runs.batch import batch_work
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import run_resume
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    claim_as,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = SCRIPTED_MARKS


def test_a_batch_with_shuffled_missing_and_duplicate_replies_is_completed(scripted: ScriptedProcess) -> None:
    study = make_material(40)
    run = make_run(
        make_endpoint(scripted), study, model="scripted?faults=0.4&seed=3", mode="batch", max_attempts=20
    )
    run_inline(run=run, seconds=40)
    run.refresh_from_db()
    assert (run.state, states(run)) == ("done", {"done": 40})
    assert run.calls.filter(attempts__gt=1).exists()
    assert run.batches.count() >= 2
    assert set(run.batches.values_list("state", flat=True)) == {"done"}
    alone = make_run(make_endpoint(scripted, name="b"), make_material(40), model="scripted?seed=3")
    work(alone)
    assert {c.key: c.parsed for c in run.calls.all()} == {c.key: c.parsed for c in alone.calls.all()}
    assert run.reserved_cost == 0
    assert Judgment.objects.filter(study=study).count() == 40


def test_a_batch_whose_sender_died_is_sent_again_and_may_have_been_paid(
    scripted: ScriptedProcess,
) -> None:
    endpoint = make_endpoint(scripted)
    run = make_run(endpoint, make_material(3), mode="batch")
    Batch.objects.create(run=run, token="file:dead")
    claim_as("file:dead", run, want=10, in_a_file=True)
    assert states(run) == {"in_flight": 3}
    run_inline(run=run, seconds=20)
    run.refresh_from_db()
    assert (run.state, states(run)) == ("done", {"done": 3})
    assert run.lost_cost > 0
    assert list(run.batches.values_list("state", flat=True)).count("failed") == 1


def test_an_outage_pauses_a_run_in_batches_and_success_ends_it(
    scripted: ScriptedProcess, settings: Any
) -> None:
    endpoint = make_endpoint(scripted)
    run = make_run(endpoint, make_material(3), mode="batch")
    settings.LLM_ALLOWED_HOSTS = [*settings.LLM_ALLOWED_HOSTS, "127.0.0.1:9"]
    Endpoint.objects.update(base_url="http://127.0.0.1:9/v1")
    assert batch_work(run_pk=run.pk).why == "time"
    run.refresh_from_db()
    assert run.state == "running", "a short failure is waited for"
    settings.RUN_OUTAGE_SECONDS = 0
    assert batch_work(run_pk=run.pk).why == "paused"
    run.refresh_from_db()
    assert (run.state, states(run)) == ("paused", {"pending": 3})
    assert "has succeeded since" in run.reason
    settings.RUN_OUTAGE_SECONDS = 900
    Endpoint.objects.update(base_url=scripted.base_url)
    run_inline(run=run_resume(run=run), seconds=60)
    endpoint.refresh_from_db()
    assert states(run) == {"done": 3}
    assert (endpoint.failing_since, endpoint.trouble) == (None, "")
