"""A model's refusal is an output of its system, not a lost call."""

from __future__ import annotations

import pytest

from annotator.hit_types.registry import hit_type_get
from annotator.models import Dataset, Explanation, FollowUp, Instance, Output, System
from evaluation.models import Run
from evaluation.pipelines.study_rows import study_rows
from evaluation.runs.create import RunPlan
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import run_start
from tests.evaluation.run_factories import make_endpoint, material_run_create
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allowed")]
REFUSES = "scripted?faults=1&kinds=refusal"
SORRY = "I'm sorry, but I can't help with that request."


def explained(text: str = "All owls fly.", output: str = "yes") -> Explanation:
    dataset = Dataset.objects.create(name="d")
    instance = Instance.objects.create(dataset=dataset, key="a", input="Can owls fly?", gold_label="yes")
    system = System.objects.create(name="robot", model="robot", method="cot")
    return Explanation.objects.create(instance=instance, system=system, text=text, output=output, digest="x")


def asked(kind: str, scripted: ScriptedProcess, dataset: Dataset, **options: str) -> Run:
    endpoint = make_endpoint(scripted, name=kind, model=REFUSES)
    run = material_run_create(kind=kind, dataset=dataset, endpoint=endpoint, plan=RunPlan(), options=options)
    return run_inline(run=run_start(run=run))


def test_a_refusal_on_a_follow_up_counts_as_an_unpredictable_output(scripted: ScriptedProcess) -> None:
    explanation = explained()
    dataset = explanation.instance.dataset
    FollowUp.objects.create(
        instance=explanation.instance,
        explanation=explanation,
        text="Can barn owls fly?",
        kind="counterfactual",
        digest="f",
    )
    run = asked("outputs", scripted, dataset, task="yes_no", system="robot", method="cot")
    assert run.state == "done"
    call = run.calls.get()
    assert (call.state, call.error_kind, call.attempts) == ("done", "refusal", run.max_unparsable)
    assert Output.objects.get().text == "refusal"
    (row,) = study_rows(hit_type="simulation", dataset=dataset)
    assert row["real_output"] == "refusal"
    assert hit_type_get("simulation").parse_item(row).material.real_output == "refusal"


def test_a_refusal_to_generate_is_judged_by_its_text(scripted: ScriptedProcess) -> None:
    explanation = explained("The person says: my knee hurts. It helps to rest.", "Rest.")
    FollowUp.objects.create(
        instance=explanation.instance,
        explanation=explanation,
        text="My knee hurts. Help!",
        kind="counterfactual",
        digest="f",
    )
    asked("outputs", scripted, explanation.instance.dataset, task="medical", system="robot", method="cot")
    assert Output.objects.get().text == SORRY


def test_a_refused_generalization_question_counts_as_wrong(
    scripted: ScriptedProcess,
) -> None:
    explanation = explained()
    dataset = explanation.instance.dataset
    question = FollowUp.objects.create(
        instance=explanation.instance, text="Do owls fly?", kind="rephrase", gold_label="yes", digest="q"
    )
    without = asked("gen_u", scripted, dataset, task="yes_no", rationale="")
    assert Output.objects.get(follow_up=question).text == "refusal"
    run = asked("reward", scripted, dataset, task="yes_no", system="robot")
    assert [call.parsed for call in run.calls.all()] == [{"output": "refusal"}]
    assert without.state == run.state == "done"


def test_a_refused_explanation_is_not_stored(scripted: ScriptedProcess) -> None:
    dataset = explained().instance.dataset
    run = asked("explain", scripted, dataset, task="yes_no", method="cot")
    assert (run.state, run.calls.get().state) == ("incomplete", "unparsable")
    assert Explanation.objects.count() == 1
