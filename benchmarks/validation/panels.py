"""Panels of people and one simulator whose advantages are known, for the alternative annotator test's intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evaluation.agreement import Ratings, alternative_annotator_test
from evaluation.core.ratings_table import Floats

#: Units from which the true advantages of a panel are taken: they are then known to about .002.
MANY = 100_000
SIMULATOR = "zz"


@dataclass(frozen=True)
class Panel:
    """``k`` of the people judge each unit, and a simulator all of them; two labels.

    People are right with probabilities from the first to the second of ``skill``, the simulator with ``simulator``. ``follow_ups`` units
    belong to one instance; whether somebody is right on two of them is correlated at ``alike``.
    """

    instances: int
    people: int
    k: int
    skill: tuple[float, float]
    simulator: float
    epsilon: float = 0.2
    follow_ups: int = 1
    alike: float = 0.3

    @property
    def skills(self) -> Floats:
        """Shape (people + 1,): of the people, then of the simulator."""
        return np.append(np.linspace(*self.skill, self.people), self.simulator)

    def draw(self, rng: np.random.Generator) -> Ratings:
        units, people = self.instances * self.follow_ups, self.people
        truth = rng.integers(0, 2, units)
        instance = np.arange(units) // self.follow_ups
        # Somebody's own luck with an instance replaces that with the unit for a share of the units.
        luck = np.where(
            (rng.random((units, people + 1)) < self.alike**0.5) & (self.follow_ups > 1),
            rng.random((self.instances, people + 1))[instance],
            rng.random((units, people + 1)),
        )
        given = np.where(luck < self.skills, truth[:, None], 1 - truth[:, None])
        rated = np.argsort(rng.random((units, people)), axis=1)[:, : self.k]
        own = np.take_along_axis(given, rated, axis=1)
        return Ratings(
            (*(f"r{n:02}" for n in range(people)), SIMULATOR),
            tuple(f"{unit:06}" for unit in range(units)),
            ("0", "1"),
            np.concatenate([rated.ravel(), np.full(units, people)]).astype(np.int32),
            np.concatenate([np.arange(units).repeat(self.k), np.arange(units)]).astype(np.int32),
            np.concatenate([own.ravel(), given[:, people]]).astype(np.int32),
            simulators=frozenset({SIMULATOR}),
            clusters=instance.astype(np.int32) if self.follow_ups > 1 else None,
        )

    def truth(self) -> tuple[float, float]:
        """The share of people who are worth less than epsilon more than the simulator, and the advantage probability."""
        many = replace(self, instances=MANY // self.follow_ups).draw(np.random.default_rng(5))
        found = alternative_annotator_test(many, SIMULATOR, epsilon=self.epsilon)
        below = [human.human_advantage - human.simulator_advantage < self.epsilon for human in found.humans]
        return float(np.mean(below)), found.advantage_probability.value


#: In the designs at the border, people's differences lie about epsilon, where a test of any of them may be wrong.
PANELS = {
    "three people, clear": Panel(150, 3, 3, (0.85, 0.9), 0.88),
    "three people, worse simulator": Panel(150, 3, 3, (0.85, 0.9), 0.5),
    "five of five, at the border": Panel(200, 5, 5, (0.8, 0.9), 0.63),
    "five alike, just beyond": Panel(200, 5, 5, (0.85, 0.85), 0.61),
    "three of eight, at the border": Panel(400, 8, 3, (0.75, 0.95), 0.59),
    "three of twenty, at the border": Panel(600, 20, 3, (0.7, 0.95), 0.54),
    "forty units": Panel(40, 4, 4, (0.8, 0.9), 0.65),
    "epsilon 0.1": Panel(300, 6, 3, (0.75, 0.95), 0.7, epsilon=0.1),
    "six follow-ups": Panel(80, 5, 3, (0.75, 0.92), 0.55, follow_ups=6),
    "nearly all right": Panel(60, 4, 4, (0.97, 0.99), 0.86, epsilon=0.1),
}
