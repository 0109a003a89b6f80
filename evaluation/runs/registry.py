"""All steps by name, found in the modules that hold steps: a new one is a new file, and no list is edited."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from evaluation.runs.step import Step

#: Named as text, since the modules of steps import the engine's contract and not the other way round.
PLACES = ("evaluation.simulators.prepare", "evaluation.pipelines.steps")


@cache
def steps() -> dict[str, Step]:
    """Every class of a step that has a name."""
    found: list[Step] = []
    for place in PLACES:
        home = importlib.import_module(place)
        names = [f"{place}.{one.name}" for one in pkgutil.iter_modules(getattr(home, "__path__", ()))]
        for module in [home, *map(importlib.import_module, names)]:
            found += [
                value()
                for value in vars(module).values()
                if isinstance(value, type)
                and issubclass(value, Step)
                and value.__module__ == module.__name__
                and hasattr(value, "name")
            ]
    return {step.name: step for step in found}


def step_get(name: str) -> Step:
    """The step of that name; raises ``KeyError`` with the names there are."""
    try:
        return steps()[name]
    except KeyError:
        raise KeyError(f"no step {name!r}; there are: {', '.join(steps())}") from None
