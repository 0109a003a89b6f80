"""Runs through the endpoint's batch API."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.models import Judgment
from evaluation.models import Batch, Endpoint
from evaluation.providers.base import ChatRequest, ProviderError
from evaluation.providers.images import chat_body
from evaluation.providers.openai_client import OpenAIClient
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
    wait_for,
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
    assert batch_work(run_pk=run.pk).ended == "time"
    run.refresh_from_db()
    assert run.state == "running", "a short failure is waited for"
    settings.RUN_OUTAGE_SECONDS = 0
    assert batch_work(run_pk=run.pk).ended == "paused"
    run.refresh_from_db()
    assert (run.state, states(run)) == ("paused", {"pending": 3})
    assert "has succeeded since" in run.reason
    settings.RUN_OUTAGE_SECONDS = 900
    Endpoint.objects.update(base_url=scripted.base_url)
    run_inline(run=run_resume(run=run), seconds=60)
    endpoint.refresh_from_db()
    assert states(run) == {"done": 3}
    assert (endpoint.failing_since, endpoint.trouble) == (None, "")


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ('{"custom_id": "ID", "response": ' + "[" * 100_000 + "]" * 100_000 + "}", "done"),
        ('{"custom_id": "ID", "response": {"status_code": "none", "body": {}}}', "failed"),
        ('{"custom_id": "ID", "response": {"status_code": 1e999, "body": {}}}', "failed"),
        ('{"custom_id": "ID", "response": ["x"], "error": {"message": "no"}}', "failed"),
        (
            '{"custom_id": "ID", "response": {"status_code": 200, "body": {"extra": NaN, "more": 1e999, "choices":'
            ' [{"message": {"content": "It helps.\\nANSWER: YES"}}]}}}',
            "done",
        ),
        (
            '{"custom_id": "ID", "response": {"status_code": 200, "body": {"choices": [{"message": {"content":'
            ' "It helps.\u2028ANSWER: YES"}}]}}}',
            "done",
        ),
    ],
)
def test_a_strange_line_of_a_batch_is_the_outcome_of_its_call_only(
    scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch, line: str, state: str
) -> None:
    run = make_run(make_endpoint(scripted), make_material(3), mode="batch", max_attempts=1)
    assert batch_work(run_pk=run.pk).ended == "time"
    one = run.calls.order_by("pk")[1]
    download = OpenAIClient.download

    async def with_a_strange_line(self: OpenAIClient, path: str) -> bytes:
        return line.replace("ID", str(one.pk)).encode() + b"\n" + await download(self, path)

    monkeypatch.setattr(OpenAIClient, "download", with_a_strange_line)
    wait_for(lambda: batch_work(run_pk=run.pk).ended == "idle")
    assert states(run) == ({"done": 3} if state == "done" else {"done": 2, "failed": 1})
    one.refresh_from_db()
    assert (one.state, one.attempts) == (state, 1)
    if "ANSWER" in line:
        assert one.text.startswith("It helps."), "the strange line was read"


def test_an_error_in_the_work_on_a_batch_pauses_the_run_and_shows_it(
    scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(make_endpoint(scripted), make_material(2), mode="batch")

    def broken(*args: Any) -> None:
        raise AttributeError("no such part")

    monkeypatch.setattr("evaluation.providers.apis.openai.chat_body", broken)
    assert batch_work(run_pk=run.pk).ended == "paused"
    run.refresh_from_db()
    assert (run.state, run.reason) == ("paused", "The worker failed: AttributeError: no such part")
    assert (states(run), run.reserved_cost, run.lost_cost) == ({"pending": 2}, 0, 0)
    monkeypatch.undo()
    run_inline(run=run_resume(run=run), seconds=300)
    assert states(run) == {"done": 2}


def test_a_request_that_cannot_be_made_is_the_outcome_of_its_call_only(
    scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(make_endpoint(scripted), make_material(3), mode="batch")

    def missing(request: ChatRequest) -> dict[str, Any]:
        if "bird number 1" in str(request.messages):
            raise ProviderError("bad_request", "The image owl.png is missing on the server.")
        return chat_body(request)

    monkeypatch.setattr("evaluation.providers.apis.openai.chat_body", missing)
    run_inline(run=run, seconds=300)
    run.refresh_from_db()
    assert (run.state, states(run)) == ("incomplete", {"done": 2, "failed": 1})
    assert run.calls.get(state="failed").error == "The image owl.png is missing on the server."
