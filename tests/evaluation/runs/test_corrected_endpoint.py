"""An endpoint whose settings are corrected while a run waits: a run without answers takes them, another one keeps its own."""

from __future__ import annotations

from evaluation.models import Run
from evaluation.runs.lifecycle import run_resume, run_retry_failed
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = SCRIPTED_MARKS


def test_a_run_without_answers_takes_the_corrected_parameters_of_its_endpoint(
    scripted: ScriptedProcess,
) -> None:
    endpoint = make_endpoint(scripted, concurrency=1)
    run = make_run(endpoint, make_material(12), model="scripted?status=400")
    work(run)
    assert (run.state, states(run)) == ("paused", {"failed": 10, "pending": 2})
    before = run.rater
    endpoint.parameters = {"max_completion_tokens": 4000, "temperature": None}
    endpoint.save()
    Run.objects.filter(pk=run.pk).update(model="scripted")
    run_resume(run=run)
    run_retry_failed(run=run)
    work(run)
    work(run)  # the first turn ends where the worker's client is out of date
    assert (run.state, states(run)) == ("done", {"done": 12})
    sent = run.calls.first().request  # type: ignore[union-attr]
    assert sent["max_completion_tokens"] == 4000
    assert not {"temperature", "max_tokens"} & set(sent)
    assert run.rater != before, "another setting is another simulator"
    assert run.rater is not None
    assert run.rater.judgments.count() == 12
    assert run.endpoint_settings["parameters"] == endpoint.parameters


def test_a_run_with_answers_keeps_the_parameters_that_it_began_with(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=1)
    run = make_run(endpoint, make_material(5), budget_calls=2)
    work(run)
    endpoint.parameters = {"top_p": 0.5}
    endpoint.save()
    Run.objects.filter(pk=run.pk).update(budget_calls=None)
    run_resume(run=run)
    work(run)
    assert run.state == "paused"
    assert "The endpoint has changed since this run was created (parameters)" in run.reason
