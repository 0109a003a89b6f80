"""Recipes: the steps of a pipeline. Those that ship with the product are JSON files in ``recipes/``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from annotator.hit_types.base import JSON
from evaluation.selectors.material import VALIDATED

FOLDER = Path(__file__).parent / "recipes"
#: Kinds of step without calls to a model.
OTHER_KINDS = ("study", "validate", "fine_tune", "report")
#: Kinds of step that work on a study made by an earlier step.
OF_A_STUDY = ("simulate", "validate", "report")

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
    from evaluation.pipelines.steps.material import TASKS
    from evaluation.runs.registry import steps as known

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
        kinds = [*known(), *OTHER_KINDS]
        if step.get("kind") not in kinds:
            raise RecipeError(f"{name}: kind: {step.get('kind')!r} is not one of {', '.join(kinds)}")
        if not isinstance(step.get("options", {}), dict):
            raise RecipeError(f"{name}: options: expected a JSON object")
        if not isinstance(step.get("without_second", {}), dict | None):
            raise RecipeError(
                f"{name}: without_second: expected a JSON object, or null to leave the step out"
            )
        if step["kind"] in OF_A_STUDY and step.get("options", {}).get("study") not in seen:
            raise RecipeError(f"{name}: study: names no step before this one")
        together = step.get("options", {}).get("together", [])
        if not isinstance(together, list) or not set(map(str, together)) <= seen:
            raise RecipeError(f"{name}: together: expected a list of steps before this one")
        if step.get("options", {}).get("questions") == VALIDATED and not any(
            earlier["kind"] == "validate" for earlier in steps[: number - 1]
        ):
            raise RecipeError(f"{name}: questions: {VALIDATED} needs a validate step before this one")
        if step.get("options", {}).get("labels_of", name) not in {*seen, name}:
            raise RecipeError(f"{name}: labels_of: expected a simulate step before this one")
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


def filled(value: Any, model: str, second: str = "", pipeline: int | None = None) -> Any:
    """A step's choices with ``{model}``, ``{second}`` and ``{pipeline}``, the pipeline's number, filled in.

    Without a second model, the first is used for both. Before there is a pipeline, its number is left as it is.

    >>> filled({"system": "{model} · post-hoc {pipeline}", "generator": "{second}"}, "gpt", pipeline=7)
    {'system': 'gpt · post-hoc 7', 'generator': 'gpt'}
    """
    if isinstance(value, str):
        number = "{pipeline}" if pipeline is None else str(pipeline)
        named = value.replace("{model}", model).replace("{second}", second or model)
        return named.replace("{pipeline}", number)
    if isinstance(value, list):
        return [filled(held, model, second, pipeline) for held in value]
    if isinstance(value, dict):
        return {key: filled(held, model, second, pipeline) for key, held in value.items()}
    return value
