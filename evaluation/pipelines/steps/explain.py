"""Explanations with the outputs that they go with: reasoning first, answer first, or for a fixed answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON, ChatMessage, prompt_part
from annotator.models import Dataset, Explanation, Instance
from evaluation.models import Call, Endpoint, Report, Run
from evaluation.pipelines.contract import CurrentStep, PlannedStep, StepInRecipe, StepPlan
from evaluation.pipelines.drawn_demonstrations import (
    demonstrations_draw,
    demonstrations_fault,
    with_demonstrations,
)
from evaluation.pipelines.material import (
    GENERATION,
    METHODS,
    OUTPUT_LABEL,
    MaterialStep,
    asked_twice,
    check_offered,
    form_of,
    instances,
    other_answer,
    results,
    system_made,
    task_of,
)
from evaluation.pipelines.material_write import GOLD, gold_explanations
from evaluation.pipelines.option_checks import (
    OptionError,
    any_text,
    number_between,
    one_of,
    true_or_false,
    whole_number,
)
from evaluation.prompts import shown
from evaluation.prompts.replies import answer_of, labelled, marked_answer, reasoning_then_answer, reasons
from evaluation.prompts.rewards import conditioned
from evaluation.runs.create import RunPlan
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form


class Explain(MaterialStep):
    """An explanation of each instance by one system.

    ``method``: *cot* reasons and then answers; *post_hoc* answers and then gives reasons, in one reply or, with ``calls`` 2, in
    two (generation: always in one); *answer_reason* does so with the prompt of Joshi et al.; *forced* asks for reasons
    for the answer that ``base``, a post-hoc system, did not give, by default only where ``base`` was right; *gold* asks
    nothing and takes the dataset's own rationales. ``part`` uses only the train, validation or test part of the dataset,
    ``samples`` asks several times, ``reward`` conditions on a reward token. ``demonstrations`` draws this many for each question, from the
    training part's gold rationales, instead of those of the prompt.
    """

    name = "explain"
    title = "Explanations"
    makes = "explanations"
    words = MaterialStep.words | {"explanations": ("gold rationale", "gold rationales")}
    options = MaterialStep.options | {
        "method": one_of(*METHODS, GOLD),
        "system": any_text,
        "label": any_text,
        "base": any_text,
        "only_right": true_or_false,
        "part": one_of("all", "train", "validation", "test"),
        "samples": whole_number(1, 100),
        "temperature": number_between(0, 2),
        "top_p": number_between(0, 1),
        "reward": whole_number(0, 100),
        "calls": whole_number(1, 2),
        "demonstrations": whole_number(1, 32),
    }
    at_zero = True
    max_tokens = 700
    subject = (Instance,)

    def check(self, step: StepInRecipe) -> None:
        super().check(step)
        method = step.options.get("method", "cot")
        if step.task in GENERATION and method in ("forced", "answer_reason"):
            raise OptionError(f"method: {method} needs a task with answers to choose from")
        if "calls" in step.options and (method != "post_hoc" or step.task in GENERATION):
            raise OptionError("calls: only post_hoc with answers to choose from can be asked in two calls")
        drawn = "demonstrations" in step.options
        if drawn and (
            method in ("forced", GOLD) or step.task in GENERATION or step.options.get("calls") == 2
        ):
            raise OptionError("demonstrations: only answers with reasons in one reply can be demonstrated")
        if drawn and "reward" in step.options:
            raise OptionError("demonstrations: a model tuned on rewards is asked without any")
        if method == "forced" and not step.options.get("base"):
            raise OptionError(
                "base: forced explanations need the post-hoc system whose answers they contradict"
            )
        if method == GOLD and step.before is None:
            raise OptionError("method: gold rationales are in the dataset; there is nothing to ask about")

    def plan(self, step: PlannedStep) -> StepPlan:
        plan = super().plan(step)
        return step.plan(note="no calls") if _is_gold(step.options) else plan

    def most_calls(self, step: PlannedStep) -> int:
        made = step.material.instances * int(step.options.get("samples", 1))
        name = str(step.options.get("system", step.options.get("method")))
        step.material.explanations[name] = step.material.explanations.get(name, 0) + made
        return made * int(step.options.get("calls", 1))

    def advance(self, step: CurrentStep) -> JSON | None:
        if _is_gold(step.options):
            return {"explanations": gold_explanations(dataset=step.pipeline.dataset)}
        return super().advance(step)

    def repeat(self, step: CurrentStep, choices: JSON) -> Run | Report:
        if _is_gold(step.options):
            raise ValidationError(
                {"name": f"{step.name}: gold rationales are in the dataset; there is nothing to ask about"}
            )
        return super().repeat(step, choices)

    def sampling(self, options: JSON) -> tuple[int, JSON]:
        """``samples`` of each request (one by default), with ``temperature`` and ``top_p`` if they are given."""
        given = {name: options.get(name) for name in ("temperature", "top_p")}
        return options.get("samples", 1), {name: value for name, value in given.items() if value is not None}

    def run_draft(self, *, owner: Dataset | None, endpoint: Endpoint, plan: RunPlan, options: JSON) -> Run:
        count = options.get("demonstrations")
        if owner is not None and isinstance(count, int) and (fault := demonstrations_fault(owner, count)):
            raise ValidationError({"options": f"demonstrations: {fault}"})
        return super().run_draft(owner=owner, endpoint=endpoint, plan=plan, options=options)

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        found = super().load(run, calls)
        count = run.options.get("demonstrations")
        if count is not None and run.dataset is not None:
            drawn = demonstrations_draw(run.dataset, found.values(), int(count))
            for instance in found.values():
                instance.demonstrations = drawn[instance.pk]
        return found

    def messages(self, run: Run, call: ClaimedCall) -> list[ChatMessage]:
        """The chat; with the choice ``reward``, the chat for a model tuned on rewards, without demonstrations."""
        chat = super().messages(run, call)
        if drawn := getattr(call.thing, "demonstrations", None):
            prompt, form = prompt_part(run.prompt, self.part(run, call)), self.form(run, call)
            chat = with_demonstrations(prompt, chat, drawn, form=form, task=task_of(run))
        quantile = run.options.get("reward")
        return chat if quantile is None else conditioned(chat, int(quantile))

    def schema(self, run: Run, call: ClaimedCall) -> JSON | None:
        """None for a model tuned on rewards: it was trained on plain replies."""
        return super().schema(run, call) if run.options.get("reward") is None else None

    def jobs(self, run: Run) -> Iterator[Job]:
        if _method(run) == "forced":
            yield from self._forced(run)
            return
        for instance in instances(run).only("pk", "key").iterator(2000):
            yield Job(key=instance.key, subject=instance.pk)

    def _forced(self, run: Run) -> Iterator[Job]:
        base = Explanation.objects.filter(instance__dataset=run.dataset, system__name=run.options["base"])
        only_right = bool(run.options.get("only_right", True))
        for found in base.select_related("instance").order_by("pk").iterator(2000):
            if only_right and found.output != found.instance.gold_label:
                continue
            other = other_answer(found.output, task_of(run), found.instance.input)
            yield Job(key=found.instance.key, subject=found.instance_id, context={"output": other})

    def part(self, run: Run, call: ClaimedCall) -> str:
        method = _method(run)
        if method == "forced":
            return "because"
        if method != "post_hoc" or not asked_twice(run):
            return method
        return "because" if call.stage else "answer"

    def form(self, run: Run, call: ClaimedCall) -> Form:
        return form_of(task_of(run), self.part(run, call))

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        return {"input": call.thing.input, "output": shown(call.context.get("output", ""))}

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        task, part = task_of(run), self.part(run, call)
        if task in GENERATION:
            pieces = labelled(text, ["Explanation", OUTPUT_LABEL[task]])
            return {"explanation": pieces["Explanation"], "output": pieces[OUTPUT_LABEL[task]]}
        if part == "because":
            return {"explanation": reasons(text), "output": call.context["output"]}
        if part == "answer":
            parsed = {"output": marked_answer(text, task)}
        elif part in ("answer_reason", "post_hoc"):
            pieces = labelled(text, ["Answer", "Reason"])
            parsed = {"explanation": pieces["Reason"], "output": answer_of(pieces["Answer"], task)}
        else:
            explanation, output = reasoning_then_answer(text, task)
            parsed = {"explanation": explanation, "output": output}
        if task == "multiple_choice":
            check_offered(parsed["output"], call.thing.input)
        return parsed

    def after(self, run: Run, call: ClaimedCall, parsed: JSON) -> Job | None:
        if "explanation" in parsed:
            return None
        return Job(call.key, None, call.subject, call.sample, call.stage + 1, {"output": parsed["output"]})

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        method = str(run.options.get("label", _method(run)))
        name = str(run.options.get("system") or f"{run.model} · {method.replace('_', '-')}")
        system = system_made(run, name, method)
        rows = [
            Explanation(
                instance_id=instance,
                system=system,
                text=parsed["explanation"],
                output=parsed["output"],
                digest=text_digest(parsed["explanation"], parsed["output"]),
            )
            for _, instance, parsed in results(groups)
        ]
        Explanation.objects.bulk_create(rows, ignore_conflicts=True)


def _method(run: Run) -> str:
    return str(run.options.get("method", "cot"))


def _is_gold(options: JSON) -> bool:
    return bool(options.get("method") == GOLD)
