"""All steps by name."""

from __future__ import annotations

from functools import cache

from evaluation.pipelines.step import Step


@cache
def steps() -> dict[str, Step]:
    from evaluation.simulators.simulate import Simulate

    found: list[Step] = [Simulate()]
    return {step.name: step for step in found}


def step_get(name: str) -> Step:
    """The step of that name; raises ``KeyError`` with the names there are."""
    try:
        return steps()[name]
    except KeyError:
        raise KeyError(f"no step {name!r}; there are: {', '.join(steps())}") from None
