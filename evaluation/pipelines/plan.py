"""The calls and cost of a pipeline before it starts: an upper bound for each step. Nothing is written or sent."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from annotator.hit_types.base import JSON
from evaluation.models import Endpoint
from evaluation.pipelines.contract import PlannedMaterial, PlannedStep, StepPlan, step_kind
from evaluation.pipelines.endpoints import simulators_named, step_endpoint, with_slots
from evaluation.pipelines.slots import filled, left_out_for, options_with, slots_named


def pipeline_plan(
    *,
    content: JSON,
    instances: int,
    longest: int,
    endpoint: Endpoint,
    overrides: JSON | None = None,
    workspace_id: int | None = None,
) -> list[StepPlan]:
    """The steps of a recipe on ``instances`` instances whose longest input has ``longest`` characters.

    Calls are upper bounds: every instance is explained, every reply can be parsed, nothing is a duplicate, every
    question passes validation. Costs assume that every reply is as long as allowed, at each step's own endpoint; retries
    are not included. Raises ``ValidationError`` (overrides) for an endpoint that the workspace may not use.
    """
    overrides = with_slots(overrides or {}, workspace_id=workspace_id)
    slots = slots_named(overrides)
    simulators = simulators_named(overrides=overrides, endpoint=endpoint, workspace_id=workspace_id)
    material = PlannedMaterial(instances, longest)
    plans: list[StepPlan] = []
    for step in content["steps"]:
        if why := left_out_for(step, slots):
            plans.append(StepPlan(step["name"], step["kind"], note=f"left out: {why}"))
            continue
        options = options_with(step, slots) | overrides.get(step["name"], {})
        planned = PlannedStep(
            content=step,
            options=filled(options, endpoint.model, slots),
            task=str(content["task"]),
            endpoint=step_endpoint(
                step=step, overrides=overrides, endpoint=endpoint, workspace_id=workspace_id
            ),
            simulators=simulators,
            material=material,
        )
        plans.append(step_kind(step["kind"]).plan(planned))
    return plans


def likely_cost(plans: Sequence[StepPlan]) -> tuple[Decimal, Decimal, Decimal] | None:
    """The likely cost of all steps and its range (likely, low, high); None unless it is known for every step that asks a model."""
    asking = [plan for plan in plans if plan.calls]
    costs = [
        (plan.likely, plan.low, plan.high)
        for plan in asking
        if plan.likely is not None and plan.low is not None and plan.high is not None
    ]
    if not asking or len(costs) < len(asking):
        return None
    likely, low, high = (sum(column, Decimal(0)) for column in zip(*costs, strict=True))
    return likely, low, high
