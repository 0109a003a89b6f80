"""Follow-ups by generator: single generators, mixes of several in turn, and figures by number of follow-ups."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evaluation.agreement import holm
from evaluation.core.estimate import Estimate
from evaluation.core.kinds import BASELINE_KIND
from evaluation.metrics.followups import FollowUps
from evaluation.metrics.generality import Generality, generality, prepared
from evaluation.metrics.paired import PairedDifference, mean_by_instance, paired_difference
from evaluation.metrics.similarity import Similarity
from evaluation.metrics.simulatability import per_explanation, simulatability


@dataclass(frozen=True, eq=False)
class Diversity:
    """One row of a table of generators: its simulatable share and its generality by each similarity.

    ``shares`` is each instance's mean simulatable share over its explanations.
    """

    generator: str
    simulatable: Estimate
    generality: Mapping[str, Generality]
    follow_ups: int
    duplicates: int
    shares: Mapping[str, float]


def mix_generators(
    followups: FollowUps,
    generators: Sequence[str],
    *,
    size: int | None = None,
    seed: int | None = None,
) -> FollowUps:
    """Follow-ups taken in turn from each generator, explanation by explanation.

    With ``seed`` each generator's follow-ups are drawn at random, without it they are taken in the order of the rows. A draw
    depends on the seed and on the texts of that explanation alone, so it is the same whichever other rows the table has.
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
    mixed = followups.take(mix_rows(followups, generators, size=size, seed=seed))
    return mixed.replaced(generator=[f"mixed: {' + '.join(generators)}"] * len(mixed))


def mix_rows(
    followups: FollowUps,
    generators: Sequence[str],
    *,
    size: int | None = None,
    seed: int | None = None,
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
        drawn = held if seed is None else [_drawn(queue, followups.text, seed) for queue in held]
        chosen += _alternate(drawn, followups.text, limit)
    return np.array(chosen, dtype=np.int64)


def _drawn(queue: Sequence[int], texts: Sequence[str], seed: int) -> list[int]:
    """The rows in a random order that only their texts and the seed decide."""

    def key(row: int) -> bytes:
        return hashlib.blake2b(
            f"{seed}/{texts[row]}".encode("utf-8", "surrogatepass"), digest_size=16
        ).digest()

    return sorted(queue, key=key)


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
    The rows of one explanation are the same whichever systems are ``forced``: every table is based on one mix.

    >>> table = FollowUps(
    ...     unit=["1", "2", "3"], explanation=["e"] * 3, instance=["x"] * 3, system=["s"] * 3, simulated=["yes"] * 3,
    ...     real=["yes"] * 3, generator=["a", "b", "c"], kind=["", "", "baseline"], text=["p", "q", "r"],
    ... )
    >>> compared_rows(table, forced=set(), size=10, seed=1).tolist()
    [True, True, False]
    """
    explained = ~followups.among("kind", {BASELINE_KIND})
    kept = explained & ~followups.among("system", forced)
    codes, found = followups.codes("generator")
    generators = [found[code] for code in np.flatnonzero(np.bincount(codes[explained])) if found[code]]
    if len(generators) < 2:
        return kept
    codes, named = followups.explanation_codes, kept & ~followups.among("generator", {""})
    drawn = named & (np.bincount(codes[kept], minlength=codes.max(initial=-1) + 1)[codes] > size)
    rows, part = np.flatnonzero(drawn), followups.take(drawn)
    if not len(rows):
        return kept
    texts = with_texts(part) if with_texts else part
    present = [name for name in generators if name in set(part.generator)]
    chosen = kept & ~drawn
    chosen[rows[mix_rows(texts, present, size=size, seed=seed)]] = True
    return chosen


def diversity_by_generator(
    followups: FollowUps,
    similarities: Mapping[str, Similarity],
    *,
    mixed: FollowUps | None = None,
    rng: np.random.Generator | None = None,
    replicates: int = 1_000,
) -> list[Diversity]:
    """Simulatable share and generality of every generator, then of their mix: Chen et al. 2024, Table 1.

    Within one explanation and generator, generality is that of its simulatable follow-ups, then the mean over
    explanations of all systems. All texts are embedded together, once. ``mixed`` are the rows of the mix.
    """
    ready = {name: prepared(similarity, followups.text) for name, similarity in similarities.items()}
    tables = [(name, followups.where("generator", name)) for name in sorted(set(followups.generator))]
    if mixed is not None:
        names = sorted(set(mixed.generator) - {""})
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
            shares=_shares_by_instance(table),
        )
        for name, table in tables
    ]


#: The measures of a ``Diversity`` that aren't similarities.
SIMULATABLE = "simulatable"


def compare_diversity(
    pairs: Sequence[tuple[Diversity, Diversity]], *, rng: np.random.Generator, replicates: int = 1_000
) -> list[tuple[str, PairedDifference]]:
    """Rows of Chen et al. 2024, Table 1, compared two by two: by each similarity's generality and by the simulatable share.

    Each comparison is paired over the instances on which both have a value, the mean over an instance's explanations; Holm's
    correction is over all comparisons. Returns the measure (a similarity's name or ``SIMULATABLE``) with each difference.
    """
    found = []
    for first, second in pairs:
        for measure in [*first.generality, SIMULATABLE]:
            a, b = (_by_instance(row, measure) for row in (first, second))
            names = (first.generator, second.generator)
            found.append((measure, paired_difference(a, b, names=names, rng=rng, replicates=replicates)))
    adjusted = holm([one.p_permutation for _, one in found])
    return [(name, replace(one, p_holm=float(p))) for (name, one), p in zip(found, adjusted, strict=True)]


def _by_instance(row: Diversity, measure: str) -> Mapping[str, float]:
    if measure == SIMULATABLE:
        return row.shares
    found = row.generality[measure]
    return mean_by_instance(found.values, found.instance.tolist())


def _shares_by_instance(table: FollowUps) -> dict[str, float]:
    counts = per_explanation(table)
    with np.errstate(invalid="ignore"):
        return mean_by_instance(counts.simulatable / counts.labelled, counts.instance.tolist())


def _duplicates(table: FollowUps) -> int:
    pairs = [(code, text) for code, text in zip(table.explanation_codes, table.text, strict=True) if text]
    return len(pairs) - len(set(pairs))


@dataclass(frozen=True, eq=False)
class Growth:
    """Figures with the first ``size`` follow-ups of each explanation: Limpijankit et al. 2025, Table 6.

    ``reached``: whether an explanation has more follow-ups than with the size before, so that the figures are of their own.
    """

    size: int
    generality: Generality
    simulatable: int
    total: int
    reached: bool


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
    results: list[Growth] = []
    for size in sizes:
        part = followups.take(place <= size)
        results.append(
            Growth(
                size=size,
                generality=generality(part, ready, rng=rng, replicates=replicates),
                simulatable=int(part.simulatable.sum()),
                total=len(part),
                reached=not results or len(part) > results[-1].total,
            )
        )
    return results
