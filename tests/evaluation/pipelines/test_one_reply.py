"""Post-hoc explanations in one reply or in two calls, and demonstrations that are drawn at random."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from annotator.hit_types.base import Unparsable
from annotator.models import Dataset, Explanation, FollowUp, Instance, System
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint, Run
from evaluation.pipelines.contract import StepInRecipe
from evaluation.pipelines.drawn_demonstrations import demonstrations_draw
from evaluation.pipelines.model_step import model_steps
from evaluation.pipelines.option_checks import OptionError
from evaluation.prompts import prompt_file
from evaluation.runs.create import RunPlan
from evaluation.runs.step import ClaimedCall, Job
from evaluation.selectors.material import part_by_key
from tests.factories import make_user

pytestmark = pytest.mark.django_db
EXPLAIN, OUTPUTS = model_steps()["explain"], model_steps()["outputs"]
REPLY = "Answer: no\nReason: Penguins have wings, but they are too heavy to fly."


@pytest.fixture
def dataset() -> Dataset:
    """Forty questions with a gold rationale, and one without."""
    made = Dataset.objects.create(workspace=workspace_personal(user=make_user("ann")), name="birds")
    Instance.objects.bulk_create(
        [
            Instance(
                dataset=made, key=f"q{n}", input=f"Can bird {n} fly?", gold_label=("yes", "no")[n % 2],
                gold_rationale=f"Bird {n} has wings of kind {n}.",
            )
            for n in range(40)
        ]
    )  # fmt: skip
    Instance.objects.create(dataset=made, key="bare", input="Is this bare?", gold_label="yes")
    return made


def drafted(step: Any, dataset: Dataset, endpoint: Endpoint, **options: Any) -> Run:
    return step.run_draft(
        owner=dataset, endpoint=endpoint, plan=RunPlan(), options={"task": "yes_no"} | options
    )


@pytest.fixture
def endpoint(dataset: Dataset) -> Endpoint:
    return Endpoint.objects.create(
        workspace=dataset.workspace,
        name="e",
        base_url="http://127.0.0.1:9/v1",
        model="m",
        price_in=1,
        price_out=1,
    )


def called(step: Any, run: Run, subject: int, stage: int = 0, **context: Any) -> ClaimedCall:
    call = ClaimedCall.of_job(Job("k", None, subject, 0, stage, context), pk=1)
    return replace(call, thing=step.load(run, [call])[1])


def test_post_hoc_is_one_reply_by_default_and_two_calls_by_choice(
    dataset: Dataset, endpoint: Endpoint
) -> None:
    pk = dataset.instances.first().pk
    once = drafted(EXPLAIN, dataset, endpoint, method="post_hoc", system="m · post-hoc")
    call = called(EXPLAIN, once, pk)
    assert EXPLAIN.part(once, call) == "post_hoc"
    assert "Answer: <yes or no>" in EXPLAIN.messages(once, call)[0].content
    parsed = EXPLAIN.parse(once, call, REPLY)
    assert parsed == {"explanation": "Penguins have wings, but they are too heavy to fly.", "output": "no"}
    assert EXPLAIN.after(once, call, parsed) is None
    assert EXPLAIN.schema(once, call)["required"] == ["answer", "explanation"]

    twice = drafted(EXPLAIN, dataset, endpoint, method="post_hoc", system="m · two", calls=2)
    call = called(EXPLAIN, twice, pk)
    assert EXPLAIN.part(twice, call) == "answer"
    parsed = EXPLAIN.parse(twice, call, "ANSWER: NO")
    following = EXPLAIN.after(twice, call, parsed)
    assert following is not None
    assert (following.stage, following.context) == (1, {"output": "no"})
    assert EXPLAIN.part(twice, called(EXPLAIN, twice, pk, 1, output="no")) == "because"


def explained_with_a_follow_up(dataset: Dataset, name: str) -> None:
    instance = dataset.instances.first()
    system = System.objects.create(workspace=dataset.workspace, name=name)
    made = Explanation.objects.create(
        instance=instance, system=system, text="Wings.", output="yes", digest=name
    )
    FollowUp.objects.create(
        instance=instance,
        explanation=made,
        text="Can it glide?",
        generator="g",
        kind="counterfactual",
        digest=name,
    )


def test_outputs_come_from_the_prompt_that_explained(dataset: Dataset, endpoint: Endpoint) -> None:
    call = ClaimedCall.of_job(Job("k", None, 1))
    for calls, part in ((1, "post_hoc"), (2, "answer")):
        name = f"m · {calls}"
        base = drafted(
            EXPLAIN, dataset, endpoint, method="post_hoc", system=name, **({"calls": 2} if calls == 2 else {})
        )
        base.save()
        forced = drafted(EXPLAIN, dataset, endpoint, method="post_hoc", system=f"{name} · forced")
        forced.options |= {"method": "forced", "base": name}
        forced.save()
        for system in (name, f"{name} · forced"):
            explained_with_a_follow_up(dataset, system)
            run = drafted(OUTPUTS, dataset, endpoint, method="post_hoc", system=system)
            assert run.options["calls"] == calls, system
            assert OUTPUTS.part(run, call) == part
    assert OUTPUTS.parse(run, call, "ANSWER: YES") == {"output": "yes"}
    chosen = drafted(OUTPUTS, dataset, endpoint, method="post_hoc", system="m · 1", calls=2)
    assert OUTPUTS.part(chosen, call) == "answer"
    once = drafted(OUTPUTS, dataset, endpoint, method="post_hoc", system="m · 1")
    assert OUTPUTS.parse(once, call, REPLY) == {"output": "no"}


def test_a_run_from_before_the_choice_goes_on_with_its_own_prompt(
    dataset: Dataset, endpoint: Endpoint
) -> None:
    """Its prompt has no part for one reply, so that it asks twice, as it began."""
    text = prompt_file("explain", "yes_no")
    older = text[: text.index("# post_hoc")] + text[text.index("# answer\n") :]
    run = drafted(EXPLAIN, dataset, endpoint, method="post_hoc", system="m · old")
    run.prompt = older
    assert EXPLAIN.part(run, ClaimedCall.of_job(Job("k", None, 1))) == "answer"
    assert EXPLAIN.part(run, ClaimedCall.of_job(Job("k", None, 1, 0, 1))) == "because"


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("news", {"method": "post_hoc", "calls": 2}, "calls: only post_hoc"),
        ("yes_no", {"method": "cot", "calls": 1}, "calls: only post_hoc"),
        (
            "yes_no",
            {"method": "forced", "base": "b", "demonstrations": 6},
            "answers with reasons in one reply",
        ),
        ("news", {"method": "cot", "demonstrations": 6}, "answers with reasons in one reply"),
        (
            "yes_no",
            {"method": "post_hoc", "calls": 2, "demonstrations": 6},
            "answers with reasons in one reply",
        ),
        ("yes_no", {"method": "answer_reason", "reward": 1, "demonstrations": 6}, "asked without any"),
        ("yes_no", {"method": "answer_reason", "demonstrations": 0}, "demonstrations"),
        ("yes_no", {"method": "post_hoc", "calls": 3}, "calls"),
    ],
)
def test_choices_that_make_no_sense_are_refused(task: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        EXPLAIN.check(StepInRecipe(options, task))


@pytest.mark.parametrize("method", ["answer_reason", "cot", "post_hoc"])
def test_demonstrations_are_drawn_for_each_question_from_the_training_part(
    dataset: Dataset, endpoint: Endpoint, method: str
) -> None:
    run = drafted(EXPLAIN, dataset, endpoint, method=method, demonstrations=6)
    shown = {}
    for instance in dataset.instances.all():
        chat = EXPLAIN.messages(run, called(EXPLAIN, run, instance.pk))
        assert [message.role for message in chat] == ["system", *["user", "assistant"] * 6, "user"]
        assert instance.input in chat[-1].content
        asked = {message.content for message in chat[1:-1:2]}
        assert not any(instance.input in one for one in asked), "never the question itself"
        for reply, question in zip(chat[2:-1:2], chat[1:-1:2], strict=True):
            number = int(question.content.split("bird ")[1].split()[0])
            parsed = EXPLAIN.parse(run, called(EXPLAIN, run, instance.pk), reply.content)
            assert parsed == {
                "explanation": f"Bird {number} has wings of kind {number}.",
                "output": ("yes", "no")[number % 2],
            }
            assert part_by_key(f"q{number}") == "train"
        shown[instance.key] = tuple(message.content for message in chat[1:-1])
    assert len(set(shown.values())) > 30, "another draw for each"
    again = demonstrations_draw(dataset, list(dataset.instances.filter(key="q1")), 6)
    assert [
        f"Can bird {one.key[1:]} fly?" in text
        for one, text in zip(next(iter(again.values())), shown["q1"][::2], strict=True)
    ] == [True] * 6


def test_too_few_rationales_are_refused_before_anything_is_asked(
    dataset: Dataset, endpoint: Endpoint
) -> None:
    held = sum(part_by_key(f"q{n}") == "train" for n in range(40))
    with pytest.raises(ValidationError, match=f"the dataset has {held}"):
        drafted(EXPLAIN, dataset, endpoint, method="answer_reason", demonstrations=held)
    assert drafted(EXPLAIN, dataset, endpoint, method="answer_reason", demonstrations=held - 1)


def test_drawing_takes_as_many_queries_for_one_question_as_for_all(
    dataset: Dataset, endpoint: Endpoint, django_assert_num_queries: Any
) -> None:
    run = drafted(EXPLAIN, dataset, endpoint, method="answer_reason", demonstrations=6)
    calls = [
        ClaimedCall.of_job(Job("k", None, one.pk), pk=n) for n, one in enumerate(dataset.instances.all())
    ]
    for batch in (calls[:1], calls):
        with django_assert_num_queries(5):
            EXPLAIN.load(run, batch)


@pytest.mark.parametrize("method", ["cot", "post_hoc", "answer_reason"])
def test_a_letter_that_the_question_does_not_offer_is_no_answer(
    dataset: Dataset, endpoint: Endpoint, method: str
) -> None:
    """It would otherwise become material that no study accepts, after everything has been paid for."""
    asked = Instance(input="Which bird swims?\nA: the owl\nB: the penguin\nC: the hawk")
    for step in (EXPLAIN, OUTPUTS):
        run = drafted(EXPLAIN, dataset, endpoint, task="multiple_choice", method=method, system="s")
        thing = asked if step is EXPLAIN else FollowUp(text=asked.input)
        call = replace(ClaimedCall.of_job(Job(key="a", subject=1)), thing=thing)
        form = (
            "Penguins dive for fish. So the answer is {}."
            if method == "cot"
            else "Answer: {}\nReason: It dives."
        )
        assert step.parse(run, call, form.format("B"))["output"] == "B"
        with pytest.raises(Unparsable, match="the question offers A, B, C, not H"):
            step.parse(run, call, form.format("H"))
