"""Recipes: the steps of a pipeline. Those that ship with the product are JSON files in ``recipes/``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from annotator.hit_types.base import JSON
from evaluation.core.step_kinds import STEP_KINDS
from evaluation.pipelines.contract import StepInRecipe, step_kind
from evaluation.pipelines.material import TASKS
from evaluation.pipelines.option_checks import OptionError
from evaluation.pipelines.slots import STUDIED, combinations_of_slots, options_with

FOLDER = Path(__file__).parent / "recipes"
MOST_ROUNDS = 50


class RecipeError(ValueError):
    """A recipe that cannot be carried out; the message names the step and the field."""


def recipe_names() -> list[str]:
    """The names of the recipes that ship with the product.

    >>> "p1-yes-no" in recipe_names()
    True
    """
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def recipe_file(name: str) -> JSON:
    """A recipe that ships with the product; raises ``KeyError`` with the known names."""
    if name not in recipe_names():
        raise KeyError(f"no recipe {name!r}; expected one of: {', '.join(recipe_names())}")
    content: JSON = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content | {"steps": _unrolled(content["steps"])}


def recipe_check(content: Any) -> JSON:
    """Check a recipe's shape: named steps of known kinds that refer only to steps before them.

    >>> recipe_check({"name": "x", "task": "yes_no", "steps": []})
    Traceback (most recent call last):
    ...
    evaluation.pipelines.recipe.RecipeError: steps: expected at least one
    """
    if not isinstance(content, dict):
        raise RecipeError("expected a JSON object")
    if content.get("task") not in TASKS:
        raise RecipeError(f"task: {content.get('task')!r} is not one of {', '.join(TASKS)}")
    steps = content.get("steps")
    if not isinstance(steps, list) or not steps:
        raise RecipeError("steps: expected at least one")
    content = content | {"steps": (steps := _unrolled(steps))}
    seen: set[str] = set()
    for number, step in enumerate(steps, 1):
        name = step.get("name") if isinstance(step, dict) else None
        if not isinstance(name, str) or not name:
            raise RecipeError(f"step {number}: name: is missing")
        if name in seen:
            raise RecipeError(f"step {number}: name: {name!r} is used twice")
        if step.get("kind") not in STEP_KINDS.names():
            known = ", ".join(STEP_KINDS.names())
            raise RecipeError(f"{name}: kind: {step.get('kind')!r} is not one of {known}")
        if not isinstance(step.get("options", {}), dict):
            raise RecipeError(f"{name}: options: expected a JSON object")
        for slot in STUDIED:
            if step.get(f"with_{slot}", None) is not None:
                raise RecipeError(f"{name}: with_{slot}: expected null, to leave the step out")
            if not isinstance(step.get(f"without_{slot}", {}), dict | None):
                raise RecipeError(
                    f"{name}: without_{slot}: expected a JSON object, or null to leave the step out"
                )
        for named in combinations_of_slots():
            options = options_with(step, named)
            try:
                step_kind(step["kind"]).check(StepInRecipe(options, content["task"], steps[: number - 1]))
            except OptionError as error:
                raise RecipeError(f"{name}: {error}") from None
        seen.add(name)
    return content


def _unrolled(steps: list[Any]) -> list[Any]:
    """The steps with each block ``{"repeat": n, "steps": [...]}`` expanded; {round} counts from 1, {last} from 0.

    >>> [step["name"] for step in _unrolled([{"repeat": 2, "steps": [{"name": "tune-{round}"}]}])]
    ['tune-1', 'tune-2']
    """
    found: list[Any] = []
    for step in steps:
        if not isinstance(step, dict) or "repeat" not in step:
            found.append(step)
            continue
        times, inner = step["repeat"], step.get("steps")
        if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MOST_ROUNDS:
            raise RecipeError(f"repeat: expected a whole number from 1 to {MOST_ROUNDS}, got {times!r}")
        if not isinstance(inner, list) or not inner:
            raise RecipeError("repeat: steps: expected at least one")
        for number in range(1, times + 1):
            found += _numbered(inner, number)
    return found


def _numbered(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return value.replace("{round}", str(number)).replace("{last}", str(number - 1))
    if isinstance(value, list):
        return [_numbered(held, number) for held in value]
    if isinstance(value, dict):
        return {key: _numbered(held, number) for key, held in value.items()}
    return value
