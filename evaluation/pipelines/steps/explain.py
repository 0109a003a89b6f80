"""Explanations with the outputs that they go with: reasoning first, answer first, or for a fixed answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON, ChatMessage
from annotator.models import Explanation, Instance
from evaluation.models import Call, Run
from evaluation.pipelines.steps.material import (
    GENERATION,
    OUTPUT_LABEL,
    MaterialStep,
    OptionError,
    by_subject,
    form_of,
    instances,
    option,
    results,
    shown,
    system_of,
    task_of,
    whole_number,
)
from evaluation.prompts.replies import answer_of, labelled, marked_answer, reasoning_then_answer, reasons
from evaluation.prompts.rewards import conditioned
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form

METHODS = ("cot", "post_hoc", "forced", "answer_reason")


class Explain(MaterialStep):
    """An explanation of each instance by one system.

    ``method``: *cot* reasons and then answers; *post_hoc* answers and then gives reasons, in two calls (in one
    for generation); *answer_reason* does both in one reply, answer first; *forced* asks the post-hoc prompt for reasons
    for the answer that ``base``, a post-hoc system, did not give, by default only where ``base`` was right. ``part``
    uses only the train or test part of the dataset, ``samples`` asks several times, ``reward`` conditions on a reward
    token.
    """

    name = "explain"
    title = "Explanations"
    max_tokens = 700

    def sampling(self, options: JSON) -> tuple[int, JSON]:
        """``samples`` of each request (one by default), at ``temperature`` if it is given."""
        samples = whole_number(options.get("samples", 1), "samples")
        heat = options.get("temperature")
        return samples, {} if heat is None else {"temperature": heat}

    def messages(self, run: Run, call: ClaimedCall) -> list[ChatMessage]:
        """The chat; with the choice ``reward``, the chat for a model tuned on rewards, without demonstrations."""
        chat = super().messages(run, call)
        quantile = run.options.get("reward")
        return chat if quantile is None else conditioned(chat, int(quantile))

    def schema(self, run: Run, call: ClaimedCall) -> JSON | None:
        """None for a model tuned on rewards: it was trained on plain replies."""
        return super().schema(run, call) if run.options.get("reward") is None else None

    def check(self, run: Run) -> None:
        super().check(run)
        method = option(run, "method", METHODS, "cot")
        if task_of(run) in GENERATION and method in ("forced", "answer_reason"):
            raise OptionError(f"method: {method} needs a task with answers to choose from")
        if method == "forced" and not run.options.get("base"):
            raise OptionError(
                "base: forced explanations need the post-hoc system whose answers they contradict"
            )

    def jobs(self, run: Run) -> Iterator[Job]:
        self.check(run)
        if option(run, "method", METHODS, "cot") == "forced":
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

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        return by_subject(Instance, calls)

    def part(self, run: Run, call: ClaimedCall) -> str:
        method = option(run, "method", METHODS, "cot")
        if method == "forced":
            return "because"
        if method != "post_hoc" or task_of(run) in GENERATION:
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
        if part == "answer":
            return {"output": marked_answer(text, task)}
        if part == "because":
            return {"explanation": reasons(text), "output": call.context["output"]}
        if part == "answer_reason":
            pieces = labelled(text, ["Answer", "Reason"])
            return {"explanation": pieces["Reason"], "output": answer_of(pieces["Answer"], task)}
        explanation, output = reasoning_then_answer(text, task)
        return {"explanation": explanation, "output": output}

    def after(self, run: Run, call: ClaimedCall, parsed: JSON) -> Job | None:
        if "explanation" in parsed:
            return None
        return Job(call.key, None, call.subject, call.sample, call.stage + 1, {"output": parsed["output"]})

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        method = option(run, "method", METHODS, "cot")
        system = system_of(run, option(run, "label", default=method))
        rows = []
        for _, instance, parsed in results(groups):
            text, output = parsed["explanation"], parsed["output"]
            rows.append(
                Explanation(
                    instance_id=instance,
                    system=system,
                    text=text,
                    output=output,
                    digest=text_digest(text, output),
                )
            )
        Explanation.objects.bulk_create(rows, ignore_conflicts=True)


def other_answer(output: str, task: str, question: str) -> str:
    """An answer that was not chosen; if there are several, the next letter that the question offers.

    >>> other_answer("yes", "yes_no", ""), other_answer("B", "multiple_choice", "Which?\\nA: one\\nB: two")
    ('no', 'A')
    """
    if task == "yes_no":
        return "no" if output == "yes" else "yes"
    if task == "preference":
        return "response_2" if output == "response_1" else "response_1"
    letters = [
        line[0] for line in question.splitlines() if len(line) > 1 and line[1] == ":" and line[0].isupper()
    ]
    rest = [letter for letter in letters if letter != output]
    if not rest:
        raise OptionError(f"the question offers no answer besides {output}")
    later = [letter for letter in rest if letter > output]
    return (later or rest)[0]
