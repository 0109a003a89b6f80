"""Who gets which item: the part of the rule that needs no database.

All annotators of a study walk one seeded order of its items, each from where they last were. So the items at the front
fill to k before the next are started (nearest to completion first), two annotators who start together share items, and
no query scans items that the annotator has passed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from random import Random


def seeded_order(keys: Sequence[str], *, seed: int) -> list[int]:
    """The position of each item in the study's order: a permutation of ``range(len(keys))``.

    It depends only on the keys and the seed, not on the order of the import.

    >>> seeded_order(["b", "a", "c"], seed=7) == [seeded_order(["a", "b", "c"], seed=7)[i] for i in (1, 0, 2)]
    True
    """
    by_key = sorted(range(len(keys)), key=keys.__getitem__)
    Random(f"foretell order {seed}").shuffle(by_key)
    positions = [0] * len(keys)
    for position, index in enumerate(by_key):
        positions[index] = position
    return positions


def group_order(keys: Sequence[str], groups: Sequence[str], *, seed: int) -> list[int]:
    """The position of each item where the items of a group are neighbours: groups and items in a group in seeded order.

    Like ``seeded_order``, it depends only on the names and the seed.

    >>> sorted(group_order(["a1", "b1", "a2", "b2"], ["a", "b", "a", "b"], seed=1)[::2]) in ([0, 1], [2, 3])
    True
    """
    names = sorted(set(groups))
    of_group = dict(zip(names, seeded_order(names, seed=seed), strict=True))
    of_item = seeded_order(keys, seed=seed)
    order = sorted(range(len(keys)), key=lambda index: (of_group[groups[index]], of_item[index]))
    positions = [0] * len(keys)
    for position, index in enumerate(order):
        positions[index] = position
    return positions


#: Positions that each explanation has for its items where explanations are completed one after another: each begins at a
#: multiple of it, so that a query knows where it begins and ends.
WIDTH = 1_000


def whole_order(
    keys: Sequence[str], explanations: Sequence[str], parts: Sequence[str], *, seed: int
) -> list[int]:
    """The position of each item where the items of an explanation are neighbours, and those of its parts (arms) within them.

    Explanations, and items in a part, are in seeded order. Each part begins at a multiple of ``WIDTH``; one with more items
    goes on after it. Like ``seeded_order``, it depends only on the names and the seed.

    >>> whole_order(["a1", "b1", "a2", "b2"], ["a", "b", "a", "b"], ["", "", "", ""], seed=2)
    [1001, 0, 1000, 1]
    """
    names = sorted(set(explanations))
    rank = dict(zip(names, seeded_order(names, seed=seed), strict=True))
    of_item = seeded_order(keys, seed=seed)
    groups = [(rank[explanation], part) for explanation, part in zip(explanations, parts, strict=True)]
    positions, place, before = [0] * len(keys), 0, None
    for index in sorted(range(len(keys)), key=lambda index: (groups[index], of_item[index])):
        if groups[index] != before:
            place, before = -(-place // WIDTH) * WIDTH, groups[index]
        positions[index] = place
        place += 1
    return positions


def shared_draw(
    positions: Sequence[int], groups: Sequence[object], conditions: Sequence[str], *, count: int
) -> set[int]:
    """Which items all raters get, as indices: ``count`` of them, by whole groups and evenly from the conditions.

    Groups (the items of one explanation) come in the order of their first position, one of each condition in turn; only the last one may
    be cut.

    >>> sorted(shared_draw([3, 0, 2, 1], [1, 2, 3, 4], ["a", "a", "b", "b"], count=2))
    [1, 3]
    >>> sorted(shared_draw([0, 3, 2, 1], [1, 1, 2, 2], ["", "", "", ""], count=3))
    [0, 1, 3]
    """
    members: dict[object, list[int]] = {}
    for index in sorted(range(len(positions)), key=positions.__getitem__):
        members.setdefault(groups[index], []).append(index)
    by_condition: dict[str, list[list[int]]] = {}
    for own in members.values():
        by_condition.setdefault(conditions[own[0]], []).append(own)
    turns = [own for turn in zip_longest(*by_condition.values()) for own in turn if own]
    return set([index for own in turns for index in own][:count])


def presentation_rng(*, seed: int, item_key: str, rater: int) -> Random:
    """The random generator for what one rater sees of one item (an order, an arm); the same each time."""
    return Random(hashlib.sha256(f"foretell presentation {seed}\x1f{item_key}\x1f{rater}".encode()).digest())


def arm_choose(
    *, arms: int, places: int, turn: int, held: Mapping[int, int], own: Mapping[int, int], rng: Random
) -> int:
    """The arm (0 to ``arms`` - 1) that the next rater of an item gets.

    ``places`` is k, ``turn`` the item's position in the study's order, ``held`` the item's completed judgments and
    live leases by arm, ``own`` the rater's by arm in this study. The arm with the fewest on the item is chosen; of
    several, the one that the rater has had least often; of several again, the generator chooses. If k isn't a multiple
    of ``arms``, some arms get one more than others, and which ones these are rotates from item to item.

    With q = k / ``arms``, and as long as every rater of the item got their arm here:

    - no arm of an item is ever held more than q rounded up times;
    - the arms of an item differ by at most one while no place has been given back, and whenever all places are held;
    - over all items of a study whose places are all held, the arms differ by at most one.

    A place that was given back leaves a gap, which the next rater fills. An expired lease that is taken again keeps
    the arm that the person has seen, so each of these may add one to the difference.

    >>> arm_choose(arms=2, places=5, turn=0, held={0: 2, 1: 1}, own={}, rng=Random(1))
    1
    """
    least = min(held.get(arm, 0) for arm in range(arms))
    lowest = [arm for arm in range(arms) if held.get(arm, 0) == least]
    whole, more = divmod(places, arms)
    if least >= whole:
        extra = {(turn * more + step) % arms for step in range(more)}
        lowest = [arm for arm in lowest if arm in extra] or lowest
    rarest = min(own.get(arm, 0) for arm in lowest)
    return rng.choice([arm for arm in lowest if own.get(arm, 0) == rarest])


def pool_counts(pools: Sequence[str], *, count: int) -> dict[str, int]:
    """How many of an exam's questions, whose ``pools`` these are, ``exam_draw`` draws from each pool for a first attempt.

    >>> pool_counts(["a", "a", "a", "b", "c"], count=4)
    {'a': 2, 'b': 1, 'c': 1}
    """
    drawn = exam_draw([(str(n), pool) for n, pool in enumerate(pools)], count=count, rng=Random(0))
    found = Counter(pools[int(key)] for key in drawn)
    return {pool: found[pool] for pool in dict.fromkeys(pools)}


def exam_draw(
    keys_by_pool: Sequence[tuple[str, str]], *, count: int, rng: Random, seen: Collection[str] = ()
) -> list[str]:
    """Draw ``count`` question keys, as evenly from the pools as possible, in a shuffled order.

    ``keys_by_pool`` are (key, pool) pairs; the empty string is a pool like any other. Questions in ``seen`` are drawn
    only when too few others are left, and then only where their pool has no others. Where the pools can't all give the same
    number, those named first give one more. Raises ``ValueError`` if there are fewer questions than asked for.

    >>> sorted(exam_draw([("a", ""), ("b", "")], count=2, rng=Random(1)))
    ['a', 'b']
    >>> exam_draw([("a", ""), ("b", "")], count=1, rng=Random(1), seen={"a"})
    ['b']
    """
    if count > len(keys_by_pool):
        raise ValueError(f"count: {count} questions asked for, the exam has {len(keys_by_pool)}")
    unseen = sum(key not in seen for key, _ in keys_by_pool)
    pools: dict[str, list[str]] = {}
    for key, pool in keys_by_pool:
        if unseen < count or key not in seen:
            pools.setdefault(pool, []).append(key)
    for keys in pools.values():
        rng.shuffle(keys)
        keys.sort(key=lambda key: key not in seen)  # drawn from the end
    drawn: list[str] = []
    while len(drawn) < count:
        for keys in pools.values():
            if keys and len(drawn) < count:
                drawn.append(keys.pop())
    rng.shuffle(drawn)
    return drawn
