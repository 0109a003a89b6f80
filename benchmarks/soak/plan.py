"""The plan of a soak test, drawn from a seed so that a run can be repeated."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

#: How often each process is killed, out of 200 kills. `make run` waits longer and longer before it restarts a process
#: that keeps ending, so there its web workers are killed more often than the process that starts them.
VICTIMS = {
    "embedded": {
        "web worker": 88, "web": 8, "worker": 17, "housekeeping": 17, "postgres": 30, "postgres backend": 15, "redis": 25,
    },
    "processes": {
        "web worker": 50, "web": 50, "worker": 20, "housekeeping": 20, "beat": 10, "postgres": 20,
        "postgres backend": 10, "redis": 20,
    },
    "hosts": {
        "web worker": 40, "web": 40, "worker": 20, "housekeeping": 10, "beat": 10, "postgres": 15, "postgres backend": 10,
        "redis": 15, "pooler": 20, "replica": 20,
    },
}  # fmt: skip
#: Share of the places of each study. Simulation has one stage and an exam; the others have several stages.
STUDIES = {"simulation": 0.4, "utility": 0.3, "generalization_utility": 0.3}
REDUNDANCY = 3


@dataclass(frozen=True)
class Habits:
    """The share of answers after which an annotator does something else, and of exams that are failed at first."""

    undo: float = 0.05
    more_time: float = 0.03
    two_tabs: float = 0.05
    skip: float = 0.01
    draft: float = 0.1
    fail_exam: float = 0.1


@dataclass(frozen=True)
class Kill:
    """Kill a process once this share of all places has an acknowledged answer."""

    at: float
    victim: str


@dataclass(frozen=True)
class Plan:
    """One run of the soak test. ``places`` is rounded up to whole items."""

    seed: int
    setup: str
    annotators: int
    places: int
    kills: int
    habits: Habits = field(default_factory=Habits)

    def items(self) -> dict[str, int]:
        """Items of each study."""
        return {name: -(-round(self.places * share) // REDUNDANCY) for name, share in STUDIES.items()}

    def all_places(self) -> int:
        return sum(self.items().values()) * REDUNDANCY

    def kill_list(self) -> list[Kill]:
        """The kills in the order of their progress, between 1 % and 97 %."""
        rng = Random(f"kills {self.seed}")
        weights = VICTIMS[self.setup]
        victims = rng.choices(list(weights), list(weights.values()), k=self.kills)
        times = sorted(rng.uniform(0.01, 0.97) for _ in range(self.kills))
        return [Kill(at, victim) for at, victim in zip(times, victims, strict=True)]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
