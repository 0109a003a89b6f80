"""Runs that make material: the step's own prompt file unless another text is given, its choices checked first."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError

from annotator.models import Dataset, User
from evaluation.models import Endpoint, Pipeline, Run
from evaluation.pipelines.registry import step_get
from evaluation.pipelines.steps.material import MaterialStep, OptionError
from evaluation.prompts import prompt_file
from evaluation.runs.lifecycle import run_create

#: Steps that use another step's prompt files.
_FOLDER = {"outputs": "explain", "from_explanation": "outputs"}


def material_run_create(
    *,
    kind: str,
    dataset: Dataset,
    endpoint: Endpoint,
    options: dict[str, Any] | None = None,
    prompt: str = "",
    model: str = "",
    parameters: dict[str, Any] | None = None,
    budget_calls: int | None = None,
    budget_cost: Decimal | None = None,
    workers: int = 1,
    use_cache: bool = True,
    mode: str = Run.Mode.LIVE,
    pipeline: Pipeline | None = None,
    created_by: User | None = None,
) -> Run:
    """A run of a material step over a dataset, not yet started; raises ``ValidationError`` keyed by field."""
    options = options or {}
    try:
        step = step_get(kind)
        prompt = prompt or prompt_file(_FOLDER.get(kind, kind), str(options.get("task", "yes_no")))
    except KeyError as error:
        raise ValidationError({"kind": str(error.args[0])}) from None
    if not isinstance(step, MaterialStep):
        raise ValidationError({"kind": f"{kind} makes no material"})
    try:
        return run_create(
            kind=kind,
            endpoint=endpoint,
            model=model,
            prompt=prompt,
            dataset=dataset,
            parameters=step.defaults | (parameters or {}),
            options=options,
            budget_calls=budget_calls,
            budget_cost=budget_cost,
            workers=workers,
            use_cache=use_cache,
            mode=mode,
            pipeline=pipeline,
            created_by=created_by,
        )
    except OptionError as error:
        raise ValidationError({"options": str(error)}) from None
