"""Follow-ups by generator: one alone, several mixed by alternating, and how figures grow with their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.core.estimate import Estimate
from evaluation.metrics.followups import FollowUps
from evaluation.metrics.generality import Generality, generality, prepared
from evaluation.metrics.similarity import Similarity
from evaluation.metrics.simulatability import simulatability


@dataclass(frozen=True, eq=False)
class Diversity:
    """One row of a table of generators: its simulatable share and its generality by each similarity."""

    generator: str
    simulatable: Estimate
    generality: Mapping[str, Generality]
    follow_ups: int
    duplicates: int


def mix_generators(followups: FollowUps, generators: Sequence[str], *, size: int | None = None) -> FollowUps:
    """Follow-ups taken in turn from each generator, explanation by explanation, in the order of the rows.

    Exact duplicates of a text within an explanation are dropped. At most ``size`` are kept for an explanation;
    by default as many as the generator with most follow-ups on it gave, so that mixing costs no more than one
    generator. The result's generator is "mixed: a + b". Raises ``ValueError`` naming an unknown generator.

    >>> table = FollowUps(
    ...     unit=["1", "2", "3", "4"], explanation=["e"] * 4, instance=["x"] * 4, system=["s"] * 4,
    ...     simulated=["yes"] * 4, real=["yes"] * 4, generator=["a", "a", "b", "b"], text=["p", "q", "p", "r"],
    ... )
    >>> mix_generators(table, ["a", "b"]).text.tolist()
    ['p', 'r']
    """
    unknown = sorted(set(generators) - set(followups.generator))
    if unknown or not generators:
        raise ValueError(f"generators: no follow-ups of {', '.join(unknown) or 'any generator'}")
    order = {name: place for place, name in enumerate(generators)}
    queues: dict[int, list[list[int]]] = {}
    for row, (code, name) in enumerate(zip(followups.explanation_codes, followups.generator, strict=True)):
        if name in order:
            queues.setdefault(int(code), [[] for _ in generators])[order[name]].append(row)
    chosen: list[int] = []
    for code in sorted(queues):
        limit = size if size is not None else max(len(queue) for queue in queues[code])
        chosen += _alternate(queues[code], followups.text, limit)
    mixed = followups.take(np.array(chosen, dtype=np.int64))
    return replace(mixed, generator=[f"mixed: {' + '.join(generators)}"] * len(mixed))


def _alternate(queues: Sequence[Sequence[int]], texts: Sequence[str], limit: int) -> list[int]:
    """Rows in turn from each queue, without repeating a text, at most ``limit``."""
    left = [iter(queue) for queue in queues]
    taken: list[int] = []
    seen: set[str] = set()
    while left and len(taken) < limit:
        for queue in list(left):
            row = next((r for r in queue if not texts[r] or texts[r] not in seen), None)
            if row is None:
                left.remove(queue)
            elif len(taken) < limit:
                seen.add(texts[row])
                taken.append(row)
    return taken


def diversity_by_generator(
    followups: FollowUps,
    similarities: Mapping[str, Similarity],
    *,
    mixes: Sequence[Sequence[str]] = (),
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> list[Diversity]:
    """Simulatable share and generality of every generator, then of each mix: Chen et al. 2024, Table 1.

    Within one explanation and generator, generality is that of its simulatable follow-ups, then the mean over
    explanations of all systems. All texts are embedded together, once.
    """
    ready = {name: prepared(similarity, followups.text) for name, similarity in similarities.items()}
    tables = [(name, followups.where("generator", name)) for name in sorted(set(followups.generator))]
    for names in mixes:
        mixed = mix_generators(followups, names)
        tables.append((f"mixed: {' + '.join(names)}", mixed))
    return [
        Diversity(
            generator=name,
            simulatable=simulatability(table, rng=rng, replicates=replicates).simulatable,
            generality={
                key: generality(table, similarity, rng=rng, replicates=replicates)
                for key, similarity in ready.items()
            },
            follow_ups=len(table),
            duplicates=_duplicates(table),
        )
        for name, table in tables
    ]


def _duplicates(table: FollowUps) -> int:
    pairs = [(code, text) for code, text in zip(table.explanation_codes, table.text, strict=True) if text]
    return len(pairs) - len(set(pairs))


@dataclass(frozen=True, eq=False)
class Growth:
    """Figures with the first ``size`` follow-ups of each explanation: Limpijankit et al. 2025, Table 6."""

    size: int
    generality: Generality
    simulatable: int
    total: int


def growth(
    followups: FollowUps,
    similarity: Similarity,
    sizes: Sequence[int] = (3, 5, 10),
    *,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> list[Growth]:
    """Generality and simulatable count as the number of follow-ups for each explanation grows.

    For each size, the first ``size`` follow-ups of every explanation in the order of the rows. Raises
    ``ValueError`` for a size below 1.
    """
    if any(size < 1 for size in sizes):
        raise ValueError("sizes: expected numbers of 1 or more")
    ready = prepared(similarity, followups.text)
    seen: dict[int, int] = {}
    place = np.empty(len(followups), dtype=np.int64)
    for row, code in enumerate(followups.explanation_codes.tolist()):
        place[row] = seen[code] = seen.get(code, 0) + 1
    results = []
    for size in sizes:
        part = followups.take(place <= size)
        results.append(
            Growth(
                size=size,
                generality=generality(part, ready, rng=rng, replicates=replicates),
                simulatable=int(part.simulatable.sum()),
                total=len(part),
            )
        )
    return results
