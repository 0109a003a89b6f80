"""Systems' real outputs on their follow-ups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotator.hit_types.base import JSON
from annotator.hit_types.reading import REFUSAL
from annotator.models import Dataset, FollowUp
from evaluation.models import Call, Endpoint, Run
from evaluation.pipelines.contract import PlannedStep
from evaluation.pipelines.material import (
    GENERATION,
    METHODS,
    OUTPUT_LABEL,
    MaterialStep,
    asked_twice,
    calls_of_system,
    check_offered,
    follow_ups_of,
    form_of,
    jobs_about,
    outputs_store,
    systems_of,
    task_of,
)
from evaluation.pipelines.option_checks import any_text, one_of, whole_number
from evaluation.prompts.replies import answer_of, labelled, marked_answer, reasoning_then_answer
from evaluation.runs.create import RunPlan
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form


class Outputs(MaterialStep):
    """The output of a system on each follow-up of its explanations, with the same prompt that it explained with.

    ``system`` names the system; ``method`` is how it explained, and ``calls`` in how many calls if it was post-hoc: by default in as many
    as the system's explanations. Asked at temperature 0 (Chen et al.'s code), since noise in
    the outputs would count against an explanation's precision.
    """

    name = "outputs"
    title = "Outputs on follow-ups"
    options = MaterialStep.options | {
        "system": any_text,
        "method": one_of(*METHODS),
        "calls": whole_number(1, 2),
    }
    required = ("system",)
    max_tokens = 700
    prompts_of = "explain"
    at_zero = True
    subject = (FollowUp,)

    def run_draft(self, *, owner: Dataset | None, endpoint: Endpoint, plan: RunPlan, options: JSON) -> Run:
        post_hoc = options.get("method") in ("post_hoc", "forced") and options.get("task") not in GENERATION
        if owner is not None and post_hoc and "calls" not in options:
            options = options | {"calls": calls_of_system(owner, str(options.get("system", "")))}
        return super().run_draft(owner=owner, endpoint=endpoint, plan=plan, options=options)

    def most_calls(self, step: PlannedStep) -> int:
        return step.material.follow_ups.get(str(step.options.get("system")), 0)

    def jobs(self, run: Run) -> Iterator[Job]:
        return jobs_about(follow_ups_of(run).exclude(outputs__system__name=run.options["system"]), "f")

    def part(self, run: Run, call: ClaimedCall) -> str:
        method = str(run.options.get("method", "cot"))
        if method not in ("post_hoc", "forced") or task_of(run) in GENERATION:
            return method
        return "answer" if asked_twice(run) else "post_hoc"

    def form(self, run: Run, call: ClaimedCall) -> Form:
        return form_of(task_of(run), self.part(run, call))

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        return {"input": call.thing.text, "output": ""}

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        task, part = task_of(run), self.part(run, call)
        if task in GENERATION:
            return {"output": labelled(text, ["Explanation", OUTPUT_LABEL[task]])[OUTPUT_LABEL[task]]}
        if part == "answer":
            output = marked_answer(text, task)
        elif part in ("answer_reason", "post_hoc"):
            output = answer_of(labelled(text, ["Answer", "Reason"])["Answer"], task)
        else:
            output = reasoning_then_answer(text, task)[1]
        if task == "multiple_choice":
            check_offered(output, call.thing.text)
        return {"output": output}

    def refused(self, run: Run, call: ClaimedCall, text: str) -> JSON | None:
        """A refusal counts as the system's output on this follow-up; for generation tasks, the text of the refusal does."""
        return {"output": text.strip() or REFUSAL} if task_of(run) in GENERATION else {"output": REFUSAL}

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        outputs_store(systems_of(run).get(name=run.options["system"]), groups)
