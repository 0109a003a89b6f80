"""Which endpoint and model each step of a pipeline asks: its own, that of a slot, or those of the simulators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from annotator.hit_types.base import JSON
from evaluation.core.step_kinds import kinds_making
from evaluation.models import Endpoint, Pipeline
from evaluation.pipelines.slots import (
    ALL_STEPS,
    SLOTS,
    STUDIED,
    filled,
    left_out_for,
    options_with,
    slot_asked,
    slots_named,
)
from evaluation.selectors.endpoint import endpoint_named


@dataclass(frozen=True)
class ModelAtEndpoint:
    """A model at an endpoint."""

    endpoint: Endpoint
    model: str


def endpoint_by_name(name: str, *, workspace_id: int | None) -> Endpoint:
    """An endpoint that the workspace may use; raises ``ValidationError`` (overrides)."""
    found = endpoint_named(name=name, workspace_id=workspace_id)
    if found is None:
        raise ValidationError({"overrides": f"The workspace has no endpoint named {name!a}."})
    return found


def step_endpoint(*, step: JSON, overrides: JSON, endpoint: Endpoint, workspace_id: int | None) -> Endpoint:
    """The endpoint of a step: its own ``endpoint``, for the model of a slot such as the second that slot's, else the
    pipeline's."""
    own = step.get("options", {})
    chosen = overrides.get(step["name"], {}).get("endpoint") or own.get("endpoint")
    if not chosen and (slot := slot_asked(step)):
        chosen = overrides.get(ALL_STEPS, {}).get(f"{slot}_endpoint")
    return endpoint_by_name(str(chosen), workspace_id=workspace_id) if chosen else endpoint


def with_slots(overrides: JSON, *, workspace_id: int | None) -> JSON:
    """The overrides with an endpoint's own model in each slot for which an endpoint is named and no model."""
    whole = overrides.get(ALL_STEPS, {})
    found = {
        slot: endpoint_by_name(whole[f"{slot}_endpoint"], workspace_id=workspace_id).model
        for slot in SLOTS
        if whole.get(f"{slot}_endpoint") and not whole.get(slot)
    }
    return overrides | {ALL_STEPS: whole | found} if found else overrides


def simulators_named(
    *, overrides: JSON, endpoint: Endpoint, workspace_id: int | None
) -> list[ModelAtEndpoint]:
    """The simulators that a pipeline names, each once; empty if it names none and the recipe decides."""
    found: dict[tuple[int, str], ModelAtEndpoint] = {}
    for simulator in overrides.get(ALL_STEPS, {}).get("simulators") or []:
        name, model = str(simulator.get("endpoint") or ""), str(simulator.get("model") or "")
        place = endpoint_by_name(name, workspace_id=workspace_id) if name else endpoint
        asked = ModelAtEndpoint(place, model or place.model)
        found.setdefault((place.pk, asked.model), asked)
    return list(found.values())


def simulators_read(text: str) -> list[JSON]:
    """Read a list of simulators, separated by line breaks or commas: ENDPOINT, ENDPOINT MODEL, or a MODEL after a space.

    >>> simulators_read("lab gpt-4o, other")
    [{'endpoint': 'lab', 'model': 'gpt-4o'}, {'endpoint': 'other', 'model': ''}]
    """
    lines = [line.strip() for line in text.replace("\n", ",").split(",")]
    pieces = [line.partition(" ") for line in lines if line]
    return [{"endpoint": name, "model": model.strip()} for name, _, model in pieces]


def simulators_check(value: Any) -> None:
    """Check the shape of the simulators among overrides; raises ``ValidationError`` (overrides)."""
    shape = 'expected a list such as [{"endpoint": "lab", "model": "gpt-4o"}]'
    if not isinstance(value, list) or not all(
        isinstance(one, dict)
        and set(one) <= {"endpoint", "model"}
        and all(isinstance(v, str) for v in one.values())
        for one in value
    ):
        raise ValidationError({"overrides": f"{ALL_STEPS}: simulators: {shape}"})


def overrides_for_all(
    *, slots: Mapping[str, str | None], budget: Any, simulators: str, allow_own_model: bool
) -> JSON:
    """The overrides that apply to the whole pipeline, from what a form or a command was given; without those left empty.

    ``slots`` maps ``second``, ``second_endpoint`` and so on to a model's or an endpoint's name.
    """
    texts = {**slots, "budget": budget}
    chosen: JSON = {name: str(value) for name, value in texts.items() if value not in (None, "")}
    if simulators:
        chosen["simulators"] = simulators_read(simulators)
    if allow_own_model:
        chosen["allow_own_model"] = True
    return {ALL_STEPS: chosen} if chosen else {}


def endpoints_check(*, content: JSON, overrides: JSON, endpoint: Endpoint, workspace_id: int | None) -> None:
    """Check that the workspace may use every endpoint that a pipeline names; raises ``ValidationError`` (overrides)."""
    for step in content["steps"]:
        step_endpoint(step=step, overrides=overrides, endpoint=endpoint, workspace_id=workspace_id)
    simulators_named(overrides=overrides, endpoint=endpoint, workspace_id=workspace_id)


def models_studied(pipeline: Pipeline) -> set[str]:
    """The models whose explanations a pipeline studies."""
    return _studied(pipeline.overrides, pipeline.endpoint)


def _studied(overrides: JSON, endpoint: Endpoint) -> set[str]:
    slots = slots_named(overrides)
    return {endpoint.model, *(slots[slot] for slot in STUDIED if slot in slots)}


def own_model_check(*, content: JSON, overrides: JSON, endpoint: Endpoint, workspace_id: int | None) -> None:
    """Check that no simulator is a model that the pipeline studies, unless ``allow_own_model`` is among the choices for
    the whole pipeline. Raises ``ValidationError`` (simulators).

    A model may find its own explanations easier to follow than others do. The papers' simulators are among the models
    that they study, so it is allowed on request, for designs like theirs.
    """
    overrides = with_slots(overrides, workspace_id=workspace_id)
    whole = overrides.get(ALL_STEPS, {})
    if whole.get("allow_own_model"):
        return
    named = simulators_named(overrides=overrides, endpoint=endpoint, workspace_id=workspace_id)
    chosen = {asked.model for asked in named}
    slots = slots_named(overrides)
    judging = kinds_making("judgments")
    for step in content["steps"] if not named else ():
        if step["kind"] not in judging or left_out_for(step, slots):
            continue
        own = options_with(step, slots)
        options = filled(own | overrides.get(step["name"], {}), endpoint.model, slots)
        place = step_endpoint(step=step, overrides=overrides, endpoint=endpoint, workspace_id=workspace_id)
        chosen.add(str(options.get("model") or place.model))
    if own_models := sorted(chosen & _studied(overrides, endpoint)):
        names = " and ".join(ascii(name) for name in own_models)
        raise ValidationError(
            {
                "simulators": f"{names} would judge explanations of its own. Name other simulators, or allow the studied"
                " models as simulators."
            }
        )
