"""The models that a recipe names besides the endpoint's own: a second and a third studied one, and the evaluator.

The evaluator writes and judges for all models that are compared, so that they differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from annotator.hit_types.base import JSON

#: The key of overrides that apply to the whole pipeline.
ALL_STEPS = "*"
#: Slots whose models are studied: without one, its steps are left out or have other options (``without_second``).
STUDIED = ("second", "third")
#: All slots; one that isn't named is the endpoint's own model.
SLOTS = (*STUDIED, "evaluator")


def slots_named(overrides: Mapping[str, Any]) -> dict[str, str]:
    """The models that a pipeline's overrides name, by slot.

    >>> slots_named({"*": {"second": "gpt-4", "third": ""}})
    {'second': 'gpt-4'}
    """
    whole = overrides.get(ALL_STEPS, {})
    return {slot: str(whole[slot]) for slot in SLOTS if whole.get(slot)}


def slot_asked(content: JSON) -> str:
    """The slot whose model a step of a recipe asks; empty for the endpoint's own and for a model by name.

    >>> slot_asked({"options": {"model": "{second}"}})
    'second'
    """
    model = content.get("options", {}).get("model")
    return next((slot for slot in SLOTS if model == f"{{{slot}}}"), "")


def left_out_for(content: JSON, slots: Mapping[str, str]) -> str:
    """Why a step is left out, as a recipe says with ``"without_second": null`` and ``"with_second": null``; empty if it isn't.

    >>> left_out_for({"without_second": None}, {}), left_out_for({"with_second": None}, {"second": "gpt-4"})
    ('no second model', 'only without a second model')
    """
    for slot in STUDIED:
        if slot not in slots and content.get(f"without_{slot}", {}) is None:
            return f"no {slot} model"
        if slot in slots and content.get(f"with_{slot}", {}) is None:
            return f"only without a {slot} model"
    return ""


def options_with(content: JSON, slots: Mapping[str, str]) -> JSON:
    """A step's own options, changed as the recipe says where a studied model isn't named."""
    found: JSON = dict(content.get("options", {}))
    for slot in STUDIED:
        if slot not in slots:
            found |= content.get(f"without_{slot}") or {}
    return found


def combinations_of_slots() -> Iterator[dict[str, str]]:
    """Every way in which studied models can be named or not, for checks of a recipe."""
    for size in range(len(STUDIED) + 1):
        for named in combinations(STUDIED, size):
            yield dict.fromkeys(named, "model")


def filled(
    value: Any, model: str, slots: Mapping[str, str] | None = None, pipeline: int | None = None
) -> Any:
    """A step's choices with ``{model}``, the slots and ``{pipeline}``, the pipeline's number, filled in.

    A slot without a model is filled with the endpoint's own. Before there is a pipeline, its number is left as it is.

    >>> filled({"system": "{model} · post-hoc {pipeline}", "generator": "{second}"}, "gpt", pipeline=7)
    {'system': 'gpt · post-hoc 7', 'generator': 'gpt'}
    """
    if isinstance(value, str):
        named = value.replace("{model}", model)
        for slot in SLOTS:
            named = named.replace(f"{{{slot}}}", (slots or {}).get(slot) or model)
        return named if pipeline is None else named.replace("{pipeline}", str(pipeline))
    if isinstance(value, list):
        return [filled(held, model, slots, pipeline) for held in value]
    if isinstance(value, dict):
        return {key: filled(held, model, slots, pipeline) for key, held in value.items()}
    return value
