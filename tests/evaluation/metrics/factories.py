"""Follow-ups for tests: built from short rows, or drawn at random."""

from __future__ import annotations

import numpy as np

from evaluation.metrics import FollowUps

GUESS = "cannot guess"
#: Words with what tokenizers treat differently: capitals, numbers, punctuation, apostrophes, hyphens.
WORDS = [
    "Can", "the", "owl", "swim", "across", "3.5", "%", "of", "a", "lake", "?", "isn't", "it", "hard", ",", "U.S.", "pork-belly",
]  # fmt: skip


def followups(rows, **extra) -> FollowUps:
    """Rows of (explanation, instance, system, simulated, real); the unit is the row's number."""
    explanation, instance, system, simulated, real = zip(*rows, strict=True) if rows else [()] * 5
    return FollowUps(
        unit=[f"u{i}" for i in range(len(rows))],
        explanation=explanation,
        instance=instance,
        system=system,
        simulated=simulated,
        real=real,
        abstain={GUESS},
        **extra,
    )


def random_followups(rng: np.random.Generator, instances: int = 8, per: int = 5) -> FollowUps:
    """Two systems on each instance, follow-ups labelled at random, some of them not at all."""
    rows = []
    for x in range(instances):
        for system in ("s1", "s2"):
            for _ in range(per):
                label = rng.choice(["yes", "no", GUESS, ""], p=[0.35, 0.35, 0.2, 0.1]) or None
                real = rng.choice(["yes", "no", ""], p=[0.45, 0.45, 0.1]) or None
                rows.append((f"e{x}-{system}", f"x{x}", system, label, real))
    words = ["owl", "lake", "Can", "the", "swim", "bear", "fly", "north", "cold", "sea"]
    texts = [" ".join(rng.choice(words, rng.integers(2, 7))) for _ in rows]
    return followups(rows, text=texts, generator=[("g1", "g2")[i % 2] for i in range(len(rows))])


def random_texts(rng: np.random.Generator, number: int) -> list[str]:
    """Texts of 1 to 13 of ``WORDS``."""
    return [" ".join(rng.choice(WORDS, rng.integers(1, 14))) for _ in range(number)]


def shuffled(table: FollowUps, rng: np.random.Generator) -> FollowUps:
    return table.take(rng.permutation(len(table)))
