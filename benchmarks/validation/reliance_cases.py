"""Studies of reliance with known truth: people who follow a model, never do, or mostly do where it is right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evaluation.core.estimate import Estimate
from evaluation.metrics import Reliance, reliance

#: How probable somebody with an answer of their own takes the model's instead, where it is right and where it is wrong.
ALWAYS, NEVER, DISCERNING = (1.0, 1.0), (0.0, 0.0), (0.85, 0.2)
MODEL_RIGHT = 0.7
#: How alike people are on one instance, in how often they are right alone: the sum of a beta distribution's parameters.
_STRENGTH = 4.0


def cases(
    rng: np.random.Generator,
    follows: tuple[float, float],
    *,
    instances: int,
    raters: int = 1,
    alone: float = 0.6,
) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
    """First answers, the model's, last answers, correct ones and instances; two labels, one answer of the model an instance."""
    model = (rng.random(instances) < MODEL_RIGHT).repeat(raters)
    ease = rng.beta(alone * _STRENGTH, (1 - alone) * _STRENGTH, instances).repeat(raters)
    before = rng.random(model.size) < ease
    taken = rng.random(model.size) < np.where(model, *follows)
    after = np.where(taken, model, before)
    words = np.array(["no", "yes"])
    columns = (words[column.astype(int)].tolist() for column in (before, model, after))
    names = [f"x{number}" for number in np.arange(instances).repeat(raters)]
    return *columns, ["yes"] * model.size, names  # type: ignore[return-value]


def beyond_better(follows: tuple[float, float], alone: float) -> float:
    """True complementarity: with the model, people are right where both are, and where they follow it, or don't, to their good."""
    right, wrong = follows
    both = alone * MODEL_RIGHT
    helped, unharmed = (1 - alone) * MODEL_RIGHT * right, alone * (1 - MODEL_RIGHT) * (1 - wrong)
    return both + helped + unharmed - max(alone, MODEL_RIGHT)


def coverage_cases(
    replicates: int,
) -> dict[str, tuple[Callable[[np.random.Generator], Estimate], float]]:
    """The cases of ``coverage``: 100 instances with three answers each, by people who are discerning."""

    def measured(field: str, alone: float = 0.6) -> Callable[[np.random.Generator], Estimate]:
        def run(rng: np.random.Generator) -> Estimate:
            drawn = cases(rng, DISCERNING, instances=100, raters=3, alone=alone)
            found: Reliance = reliance(*drawn, rng=rng, replicates=replicates)
            return getattr(found, field)  # type: ignore[no-any-return]

        return run

    right, wrong = DISCERNING
    return {
        "relative AI reliance": (measured("ai_reliance"), right),
        "relative self-reliance": (measured("self_reliance"), 1 - wrong),
        "complementarity": (measured("complementarity"), beyond_better(DISCERNING, 0.6)),
        "complementarity, people as good as the model": (
            measured("complementarity", MODEL_RIGHT),
            beyond_better(DISCERNING, MODEL_RIGHT),
        ),
    }
