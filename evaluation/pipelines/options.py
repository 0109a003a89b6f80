"""The options of a pipeline's step: the recipe's, with the pipeline's overrides, models and systems."""

from __future__ import annotations

import re

from annotator.hit_types.base import JSON
from evaluation.core.step_kinds import STEP_KINDS, kinds_making
from evaluation.models import Pipeline
from evaluation.pipelines.slots import filled, left_out_for, options_with, slots_named
from evaluation.selectors.material import VALIDATED

#: A model that a fine_tune step made.
TUNED = re.compile(r"\{tuned ([\w-]+)\}")


def step_options(pipeline: Pipeline, step: JSON) -> JSON:
    """The recipe's options for a step, with the pipeline's overrides, models and systems filled in."""
    slots = slots_named(pipeline.overrides)
    chosen = options_with(step, slots) | pipeline.overrides.get(step["name"], {})
    options: JSON = filled(chosen, pipeline.endpoint.model, slots, pipeline.pk)
    options = _with_tuned(pipeline, options)
    if options.get("questions") == VALIDATED:
        options["validation"] = _validation_study(pipeline, step)
    if STEP_KINDS.get(step["kind"]).of_systems:
        named = options.get("systems") or _systems(pipeline)
        options["systems"] = list(dict.fromkeys(named))  # without a second model, several names become one
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


def _validation_study(pipeline: Pipeline, step: JSON) -> str:
    """The slug of the study that the last validate step before this one counted; empty if it was left out."""
    study = ""
    for earlier in pipeline.recipe.content["steps"]:
        if earlier["name"] == step["name"]:
            break
        if earlier["kind"] in kinds_making("verdicts"):
            named = step_options(pipeline, earlier)["study"]
            study = str(pipeline.results.get(named, {}).get("study", ""))
    return study


def _systems(pipeline: Pipeline) -> list[str]:
    """The systems that this pipeline's explanations come from; the dataset may contain other pipelines' explanations
    too."""
    kinds = kinds_making("explanations")
    slots = slots_named(pipeline.overrides)
    explaining = [
        step
        for step in pipeline.recipe.content["steps"]
        if step["kind"] in kinds and not left_out_for(step, slots)
    ]
    named = [step_options(pipeline, step).get("system") for step in explaining]
    return [str(name) for name in named] if all(named) else []
