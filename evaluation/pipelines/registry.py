"""All steps by name: the simulator, and every step class in ``steps/``."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from evaluation.pipelines.step import Step
from evaluation.pipelines.steps.material import MaterialStep

FOLDER = Path(__file__).parent / "steps"


@cache
def steps() -> dict[str, Step]:
    from evaluation.simulators.prepare import Simulate

    found: list[Step] = [Simulate()]
    for path in sorted(FOLDER.glob("*.py")):
        module = importlib.import_module(f"evaluation.pipelines.steps.{path.stem}")
        found += [
            value()
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, MaterialStep)
            and value.__module__ == module.__name__
            and value is not MaterialStep
        ]
    return {step.name: step for step in found}


def step_get(name: str) -> Step:
    """The step of that name; raises ``KeyError`` with the names there are."""
    try:
        return steps()[name]
    except KeyError:
        raise KeyError(f"no step {name!r}; there are: {', '.join(steps())}") from None
