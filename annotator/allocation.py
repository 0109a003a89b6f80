"""Who gets which item, as far as it can be said without a database.

All annotators of a study walk one seeded order of its items, each from where they last were. So the items at
the front fill to k before the next are opened (nearest to completion first), two annotators who start together
share items, and nobody scans what they have passed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random


def seeded_order(keys: Sequence[str], *, seed: int) -> list[int]:
    """The position of each item in the study's order: a permutation of ``range(len(keys))``.

    It depends on the keys and the seed only, not on the order of the import.

    >>> seeded_order(["b", "a", "c"], seed=7) == [seeded_order(["a", "b", "c"], seed=7)[i] for i in (1, 0, 2)]
    True
    """
    by_key = sorted(range(len(keys)), key=keys.__getitem__)
    Random(f"foretell order {seed}").shuffle(by_key)
    positions = [0] * len(keys)
    for position, index in enumerate(by_key):
        positions[index] = position
    return positions


def presentation_rng(*, seed: int, item_key: str, rater: int) -> Random:
    """The generator behind what one rater sees of one item (an order, an arm): the same whenever asked."""
    return Random(hashlib.sha256(f"foretell presentation {seed}\x1f{item_key}\x1f{rater}".encode()).digest())


def exam_draw(keys_by_pool: Sequence[tuple[str, str]], *, count: int, rng: Random) -> list[str]:
    """Draw ``count`` question keys, as evenly from the pools as they allow, in a shuffled order.

    ``keys_by_pool`` are (key, pool) pairs; the empty pool is a pool like any other. Raises ``ValueError``
    where there are fewer questions than asked for.

    >>> sorted(exam_draw([("a", ""), ("b", "")], count=2, rng=Random(1)))
    ['a', 'b']
    """
    if count > len(keys_by_pool):
        raise ValueError(f"count: {count} questions asked for, the exam has {len(keys_by_pool)}")
    pools: dict[str, list[str]] = {}
    for key, pool in keys_by_pool:
        pools.setdefault(pool, []).append(key)
    for keys in pools.values():
        rng.shuffle(keys)
    drawn: list[str] = []
    while len(drawn) < count:
        for keys in pools.values():
            if keys and len(drawn) < count:
                drawn.append(keys.pop())
    rng.shuffle(drawn)
    return drawn
