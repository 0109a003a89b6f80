"""Which endpoint and model each step of a pipeline asks: its own, the second model's, or those of the simulators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from annotator.hit_types.base import JSON
from evaluation.models import Endpoint, Pipeline
from evaluation.selectors.endpoint import endpoint_named

#: The key of overrides that apply to the whole pipeline.
ALL_STEPS = "*"
SECOND = "{second}"


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
    """The endpoint of a step: its own ``endpoint``, for the second model ``second_endpoint``, else the pipeline's."""
    own = step.get("options", {})
    chosen = overrides.get(step["name"], {}).get("endpoint") or own.get("endpoint")
    if not chosen and own.get("model") == SECOND:
        chosen = overrides.get(ALL_STEPS, {}).get("second_endpoint")
    return endpoint_by_name(str(chosen), workspace_id=workspace_id) if chosen else endpoint


def simulators_named(
    *, overrides: JSON, endpoint: Endpoint, workspace_id: int | None
) -> list[ModelAtEndpoint]:
    """The simulators that a pipeline names, each once; empty if it names none and the recipe decides."""
    found: dict[tuple[int, str], ModelAtEndpoint] = {}
    for one in overrides.get(ALL_STEPS, {}).get("simulators") or []:
        name, model = str(one.get("endpoint") or ""), str(one.get("model") or "")
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


def endpoints_check(*, content: JSON, overrides: JSON, endpoint: Endpoint, workspace_id: int | None) -> None:
    """Check that the workspace may use every endpoint that a pipeline names; raises ``ValidationError`` (overrides)."""
    for step in content["steps"]:
        step_endpoint(step=step, overrides=overrides, endpoint=endpoint, workspace_id=workspace_id)
    simulators_named(overrides=overrides, endpoint=endpoint, workspace_id=workspace_id)


def models_studied(pipeline: Pipeline) -> set[str]:
    """The models whose explanations a pipeline studies."""
    return {pipeline.endpoint.model, str(pipeline.overrides.get(ALL_STEPS, {}).get("second") or "")} - {""}
