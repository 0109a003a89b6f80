"""Follow-ups by generator: single generators, mixes of several in turn, and figures by number of follow-ups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evaluation.core.estimate import Estimate
from evaluation.core.kinds import BASELINE_KIND
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


def mix_generators(
    followups: FollowUps,
    generators: Sequence[str],
    *,
    size: int | None = None,
    rng: np.random.Generator | None = None,
) -> FollowUps:
    """Follow-ups taken in turn from each generator, explanation by explanation.

    With ``rng`` each generator's follow-ups are drawn at random, without it they are taken in the order of the rows.
    Exact duplicates of a text within an explanation are dropped. At most ``size`` are kept for an explanation;
    by default as many as the generator with most follow-ups on it gave, so that the mix and a single generator rest
    on equally many. The result's generator is "mixed: a + b". Raises ``ValueError`` naming an unknown generator.

    >>> table = FollowUps(
    ...     unit=["1", "2", "3", "4"], explanation=["e"] * 4, instance=["x"] * 4, system=["s"] * 4,
    ...     simulated=["yes"] * 4, real=["yes"] * 4, generator=["a", "a", "b", "b"], text=["p", "q", "p", "r"],
    ... )
    >>> mix_generators(table, ["a", "b"]).text.tolist()
    ['p', 'r']
    """
    mixed = followups.take(mix_rows(followups, generators, size=size, rng=rng))
    return replace(mixed, generator=[f"mixed: {' + '.join(generators)}"] * len(mixed))


def mix_rows(
    followups: FollowUps,
    generators: Sequence[str],
    *,
    size: int | None = None,
    rng: np.random.Generator | None = None,
) -> npt.NDArray[np.int64]:
    """The rows that ``mix_generators`` takes, by explanation, in the order in which they were taken."""
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
        held = queues[code]
        limit = size if size is not None else max(len(queue) for queue in held)
        drawn = held if rng is None else [rng.permutation(queue).tolist() for queue in held]
        chosen += _alternate(drawn, followups.text, limit)
    return np.array(chosen, dtype=np.int64)


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


def compared_rows(
    followups: FollowUps,
    *,
    forced: set[str],
    size: int,
    seed: int,
    with_texts: Callable[[FollowUps], FollowUps] | None = None,
) -> npt.NDArray[np.bool_]:
    """A mask of shape (N,): the rows on which systems are compared (Chen et al. 2024, Tables 2, 4, 5 and 6).

    Follow-ups that were written without the explanation are left out, and so are those of the systems in ``forced``.
    Where several generators wrote follow-ups, at most ``size`` of each explanation are drawn from them in turn, with
    ``seed``: the paper's "mixed counterfactuals". That needs their texts, which ``with_texts`` adds if the table lacks them.

    >>> table = FollowUps(
    ...     unit=["1", "2", "3"], explanation=["e"] * 3, instance=["x"] * 3, system=["s"] * 3, simulated=["yes"] * 3,
    ...     real=["yes"] * 3, generator=["a", "b", "c"], kind=["", "", "baseline"], text=["p", "q", "r"],
    ... )
    >>> compared_rows(table, forced=set(), size=10, seed=1).tolist()
    [True, True, False]
    """
    kept = np.array(
        [
            kind != BASELINE_KIND and system not in forced
            for kind, system in zip(followups.kind, followups.system, strict=True)
        ],
        dtype=bool,
    )
    rows, part = np.flatnonzero(kept), followups.take(kept)
    generators = sorted(set(part.generator) - {""})
    most = np.bincount(part.explanation_codes).max(initial=0) if len(part) else 0
    if len(generators) < 2 or most <= size:
        return kept
    texts = with_texts(part) if with_texts else part
    mixed = mix_rows(texts, generators, size=size, rng=np.random.default_rng([seed, 2]))
    unnamed = np.flatnonzero(part.generator == "")
    chosen = np.zeros(len(followups), dtype=bool)
    chosen[rows[np.concatenate([mixed, unnamed])]] = True
    return chosen


def diversity_by_generator(
    followups: FollowUps,
    similarities: Mapping[str, Similarity],
    *,
    mixes: Sequence[Sequence[str]] = (),
    mix_rng: np.random.Generator | None = None,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> list[Diversity]:
    """Simulatable share and generality of every generator, then of each mix: Chen et al. 2024, Table 1.

    Within one explanation and generator, generality is that of its simulatable follow-ups, then the mean over
    explanations of all systems. All texts are embedded together, once. ``mix_rng`` draws the mixes.
    """
    ready = {name: prepared(similarity, followups.text) for name, similarity in similarities.items()}
    tables = [(name, followups.where("generator", name)) for name in sorted(set(followups.generator))]
    for names in mixes:
        mixed = mix_generators(followups, names, rng=mix_rng)
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
