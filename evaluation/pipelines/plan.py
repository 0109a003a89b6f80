"""The calls and cost of a pipeline before it starts: an upper bound for each step. Nothing is written or sent."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Any

from annotator.hit_types.base import JSON
from annotator.hit_types.registry import hit_type_get
from evaluation.models import Endpoint
from evaluation.pipelines.endpoints import SECOND, simulators_named, step_endpoint
from evaluation.pipelines.material_run import prompt_of
from evaluation.pipelines.recipe import OTHER_KINDS, filled
from evaluation.pipelines.steps.follow_ups import KINDS, ONE_AT_A_TIME, USUAL_NUMBER
from evaluation.runs.registry import step_get

MILLION = Decimal(1_000_000)
#: Characters that a reply of an earlier step may add to a prompt.
EARLIER = 3_000


@dataclass(frozen=True)
class StepPlan:
    """One step: at most this many calls, and at most this cost in the currency of the endpoint's prices."""

    name: str
    kind: str
    calls: int
    cost: Decimal
    note: str = ""


@dataclass
class _MaterialCounts:
    """The most material that can exist after the steps so far."""

    instances: int
    explanations: dict[str, int]
    follow_ups: dict[str, int]
    questions: int = 0
    checks: int = 0


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
    overrides = overrides or {}
    second = str(overrides.get("*", {}).get("second") or "")
    simulators = simulators_named(overrides=overrides, endpoint=endpoint, workspace_id=workspace_id)
    counts = _MaterialCounts(instances, {}, {})
    plans: list[StepPlan] = []
    items: dict[str, tuple[int, str]] = {}
    for step in content["steps"]:
        own = step.get("options", {})
        if not second and "without_second" in step:
            if step["without_second"] is None:
                plans.append(StepPlan(step["name"], step["kind"], 0, Decimal(0), "left out: no second model"))
                continue
            own = own | step["without_second"]
        if simulators and step["kind"] == "simulate" and step.get("options", {}).get("model") == SECOND:
            note = "left out: the pipeline names its simulators"
            plans.append(StepPlan(step["name"], step["kind"], 0, Decimal(0), note))
            continue
        options: JSON = filled(own | overrides.get(step["name"], {}), endpoint.model, second)
        task = str(content["task"])
        calls, note = _calls(step["kind"], task, options, counts, items)
        if step["kind"] == "study":
            items[step["name"]] = (calls, str(options["hit_type"]))
            calls, note = 0, f"at most {calls:,} items"
        cost = Decimal(0)
        if calls and step["kind"] not in OTHER_KINDS:
            places = [asked.endpoint for asked in simulators] if step["kind"] == "simulate" else []
            places = places or [
                step_endpoint(step=step, overrides=overrides, endpoint=endpoint, workspace_id=workspace_id)
            ]
            each = [_cost_of_one(step["kind"], task, options, items, longest, place) for place in places]
            cost = (sum(each, Decimal(0)) * calls).quantize(Decimal("0.0001"), ROUND_UP)
            calls *= len(places)
        plans.append(StepPlan(step["name"], step["kind"], calls, cost, note))
    return plans


def _systems(options: JSON, held: dict[str, int]) -> list[str]:
    named = options.get("systems") or list(held)
    return [name for name in dict.fromkeys(named) if name in held]


def _calls(
    kind: str, task: str, options: JSON, counts: _MaterialCounts, items: dict[str, Any]
) -> tuple[int, str]:
    """The most calls (for a study: items) of a step; updates ``counts``."""
    n = int(options.get("n", USUAL_NUMBER.get(task, 5)))
    if kind == "explain":
        made = counts.instances * int(options.get("samples", 1))
        name = str(options.get("system", options.get("method")))
        counts.explanations[name] = counts.explanations.get(name, 0) + made
        two = options.get("method") == "post_hoc" and task in ("yes_no", "preference", "multiple_choice")
        return (0, "no calls") if options.get("method") == "gold" else (made * (2 if two else 1), "")
    if kind == "counterfactuals":
        names = _systems(options, counts.explanations)
        for name in names:
            counts.follow_ups[name] = counts.follow_ups.get(name, 0) + n * counts.explanations[name]
        explained = sum(counts.explanations[name] for name in names)
        single = task in ONE_AT_A_TIME and options.get("way", "explained") == "explained"
        return explained * (n if single else 1), ""
    if kind == "generalization":
        counts.questions = counts.instances * len(options.get("kinds", KINDS)) * int(options.get("n", 5))
        return counts.questions, ""
    if kind in ("outputs", "from_explanation"):
        made = counts.follow_ups.get(str(options.get("system")), 0)
        counts.checks += made if kind == "from_explanation" else 0
        return made, ""
    if kind == "units":
        return sum(counts.explanations[name] for name in _systems(options, counts.explanations)), ""
    if kind == "gen_u":
        return counts.questions, ""
    if kind == "reward":
        per_instance = counts.questions // max(counts.instances, 1)
        return counts.explanations.get(str(options.get("system")), 0) * per_instance, ""
    if kind == "study":
        return _items(options, counts), ""
    if kind == "simulate":
        made, hit_type = items.get(str(options.get("study")), (0, ""))
        return (made * hit_type_get(hit_type).most_stages if made else 0), ""
    return 0, "waits for people" if kind == "validate" and options.get("by", "people") == "people" else ""


def _items(options: JSON, counts: _MaterialCounts) -> int:
    explanations = [counts.explanations[name] for name in _systems(options, counts.explanations)]
    made_from = hit_type_get(str(options["hit_type"])).made_from
    if made_from == "follow_ups":
        names = _systems(options, counts.follow_ups)
        return sum(counts.follow_ups[name] for name in names) + (
            counts.checks if options.get("sanity") else 0
        )
    if made_from == "questions":
        return counts.questions
    if made_from == "explained_questions":
        return sum(explanations) * (counts.questions // max(counts.instances, 1))
    return counts.instances if made_from == "instances" else sum(explanations)


def _cost_of_one(
    kind: str, task: str, options: JSON, items: dict[str, Any], longest: int, endpoint: Endpoint
) -> Decimal:
    """The most that one call can cost: every byte of its prompt an input token, and the longest reply allowed."""
    if kind == "simulate":
        _, hit_type = items.get(str(options.get("study")), (0, ""))
        size = len(hit_type_get(hit_type).prompt_text.encode()) if hit_type else 0
    else:
        size = len(prompt_of(kind, task).encode())
    tokens_out = int((options.get("parameters") or {}).get("max_tokens") or step_get(kind).max_tokens)
    tokens_in = size + longest + EARLIER
    return (endpoint.price_in * tokens_in + endpoint.price_out * tokens_out) / MILLION
