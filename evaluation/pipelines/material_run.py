"""Create runs that make material. They use the step's own prompt file unless another text is given; choices are checked
first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError

from annotator.models import Dataset
from evaluation.models import Endpoint, Run
from evaluation.pipelines.steps.material import MaterialStep, OptionError
from evaluation.prompts import prompt_file
from evaluation.runs.create import RunPlan, run_draft, run_save
from evaluation.runs.registry import step_get

#: Steps that use another step's prompt files.
_FOLDER = {"outputs": "explain", "from_explanation": "outputs", "reward": "gen_u"}


def prompt_of(kind: str, task: str) -> str:
    """The prompt file that a material step uses for a task; raises ``KeyError``."""
    return prompt_file(_FOLDER.get(kind, kind), task)


def material_run_draft(
    *,
    kind: str,
    dataset: Dataset | None,
    endpoint: Endpoint,
    plan: RunPlan | None = None,
    options: dict[str, Any] | None = None,
) -> Run:
    """An unsaved run of a material step over a dataset; nothing is written.

    Raises ``ValidationError`` keyed by field, and ``NothingToAsk``.
    """
    options, plan = options or {}, plan or RunPlan()
    try:
        step = step_get(kind)
        prompt = plan.prompt or prompt_of(kind, str(options.get("task", "yes_no")))
    except KeyError as error:
        raise ValidationError({"kind": str(error.args[0])}) from None
    if not isinstance(step, MaterialStep):
        raise ValidationError({"kind": f"{kind} makes no material"})
    try:
        samples, sampled = step.sampling(options)
        parameters = step.defaults | sampled | plan.parameters
        plan = replace(plan, prompt=prompt, parameters=parameters, samples=max(samples, plan.samples))
        return run_draft(kind=kind, endpoint=endpoint, plan=plan, dataset=dataset, options=options)
    except OptionError as error:
        raise ValidationError({"options": str(error)}) from None


def material_run_create(
    *,
    kind: str,
    dataset: Dataset | None,
    endpoint: Endpoint,
    plan: RunPlan | None = None,
    options: dict[str, Any] | None = None,
) -> Run:
    """A run of a material step over a dataset, not yet started; raises like ``material_run_draft``."""
    draft = material_run_draft(kind=kind, dataset=dataset, endpoint=endpoint, plan=plan, options=options)
    return run_save(run=draft)
