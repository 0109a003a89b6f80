"""The options and budget of a pipeline's step: the recipe's, with the pipeline's overrides and models."""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, Decimal
from typing import Any

from annotator.hit_types.base import JSON
from evaluation.models import Pipeline
from evaluation.pipelines.endpoints import ALL_STEPS as ALL_STEPS
from evaluation.pipelines.recipe import filled
from evaluation.pipelines.training import tuning_spent
from evaluation.selectors.material import VALIDATED

#: A model that a fine_tune step made.
TUNED = re.compile(r"\{tuned ([\w-]+)\}")
#: Kinds of step that work on explanations; if the recipe names no systems, on those of the pipeline's own.
OF_SYSTEMS = frozenset({"counterfactuals", "units", "study"})


def step_options(pipeline: Pipeline, step: JSON) -> JSON:
    """The recipe's options for a step, with the pipeline's overrides, models and systems filled in."""
    own = step.get("options", {})
    if not second_model(pipeline):
        own = own | (step.get("without_second") or {})
    chosen = own | pipeline.overrides.get(step["name"], {})
    options: JSON = filled(chosen, pipeline.endpoint.model, second_model(pipeline), pipeline.pk)
    options = _with_tuned(pipeline, options)
    if options.get("questions") == VALIDATED:
        options["validation"] = _validation_study(pipeline, step)
    if step["kind"] in OF_SYSTEMS:
        named = options.get("systems") or _systems(pipeline)
        options["systems"] = list(dict.fromkeys(named))  # without a second model, two names become one
    return options


def _with_tuned(pipeline: Pipeline, options: JSON) -> JSON:
    """Replace the model ``{tuned STEP}`` with the one that STEP made; until then, with the pipeline's own model and no
    reward token."""
    named = TUNED.fullmatch(str(options.get("model", "")))
    if named is None:
        return options
    made = pipeline.results.get(named.group(1), {}).get("model")
    if made:
        return options | {"model": made}
    return {key: value for key, value in options.items() if key != "reward"} | {
        "model": pipeline.endpoint.model
    }


def second_model(pipeline: Pipeline) -> str:
    """The name of the second model; empty if the pipeline has none."""
    return str(pipeline.overrides.get(ALL_STEPS, {}).get("second") or "")


def _validation_study(pipeline: Pipeline, step: JSON) -> str:
    """The slug of the study that the last validate step before this one counted; empty if it was left out."""
    study = ""
    for earlier in pipeline.recipe.content["steps"]:
        if earlier["name"] == step["name"]:
            break
        if earlier["kind"] == "validate":
            named = step_options(pipeline, earlier)["study"]
            study = str(pipeline.results.get(named, {}).get("study", ""))
    return study


def _systems(pipeline: Pipeline) -> list[str]:
    """The systems that this pipeline's explanations come from; the dataset may contain other pipelines' explanations
    too."""
    explaining = [step for step in pipeline.recipe.content["steps"] if step["kind"] == "explain"]
    named = [step_options(pipeline, step).get("system") for step in explaining]
    return [str(name) for name in named] if all(named) else []


def step_budget(pipeline: Pipeline, own: Any) -> Decimal | None:
    """The most that a step's run may cost: its own budget, or what is left of the pipeline's if that is less."""
    whole, left = pipeline.overrides.get(ALL_STEPS, {}).get("budget"), None
    if whole is not None:
        used = sum((run.spent_cost + run.lost_cost for run in pipeline.runs.all()), tuning_spent(pipeline))
        left = max(Decimal(str(whole)) - used, Decimal(0))
    return smaller_budget(own, left)


def smaller_budget(own: Any, left: Decimal | None) -> Decimal | None:
    """A step's own budget or what is left of its pipeline's, whichever is less; None if there is neither.

    >>> smaller_budget("2.50", Decimal(1)), smaller_budget(3, None), smaller_budget(None, None)
    (Decimal('1.000000'), Decimal('3.000000'), None)
    """
    limits = [Decimal(str(one)) for one in (own, left) if one is not None]
    return min(limits).quantize(Decimal("0.000001"), ROUND_DOWN) if limits else None
