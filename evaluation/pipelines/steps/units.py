"""Atomic units of explanations, by role (P2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotator.hit_types.base import JSON, Unparsable
from annotator.models import AtomicUnit, Explanation
from evaluation.models import Call, Run
from evaluation.pipelines.contract import PlannedStep
from evaluation.pipelines.material import GENERATION, MaterialStep, explanations, jobs_about, results, task_of
from evaluation.pipelines.option_checks import list_of_texts
from evaluation.prompts.replies import bullets, labelled
from evaluation.runs.step import ClaimedCall, Job
from evaluation.runs.structured import Form


class Units(MaterialStep):
    """Each explanation split into its units: one list for news; the person and the suggestions for medical."""

    name = "units"
    title = "Atomic units"
    of_systems = True
    options = MaterialStep.options | {"systems": list_of_texts}
    max_tokens = 500
    tasks = GENERATION
    subject = (Explanation,)

    def most_calls(self, step: PlannedStep) -> int:
        return sum(step.by_system(step.material.explanations).values())

    def jobs(self, run: Run) -> Iterator[Job]:
        return jobs_about(explanations(run).filter(units__isnull=True), "e")

    def form(self, run: Run, call: ClaimedCall) -> Form:
        return "units" if task_of(run) == "news" else "person_units"

    def values(self, run: Run, call: ClaimedCall) -> dict[str, str]:
        return {"explanation": call.thing.text}

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        if task_of(run) == "news":
            return {"units": [["both", unit] for unit in _distinct(bullets(text))]}
        pieces = labelled(text, ["Person", "Suggestions"])
        units = [["input", unit] for unit in _distinct(bullets(pieces["Person"]))]
        units += [["output", unit] for unit in _distinct(bullets(pieces["Suggestions"]))]
        return {"units": units}

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        AtomicUnit.objects.bulk_create(
            [
                AtomicUnit(explanation_id=explanation, number=n, role=role, text=text)
                for _, explanation, parsed in results(groups)
                for n, (role, text) in enumerate(parsed["units"], 1)
            ],
            ignore_conflicts=True,
        )


def _distinct(units: list[str]) -> list[str]:
    kept = list(dict.fromkeys(units))
    if len(kept) > 50:
        raise Unparsable("more than fifty units are listed")
    return kept
