"""Failed and unreadable replies: which are retried, which are recorded, and which stop the run."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from annotator.models import Judgment
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


@pytest.mark.parametrize("kind", ["429", "500", "hang", "disconnect", "truncated", "empty"])
def test_failed_requests_are_retried_until_a_reply_arrives(scripted: ScriptedProcess, kind: str) -> None:
    endpoint = make_endpoint(scripted, timeout_seconds=0.3 if kind == "hang" else 60.0)
    model = f"scripted?faults=0.4&kinds={kind}&seed=5&retry_after=0.02"
    run = make_run(endpoint, make_material(12), model=model, max_attempts=12)
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 12})
    failed = sum(len(call.errors) for call in run.calls.all())
    assert failed > 0
    stats = scripted.stats()
    assert stats["requests"] == run.sent_calls == 12 + failed
    assert (run.lost_cost > 0) == (kind in {"hang", "disconnect", "truncated"})
    assert run.reserved_cost == 0


def test_retries_are_limited_and_the_failure_is_recorded(scripted: ScriptedProcess) -> None:
    run = make_run(
        make_endpoint(scripted), make_material(3), model="scripted?faults=1&kinds=500", max_attempts=2
    )
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"failed": 3})
    assert scripted.stats()["requests"] == 6
    for call in run.calls.all():
        assert call.errors == ["server", "server"]
        assert call.error_kind == "server"
        assert "HTTP 500" in call.error
    assert Judgment.objects.count() == 0


@pytest.mark.parametrize(
    ("kind", "named"),
    [("refusal", "refusal"), ("nonsense", "no_answer"), ("cut", "cut_off"), ("filter", "content_filter")],
)
def test_unreadable_replies_are_retried_and_then_recorded(
    scripted: ScriptedProcess, kind: str, named: str
) -> None:
    model = f"scripted?faults=1&kinds={kind}"
    run = make_run(make_endpoint(scripted), make_material(3), model=model, max_unparsable=2)
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"unparsable": 3})
    assert scripted.stats()["requests"] == 6
    for call in run.calls.all():
        assert call.errors == [named, named]
        assert call.parsed is None
        assert call.text or kind == "filter"
    assert Judgment.objects.count() == 0


@pytest.mark.parametrize("status", [401, 403, 404])
def test_errors_that_waiting_cannot_fix_pause_the_run(scripted: ScriptedProcess, status: int) -> None:
    run = make_run(
        make_endpoint(scripted, concurrency=2), make_material(6), model=f"scripted?status={status}"
    )
    work(run)
    assert run.state == "paused"
    assert f"HTTP {status}" in run.reason
    assert states(run) == {"pending": 6}
    assert scripted.stats()["requests"] <= 4
    Run.objects.filter(pk=run.pk).update(model="scripted")
    run_resume(run=run)
    work(run)
    assert states(run) == {"done": 6}


def test_a_refused_item_fails_without_affecting_others(scripted: ScriptedProcess) -> None:
    study = make_material(12)
    word = study.items.get(key="item-3").payload["follow_up"]
    model = f"scripted?{urlencode({'refuse': word})}"
    run = make_run(make_endpoint(scripted, concurrency=1), study, model=model)
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"failed": 1, "done": 11})
    assert run.reason == "1 call failed: prompt too long for the model (1)."
    call = run.calls.get(state="failed")
    assert (call.key, call.error_kind, call.attempts) == ("item-3", "context_length", 1)
    assert "This prompt is not accepted" in call.error
    Run.objects.filter(pk=run.pk).update(model="scripted")
    assert run_retry_failed(run=run) == 1
    work(run)
    assert (run.state, run.reason, states(run)) == ("done", "", {"done": 12})


def test_a_prompt_that_the_content_filter_refuses_is_not_sent_again(scripted: ScriptedProcess) -> None:
    study = make_material(3)
    word = study.items.get(key="item-1").payload["follow_up"]
    model = f"scripted?{urlencode({'refuse': word, 'code': 'content_filter'})}"
    run = make_run(make_endpoint(scripted), study, model=model)
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"unparsable": 1, "done": 2})
    assert scripted.stats()["requests"] == 3


def test_a_run_pauses_when_too_large_a_share_of_its_calls_fails(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=1)
    run = make_run(endpoint, make_material(30), model="scripted?status=400", max_failed_share=0.2)
    work(run)
    assert run.state == "paused"
    assert "10 of 10 calls failed, most of them: request rejected. HTTP 400" in run.reason
    assert (states(run), scripted.stats()["requests"]) == ({"failed": 10, "pending": 20}, 10)
    Run.objects.filter(pk=run.pk).update(model="scripted")
    run_resume(run=run)
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"failed": 10, "done": 20})


def test_a_refused_host_pauses_the_run_before_anything_is_sent(
    scripted: ScriptedProcess, settings: object
) -> None:
    run = make_run(make_endpoint(scripted), make_material(2))
    settings.LLM_ALLOWED_HOSTS = []  # type: ignore[attr-defined]
    work(run)
    assert run.state == "paused"
    assert "https" in run.reason
    assert (scripted.stats()["requests"], run.sent_calls) == (0, 0)


def test_retry_after_delays_every_request_to_the_endpoint(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted, concurrency=4)
    model = "scripted?faults=0.5&kinds=429&retry_after=0.6&seed=1"
    run = make_run(endpoint, make_material(4), model=model, max_attempts=1)
    work(run)
    assert scripted.stats()["counts"]["fault 429"] > 0
    endpoint.refresh_from_db()
    refused = run.calls.exclude(errors=[])
    assert max(refused.values_list("claimed_at", flat=True)) >= endpoint.hold_until
    assert (run.state, states(run)) == ("done", {"done": 4})


def test_a_run_whose_worker_crashes_pauses_and_can_be_resumed(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(3))
    good = run.prompt
    Run.objects.update(prompt="## user\n$nothing_of_the_kind")
    assert work(run).ended == "paused"
    run.refresh_from_db()
    assert (run.state, "nothing_of_the_kind" in run.reason) == ("paused", True)
    Run.objects.update(prompt=good)
    run_resume(run=run)
    assert work(run).ended == "idle"
    assert Judgment.objects.count() == 3


def test_single_failed_calls_can_be_retried(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(4), model="scripted?status=400")
    work(run)
    assert states(run) == {"failed": 4}
    Run.objects.filter(pk=run.pk).update(model="scripted")
    chosen = run.calls.get(key="item-2")
    assert run_retry_failed(run=run, calls=[chosen.pk]) == 1
    work(run)
    assert (run.state, states(run)) == ("incomplete", {"failed": 3, "done": 1})
    chosen.refresh_from_db()
    assert (chosen.state, chosen.errors) == ("done", ["bad_request"])
    assert run_retry_failed(run=run, calls=[chosen.pk]) == 0


def test_a_reply_that_was_all_thinking_says_what_to_set(scripted: ScriptedProcess) -> None:
    run = make_run(
        make_endpoint(scripted), make_material(1), model="scripted?faults=1&kinds=thinking", max_unparsable=1
    )
    work(run)
    call = run.calls.get()
    assert call.error_kind == "cut_off"
    assert "all its tokens went into the model's thinking" in call.error
    assert "Allow more tokens for thinking" in call.error


@pytest.mark.parametrize("concurrency", [1, 3, 64])
@pytest.mark.parametrize("items", [1, 9, 12])
def test_a_run_of_which_every_request_is_refused_pauses_however_short_it_is(
    scripted: ScriptedProcess, items: int, concurrency: int
) -> None:
    """Its last calls may have ended before the share of failed ones was looked at."""
    endpoint = make_endpoint(scripted, concurrency=concurrency)
    for _ in range(2):
        run = make_run(endpoint, make_material(items), model="scripted?status=400")
        work(run)
        assert run.state == "paused"
        assert "calls failed, most of them" in run.reason
        assert "HTTP 400" in run.reason
    for _ in range(2):  # its last calls may be sent and refused first
        if run.state == "paused":
            run_resume(run=run)
            work(run)
    assert (run.state, states(run)) == ("incomplete", {"failed": items}), "resumed without a change, it ends"
    Run.objects.filter(pk=run.pk).update(model="scripted")
    assert run_retry_failed(run=run) == items
    work(run)
    assert (run.state, states(run)) == ("done", {"done": items})
