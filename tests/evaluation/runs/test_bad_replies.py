"""Replies that could break the worker or the database: each affects its own call only."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from evaluation.models import Call
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.settle import settle
from evaluation.services.endpoint_trial import endpoint_try
from evaluation.simulators.prepare import Simulate
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    claim_as,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
)
from tests.evaluation.scripted.misbehave import KINDS
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = SCRIPTED_MARKS


@pytest.mark.parametrize("half", [0, 1])
def test_a_run_completes_with_every_kind_of_bad_reply(scripted: ScriptedProcess, half: int) -> None:
    endpoint = make_endpoint(scripted, timeout_seconds=0.5, concurrency=16)
    kinds = sorted(set(KINDS) - {"gzip_bomb"})[half::2]
    model = f"scripted?faults=.5&kinds={','.join(kinds)}"
    run = make_run(endpoint, make_material(40), model=model, max_attempts=40, max_unparsable=40)
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 40})
    errors = [kind for call in run.calls.all() for kind in call.errors]
    assert run.sent_calls == 40 + len(errors), "each request that was sent has an outcome"
    # On a busy machine a request can be given up on before the server has read it.
    assert 0 <= run.sent_calls - scripted.stats()["requests"] <= errors.count("timeout")
    assert run.reserved_cost == 0


@pytest.mark.parametrize("kind", ["nan", "overflow", "deep_extra", "nul"])
def test_a_readable_reply_with_values_json_lacks_is_stored(scripted: ScriptedProcess, kind: str) -> None:
    run = make_run(make_endpoint(scripted), make_material(5), model=f"scripted?faults=1&kinds={kind}")
    work(run)
    assert (run.state, states(run), scripted.stats()["requests"]) == ("done", {"done": 5}, 5)
    assert all(call.reply["choices"] for call in run.calls.all())


@pytest.mark.parametrize("kind", ["deep", "html", "long_number"])
def test_a_reply_that_is_not_json_is_stored(scripted: ScriptedProcess, kind: str) -> None:
    model = f"scripted?faults=1&kinds={kind}"
    run = make_run(make_endpoint(scripted), make_material(2), model=model, max_attempts=1)
    work(run)
    assert states(run) == {"failed": 2}
    assert all(call.reply["not_json"] for call in run.calls.all())
    assert run.lost_cost > 0


def test_an_exception_while_reading_is_the_outcome_of_that_call_only(
    scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse = Simulate.parse

    def broken(self: Simulate, run: Any, call: Any, text: str) -> Any:
        if call.key == "item-1":
            raise RecursionError("too deep")
        return parse(self, run, call, text)

    monkeypatch.setattr(Simulate, "parse", broken)
    run = make_run(make_endpoint(scripted), make_material(5), max_unparsable=2)
    work(run)
    assert states(run) == {"done": 4, "unparsable": 1}
    call = run.calls.get(key="item-1")
    assert (call.error_kind, call.errors) == ("unexpected", ["unexpected", "unexpected"])
    assert call.text
    assert call.cost > 0


def test_an_exception_outside_the_parser_is_the_outcome_of_that_call_too(
    scripted: ScriptedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(text: str, tokens: Any) -> float:
        raise OverflowError("too large")

    monkeypatch.setattr("evaluation.runs.outcome.answer_confidence", broken)
    run = make_run(make_endpoint(scripted), make_material(2), max_attempts=1)
    work(run)
    assert states(run) == {"failed": 2}
    assert {(call.error_kind, call.error) for call in run.calls.all()} == {
        ("unexpected", "OverflowError: too large")
    }
    assert all(call.reply["choices"] and call.cost > 0 for call in run.calls.all()), "it was paid for"


def test_a_row_that_cannot_be_stored_does_not_affect_other_rows(scripted: ScriptedProcess) -> None:
    endpoint = make_endpoint(scripted)
    run = make_run(endpoint, make_material(3))
    ready = claim_as("0:me", run, want=3).ready
    outcomes = [
        Outcome(
            id=one.calls[0].id, state="done", reserved=one.reserved[one.calls[0].id], cost=Decimal("0.001"),
            text=f"text {n}", parsed={"helpful": "no"}, tokens_in=2**40 if n == 1 else 5,
        )
        for n, one in enumerate(ready)
    ]  # fmt: skip
    for outcome in outcomes:
        outcome.tokens_in = None if outcome.text == "text 1" else outcome.tokens_in
        if outcome.text == "text 1":
            outcome.state = "no such state at all"
    assert settle(run=run, token="0:me", outcomes=outcomes) == 3
    assert states(run) == {"done": 2, "failed": 1}
    bad = Call.objects.get(run=run, state="failed")
    assert (bad.error_kind, bad.text, bad.cost) == ("not_stored", "text 1", Decimal("0.001"))
    run.refresh_from_db()
    assert run.reserved_cost == 0
    assert run.spent_cost == sum(min(o.cost, o.reserved) for o in outcomes)


@pytest.mark.parametrize(
    ("kind", "timeout", "said"),
    [("whitespace", 1.0, "not complete after 1 s"), ("deep", 60.0, "JSON"), ("flood", 60.0, "larger than")],
)
def test_testing_an_endpoint_names_a_reply_that_never_ends_or_cannot_be_read(
    scripted: ScriptedProcess, kind: str, timeout: float, said: str
) -> None:
    model = f"scripted?faults=1&kinds={kind}"
    tried = endpoint_try(endpoint=make_endpoint(scripted, model=model, timeout_seconds=timeout))
    assert not tried.ok
    assert said in tried.message
