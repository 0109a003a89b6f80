"""Replies that follow a JSON schema: every HIT type's examples, every form of material, and objects that break a schema."""

from __future__ import annotations

import json
from random import Random
from types import SimpleNamespace
from typing import Any, cast, get_args

import jsonschema
import pytest

from annotator.hit_types.base import JSON, FieldErrors, HitType, Unparsable, prompt_part, render_prompt
from annotator.hit_types.declaration.passages import passage_objects
from annotator.hit_types.registry import hit_types
from evaluation.models import Run
from evaluation.prompts import prompt_file
from evaluation.runs.demonstrations import form_object
from evaluation.runs.step import ClaimedCall
from evaluation.runs.structured import Form, form_schema, form_text, stage_schema, with_form
from evaluation.simulators.prepare import Simulate
from tests.contracts.cases import examples

FORMS: dict[Form, JSON] = {
    "reasons_answer": {"explanation": "Owls float.", "answer": "yes"},
    "answer": {"answer": "no"},
    "answer_reason": {"answer": "yes", "explanation": "Owls float."},
    "reasons": {"explanation": "Owls float well."},
    "explained_output": {"explanation": "First the decision.", "output": "It closed."},
    "output_explained": {"output": "It closed.", "explanation": "First the decision."},
    "output": {"output": "It closed."},
    "entries": {"entries": ["Can owls swim?"]},
    "examples": {"entries": [{"context": "Tea?", "response_1": "Yes.", "response_2": "No."}]},
    "choices": {"entries": [{"question": "Which?", "options": ["one", "two"]}]},
    "question": {"question": "Can owls swim?"},
    "answered_question": {"question": "Can owls swim?", "answer": "yes"},
    "guessed": {"follow_up": "Can emus fly?", "reason": "They are birds.", "answer": "yes"},
    "example": {"context": "Tea?", "response_1": "Yes.", "response_2": "No."},
    "units": {"units": ["a decision"]},
    "person_units": {"person": ["is 51"], "suggestions": ["rest"]},
}


def whole(value: JSON, stage_fields: list[str]) -> JSON:
    """A response of a model that must follow the schema: every key, null for fields that don't apply."""
    return {"thoughts": "Hm.", **{name: value.get(name) for name in stage_fields}}


def asked(kind: HitType, payload: JSON, stage: int, presentation: JSON) -> ClaimedCall:
    return ClaimedCall(
        id=1,
        key="k",
        item_id=1,
        subject=None,
        sample=0,
        stage=stage,
        context={"presentation": presentation},
        thing=payload,
    )


@pytest.mark.parametrize("name", [name for name, kind in hit_types().items() if not kind.external])
def test_every_hit_types_examples_as_objects(name: str) -> None:
    kind, step = hit_types()[name], Simulate()
    run = cast(
        Run,
        SimpleNamespace(
            study=SimpleNamespace(hit_type=name, declaration_id=None, language="en", confidence_scale="")
        ),
    )
    checked = 0
    for case in examples(kind, "valid"):
        payload = kind.parse_item(case["row"]).payload
        for given in case["responses"]:
            presentation = given.get("presentation") or kind.present(payload, Random(1))
            response = kind.parse_whole(payload, given["raw"], presentation)
            for number, stage in enumerate(kind.stages(payload, presentation)):
                call = asked(kind, payload, number, presentation)
                schema = step.schema(run, call)
                jsonschema.Draft202012Validator.check_schema(schema)
                value = whole(response, [field.name for field in stage.fields])
                for field in stage.fields:
                    if field.passages:
                        value[field.name] = passage_objects(value[field.name])
                jsonschema.validate(value, schema)
                wanted = kind.parse_response(payload, given["raw"], number, presentation)
                for text in (json.dumps(value), f"Here you are:\n```json\n{json.dumps(value)}\n```"):
                    assert step.read(run, call, text) == wanted
                checked += 1
    assert checked


def test_an_object_with_an_unknown_value_is_refused() -> None:
    kind, step = hit_types()["simulation"], Simulate()
    run = cast(
        Run,
        SimpleNamespace(
            study=SimpleNamespace(
                hit_type="simulation", declaration_id=None, language="en", confidence_scale=""
            )
        ),
    )
    row = examples(kind, "valid")[0]["row"]
    call = asked(kind, kind.parse_item(row).payload, 0, {})
    names = [field.name for field in kind.stages(call.thing)[0].fields]
    with pytest.raises((FieldErrors, Unparsable)):
        step.read(run, call, json.dumps(whole({names[0]: "maybe"}, names)))
    with pytest.raises((FieldErrors, Unparsable)):
        step.read(run, call, json.dumps(whole({}, names)))
    with pytest.raises(Unparsable):  # cut off: no object, and no answer in words
        step.read(run, call, json.dumps(whole({names[0]: "yes"}, names))[:-9])


def test_conditional_fields_can_be_null() -> None:
    kind = hit_types()["simulation"]
    row = examples(kind, "valid")[0]["row"]
    stage = kind.stages(kind.parse_item(row).payload)[0]
    schema = stage_schema(stage)
    assert schema["required"] == ["thoughts", *(field.name for field in stage.fields)]
    conditional = [field.name for field in stage.fields if field.when]
    assert conditional
    assert all(None in schema["properties"][name]["enum"] for name in conditional)


def test_every_form_is_covered_by_these_tests() -> None:
    assert set(FORMS) == set(get_args(Form))


@pytest.mark.parametrize("form", FORMS)
def test_a_form_has_a_strict_schema_and_converts_back_to_text(form: Form) -> None:
    schema = form_schema(form, "yes_no")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(FORMS[form], schema)
    text = form_text(form, "yes_no", FORMS[form], "Summary")
    assert all(piece in text for piece in strings(FORMS[form]))
    for broken in ({}, dict.fromkeys(FORMS[form], 3), {name: [None] for name in FORMS[form]}):
        with pytest.raises(Unparsable):
            form_text(form, "yes_no", broken, "Summary")


@pytest.mark.parametrize("form", FORMS)
def test_a_demonstrated_reply_becomes_the_object_that_means_the_same(form: Form) -> None:
    text = form_text(form, "yes_no", FORMS[form], "Summary")
    assert form_object(form, "yes_no", text, "Summary") == FORMS[form]


@pytest.mark.parametrize(
    ("step", "task", "part", "form"),
    [
        ("explain", "yes_no", "cot", "reasons_answer"),
        ("explain", "yes_no", "answer_reason", "answer_reason"),
        ("explain", "preference", "answer", "answer"),
        ("explain", "news", "cot", "explained_output"),
        ("counterfactuals", "yes_no", "explained", "guessed"),
        ("counterfactuals", "preference", "explained", "example"),
        ("units", "medical", "", "person_units"),
    ],
)
def test_the_demonstrations_of_a_prompt_are_shown_in_the_schemas_form(
    step: str, task: str, part: str, form: Form
) -> None:
    text = prompt_file(step, task)
    names = ("input", "output", "explanation", "n", "rationale", "question")
    chat = render_prompt(prompt_part(text, part) if part else text, dict.fromkeys(names, "..."))
    schema = form_schema(form, task)
    label = {"news": "Summary", "medical": "Suggestion"}.get(task, "")
    shown = [
        m
        for m in with_form(chat, schema, lambda t: form_object(form, task, t, label))
        if m.role == "assistant"
    ]
    assert shown
    for message in shown:
        jsonschema.validate(json.loads(message.content), schema)


@pytest.mark.parametrize("name", ["simulation", "simulation_choice", "simulation_preference", "utility"])
def test_the_demonstrations_of_a_simulator_are_shown_in_the_schemas_form(name: str) -> None:
    kind, step = hit_types()[name], Simulate()
    run = cast(
        Run,
        SimpleNamespace(
            study=SimpleNamespace(hit_type=name, declaration_id=None, language="en", confidence_scale=""),
            prompt=kind.prompt_text,
            endpoint=SimpleNamespace(images=False),
        ),
    )
    row = examples(kind, "valid")[0]["row"]
    call = asked(kind, kind.parse_item(row).payload, 0, {})
    schema = step.schema(run, call)
    chat = with_form(step.messages(run, call), schema, lambda text: step.demonstration(run, call, text))
    shown = [json.loads(message.content) for message in chat if message.role == "assistant"]
    assert shown
    for value in shown:
        assert set(value) == set(schema["required"])
        assert value["thoughts"]
        assert "ANSWER" not in value["thoughts"]


@pytest.mark.parametrize("name", ["plausibility", "atomic_units"])
def test_demonstrations_of_another_number_of_things_are_shown_in_the_schemas_form(name: str) -> None:
    kind, step = hit_types()[name], Simulate()
    run = cast(
        Run,
        SimpleNamespace(
            study=SimpleNamespace(hit_type=name, declaration_id=None, language="en", confidence_scale=""),
            prompt=kind.prompt_text,
            endpoint=SimpleNamespace(images=False),
        ),
    )
    counted = 0
    for case in examples(kind, "valid"):
        payload = kind.parse_item(case["row"]).payload
        for number, stage in enumerate(kind.stages(payload, {})):
            call = asked(kind, payload, number, {})
            schema = step.schema(run, call)
            fields = {field.name for field in stage.fields}
            # An item's list may be empty where a demonstration's is not.
            numbered = {field.rpartition("_")[0] for field in fields} | {"parsed"}
            chat = with_form(
                step.messages(run, call), schema, lambda t, c=call: step.demonstration(run, c, t)
            )  # type: ignore[misc]
            for message in (m for m in chat if m.role == "assistant"):
                value = json.loads(message.content)
                assert value.pop("thoughts")
                assert value
                for key, label in value.items():
                    assert key in fields or key.rpartition("_")[0] in numbered
                    named = next((f for f in stage.fields if f.name == key), stage.fields[0])
                    if named.options and label is not None:
                        assert label in {option.value for option in named.options}
                counted += 1
    assert counted >= 3


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    held = value.values() if isinstance(value, dict) else value
    return [text for one in held for text in strings(one)]
