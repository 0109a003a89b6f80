"""All steps by name. They are found in the modules below, so a new step needs nothing but its own file."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from evaluation.runs.step import Step

#: Named as text because these modules import this package, not the other way round.
PLACES = ("evaluation.simulators.prepare", "evaluation.pipelines.steps")


@cache
def steps() -> dict[str, Step]:
    """All step classes with a name, by name."""
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
    """The step with that name; raises ``KeyError`` with the known names."""
    try:
        return steps()[name]
    except KeyError:
        raise KeyError(f"There is no step {name!r}. Steps: {', '.join(steps())}.") from None
