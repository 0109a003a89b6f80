"""Replies that could not be used: the model is told what was wrong, and every attempt's reply is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotator.models import Dataset, Explanation, FollowUp, Instance, Judgment, System
from evaluation.models import Call
from evaluation.providers.apis.openai import OpenAI
from evaluation.runs.create import RunPlan
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import run_start
from evaluation.runs.outcome import MAX_TEXT
from evaluation.runs.request import request_build
from evaluation.simulators.prepare import Simulate
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    material_run_create,
    states,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = SCRIPTED_MARKS


def explained(n: int) -> Dataset:
    """A dataset of news, each with an explanation of one system."""
    dataset = Dataset.objects.create(name="news")
    system = System.objects.create(name="robot", model="robot", method="cot")
    for number in range(n):
        instance = Instance.objects.create(dataset=dataset, key=f"n{number}", input=f"Did owl {number} swim?")
        Explanation.objects.create(
            instance=instance,
            system=system,
            text=f"Owl {number} floats and paddles.",
            output="yes",
            digest=str(number),
        )
    return dataset


def follow_ups(scripted: ScriptedProcess, model: str, **fields: Any) -> Any:
    """A run that asks for lists of six follow-ups."""
    run = material_run_create(
        kind="counterfactuals",
        dataset=explained(3),
        endpoint=make_endpoint(scripted),
        plan=RunPlan(model=model, **fields),
        options={"task": "yes_no", "way": "baseline", "n": 6},
    )
    return run_inline(run=run_start(run=run), seconds=60)


def test_a_list_keeps_its_good_entries_and_the_missing_ones_are_asked_for_again(
    scripted: ScriptedProcess,
) -> None:
    run = follow_ups(scripted, "scripted?faults=0.4&kinds=partial&seed=1", max_unparsable=8)
    assert run.state == "done"
    again = [call for call in run.calls.all() if call.history]
    assert again, "no list was incomplete: choose another seed"
    for call in again:
        first = call.history[0]
        assert first["error_kind"] == "incomplete"
        assert first["reply"]["choices"]
        assert first["cost"] > 0
        kept = first["parsed"]["follow_ups"]
        assert call.parsed["follow_ups"][: len(kept)] == kept
        assert call.parsed["missing"] <= 1  # the scripted model may write one of its questions twice
        second = call.history[1]["request"] if len(call.history) > 1 else call.request
        *_, reply, complaint = second["messages"]
        assert reply["content"] == first["text"]
        assert "I have no more questions" in complaint["content"]
        assert "Write" in complaint["content"]
    assert FollowUp.objects.count() >= 3 * 5


def test_a_list_that_stays_incomplete_is_done_with_what_is_good(scripted: ScriptedProcess) -> None:
    run = follow_ups(scripted, "scripted?faults=1&kinds=partial", max_unparsable=2)
    assert run.state == "done"
    for call in run.calls.all():
        assert len(call.parsed["follow_ups"]) + call.parsed["duplicates"] + call.parsed["missing"] == 6
        assert call.parsed["missing"] > 0
        assert len(call.history) == 1


def test_an_unreadable_reply_is_shown_to_the_model_with_what_was_wrong(scripted: ScriptedProcess) -> None:
    model = "scripted?faults=0.7&kinds=nonsense&seed=5"
    run = make_run(
        make_endpoint(scripted), make_material(8), model=model, max_unparsable=8, max_failed_share=1
    )
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 8})
    again = [call for call in run.calls.all() if call.history]
    assert again, scripted.stats()
    for call in again:
        *_, reply, complaint = call.request["messages"]
        assert (reply["role"], complaint["role"]) == ("assistant", "user")
        assert call.history[-1]["text"].startswith(reply["content"])
        assert call.history[-1]["error"] in complaint["content"]
        assert (
            call.history[0]["request"]["messages"]
            == call.request["messages"][:-2][: len(call.history[0]["request"]["messages"])]
        )
    spent = sum(call.cost for call in run.calls.all())
    assert spent == run.spent_cost
    assert Judgment.objects.count() == 8


def test_after_a_refusal_or_a_cut_off_reply_the_same_request_is_repeated(scripted: ScriptedProcess) -> None:
    run = make_run(
        make_endpoint(scripted), make_material(2), model="scripted?faults=1&kinds=cut", max_unparsable=2
    )
    work(run)
    for call in run.calls.all():
        assert call.history[0]["request"]["messages"] == call.request["messages"]


def test_an_empty_text_that_ended_at_the_limit_is_cut_off_and_its_thinking_kept(
    scripted: ScriptedProcess,
) -> None:
    run = make_run(
        make_endpoint(scripted), make_material(2), model="scripted?faults=1&kinds=thinking", max_unparsable=1
    )
    work(run)
    for call in run.calls.all():
        assert (call.state, call.error_kind) == ("unparsable", "cut_off")
        assert call.reply["choices"][0]["message"]["reasoning_content"].startswith("First I look")


def test_content_in_parts_is_read_and_its_thinking_part_is_not(scripted: ScriptedProcess) -> None:
    run = make_run(make_endpoint(scripted), make_material(3), model="scripted?faults=1&kinds=parts")
    work(run)
    assert states(run) == {"done": 3}
    assert "42" not in "".join(run.calls.values_list("text", flat=True))


@pytest.mark.parametrize(
    ("model", "name", "limit"),
    [
        ("o3-mini", "max_completion_tokens", 4100),
        ("openai/gpt-5-nano", "max_completion_tokens", 4100),
        ("gpt-5-chat-latest", "max_tokens", 100),
        ("gpt-4o", "max_tokens", 100),
        ("solo-3", "max_tokens", 100),
    ],
)
def test_reasoning_models_get_extra_tokens_under_their_parameters_name(
    model: str, name: str, limit: int
) -> None:
    request = request_build(
        model=model,
        messages=[],
        parameters={},
        sample=0,
        samples=1,
        limit=OpenAI().reply_limit(model=model, tokens=100),
        schema=None,
    )
    assert request.parameters == {name: limit}


def test_a_studys_language_is_read_beside_english(scripted: ScriptedProcess) -> None:
    study = make_material(1, language="de")
    run = make_run(make_endpoint(scripted), study, started=False)
    row = run.calls.get()
    step = Simulate()
    call = type("Claimed", (), {"thing": study.items.get().payload, "stage": 0, "context": row.context})()
    assert step.parse(run, call, "Die Erklärung hilft. ANTWORT: NEIN") == {"helpful": "yes", "answer": "no"}
    assert step.parse(run, call, "ANSWER: YES") == {"helpful": "yes", "answer": "yes"}


def test_an_overlong_text_is_not_repeated_in_the_chat(scripted: ScriptedProcess) -> None:
    run = make_run(
        make_endpoint(scripted), make_material(1), model="scripted?faults=1&kinds=long_text", max_unparsable=2
    )
    work(run)
    call = Call.objects.get()
    assert call.error_kind == "too_long"
    assert len(json.dumps(call.request)) < MAX_TEXT
