"""Outputs on follow-ups that are written from the explanation alone (P2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotator.hit_types.base import JSON
from annotator.hit_types.making import SANITY_METHOD
from annotator.models import FollowUp
from evaluation.models import Call, Run
from evaluation.pipelines.contract import PlannedStep
from evaluation.pipelines.material import (
    GENERATION,
    OUTPUT_LABEL,
    MaterialStep,
    follow_ups_of,
    jobs_about,
    outputs_store,
    sanity_system,
    system_made,
    task_of,
)
from evaluation.pipelines.option_checks import any_text
from evaluation.prompts.replies import labelled
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form


class FromExplanation(MaterialStep):
    """Sanity check (P2): outputs on follow-ups written from the explanation itself; precision on them must be 1.

    They are stored under a separate system, ``<system> · from explanation``.
    """

    name = "from_explanation"
    title = "Outputs from the explanation (sanity check)"
    options = MaterialStep.options | {"system": any_text}
    max_tokens = 500
    tasks = GENERATION
    prompts_of = "outputs"
    subject = (FollowUp, "explanation")

    def most_calls(self, step: PlannedStep) -> int:
        made = step.material.follow_ups.get(str(step.options.get("system")), 0)
        step.material.checks += made
        return made

    def jobs(self, run: Run) -> Iterator[Job]:
        return jobs_about(follow_ups_of(run), "f")

    def part(self, run: Run, call: ClaimedCall) -> str:
        return "from_explanation"

    def form(self, run: Run, call: ClaimedCall) -> Form:
        return "output"

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        return {"input": call.thing.text, "explanation": call.thing.explanation.text}

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        label = OUTPUT_LABEL[task_of(run)]
        return {"output": labelled(text, [label])[label]}

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        name = sanity_system(str(run.options.get("system", "")))
        outputs_store(system_made(run, name, SANITY_METHOD), groups)
