"""Attributes of raters that few raters share: coarsened or left out before they are released. Values in, values out; no database."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from typing import Any, Literal

SmallGroups = Literal["coarsen", "drop", "keep"]
Timings = Literal["exact", "1", "10", "none"]
SMALL_GROUPS: tuple[SmallGroups, ...] = ("coarsen", "drop", "keep")
TIMINGS: tuple[Timings, ...] = ("exact", "1", "10", "none")
#: Rater -> attribute -> its values as text: several if the rater has another one in each study.
Values = Mapping[int, Mapping[str, tuple[str, ...]]]
OTHER = "other"
_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,6})?")
#: While more than this share of the raters would lose a value because of their combination, all values are coarsened further.
_MOST_REMOVED = 0.1


@dataclass(frozen=True)
class Coarsening:
    """How much detail of the raters a release has.

    Attribute values and combinations of them that fewer than ``smallest_group`` raters share are coarsened (numbers become bands, rare
    values *other*; what is still rare is left out), dropped, or kept. ``timings`` says whether the seconds that answers took are exact,
    rounded to 1 or 10 seconds, or not released.
    """

    smallest_group: int = 5
    small_groups: SmallGroups = "coarsen"
    timings: Timings = "exact"

    @property
    def off(self) -> bool:
        """Whether attributes are released as they are."""
        return self.small_groups == "keep"


#: Everything as it is in the database.
AS_IT_IS = Coarsening(small_groups="keep")


@dataclass(frozen=True)
class AttributeCost:
    """What coarsening does to one attribute.

    ``raters`` have a value of it; those of ``coarsened`` have a less exact one in the release, those of ``removed`` have none. ``before``
    and ``after`` are numbers of different values; ``values`` are those of the release, with their numbers of raters.
    """

    name: str
    raters: int
    coarsened: int
    removed: int
    before: int
    after: int
    values: Mapping[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether the release has it for fewer raters or less exactly."""
        return bool(self.coarsened or self.removed)

    def to_json(self) -> dict[str, int]:
        """What the manifest says: numbers, no values."""
        return {name: getattr(self, name) for name in ("raters", "coarsened", "removed", "before", "after")}


@dataclass(frozen=True)
class Coarsened:
    """The values of the release. ``recoded`` maps an attribute's values to those that replace them (None: left out); ``removed`` are the
    (rater, attribute) left out because the rater's combination is still rare; ``alone`` is the number of raters whose combination was
    rare before."""

    recoded: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    removed: frozenset[tuple[int, str]] = frozenset()
    alone: int = 0
    attributes: tuple[AttributeCost, ...] = ()

    def of_rater(self, rater: int, values: Mapping[str, Any]) -> dict[str, Any]:
        """A rater's attributes as they are released; what isn't changed keeps its type."""
        found: dict[str, Any] = {}
        for name, value in values.items():
            if (rater, name) in self.removed:
                continue
            new = self.recoded.get(name, {}).get(str(value), value)
            if new is not None:
                found[name] = new
        return found

    def after(self, before: Values) -> dict[int, dict[str, tuple[str, ...]]]:
        """The values of all raters as they are released."""
        found = {}
        for rater, values in before.items():
            kept = {name: self._new(rater, name, held) for name, held in values.items()}
            found[rater] = {name: held for name, held in kept.items() if held}
        return found

    def _new(self, rater: int, name: str, held: Iterable[str]) -> tuple[str, ...]:
        if (rater, name) in self.removed:
            return ()
        replaced = (self.recoded.get(name, {}).get(one, one) for one in held)
        return tuple(sorted({one for one in replaced if one is not None}))


def coarsen(before: Values, coarsening: Coarsening) -> Coarsened:
    """Coarsen raters' attributes until each combination that a rater has is shared by ``smallest_group`` raters, if that is chosen.

    A rater without any value isn't in a group. Each attribute is coarsened by itself first, then the one that helps most further, while the
    combinations of more than a tenth of the raters are rare. Raters whose combination is rare even so lose the attribute that leaves the
    fewest of them, and so on. The result depends on the values alone, not on the order of raters.

    >>> ages = {n: {"age": (str(20 + n),)} for n in range(12)}
    >>> found = coarsen(ages, Coarsening(smallest_group=5))
    >>> sorted(Counter(one["age"][0] for one in found.after(ages).values()).items())
    [('20 to 24', 5), ('25 to 34', 7)]
    """
    names = sorted({name for values in before.values() for name in values})
    least, alone = coarsening.smallest_group, len(rare(before, coarsening.smallest_group))
    if coarsening.off or not alone:
        found = Coarsened(alone=alone)
    else:
        if coarsening.small_groups == "coarsen":
            recoded = _coarser(before, names, least)
        else:
            recoded = {name: _rare_dropped(_counts(before, name), least) for name in names}
        once = Coarsened(recoded).after(before)
        found = Coarsened(recoded, frozenset(_removed(once, least)), alone)
    after = found.after(before)
    return Coarsened(found.recoded, found.removed, alone, tuple(_cost(name, before, after) for name in names))


def rare(values: Values, least: int) -> set[int]:
    """The raters whose combination of values fewer than ``least`` raters share.

    >>> rare({1: {"age": ("30",)}, 2: {"age": ("30",)}, 3: {"age": ("31",)}, 4: {}}, 2)
    {3}
    """
    sizes = Counter(frozenset(held.items()) for held in values.values() if held)
    return {rater for rater, held in values.items() if held and sizes[frozenset(held.items())] < least}


def timing(seconds: float | None, timings: Timings) -> float | None:
    """The seconds that an answer took, as they are released.

    >>> timing(14.9, "10"), timing(14.9, "1"), timing(14.9, "none"), timing(None, "1")
    (10.0, 15.0, None, None)
    """
    if seconds is None or timings == "none":
        return None
    step = {"exact": 0, "1": 1, "10": 10}[timings]
    return float(round(seconds / step) * step) if step else seconds


def _counts(values: Values, name: str) -> Counter[str]:
    return Counter(one for held in values.values() for one in held.get(name, ()))


def _coarser(before: Values, names: Iterable[str], least: int) -> dict[str, dict[str, str | None]]:
    """Attribute -> value -> what replaces it: bands and *other* that are wide enough for most combinations."""
    sizes = dict.fromkeys(names, least)
    counts = {name: _counts(before, name) for name in names}
    recoded = {name: _recoded(counts[name], least) for name in names}

    def rare_with(new: dict[str, dict[str, str | None]]) -> int:
        return len(rare(Coarsened(new).after(before), least))

    left, open_names = rare_with(recoded), set(names)
    while left > _MOST_REMOVED * len(before) and open_names:
        tried: list[tuple[int, str, dict[str, str | None]]] = []
        for name in sorted(open_names):
            new = _recoded(counts[name], 2 * sizes[name])
            if len({new.get(value, value) for value in counts[name]} - {None}) < 2:
                open_names.remove(name)  # it would say nothing any more
            else:
                tried.append((rare_with(recoded | {name: new}), name, new))
        if tried:
            left, name, new = min(tried, key=lambda one: one[:2])
            recoded[name], sizes[name] = new, 2 * sizes[name]
    return recoded


def _rare_dropped(counts: Mapping[str, int], least: int) -> dict[str, str | None]:
    return dict.fromkeys(value for value, number in counts.items() if number < least)


def _recoded(counts: Mapping[str, int], least: int) -> dict[str, str | None]:
    """Value -> what replaces it, for the values of one attribute that change, so that at least ``least`` raters have each; None: left out."""
    small = {value for value, number in counts.items() if number < least}
    if not small or sum(counts.values()) < least:
        return dict.fromkeys(small)
    if all(_NUMBER.fullmatch(value) for value in counts):
        return _bands(counts, least)
    rest = sorted(set(counts) - small, key=lambda value: (counts[value], value))
    while rest and sum(counts[value] for value in small) < least:
        small.add(rest.pop(0))
    # One value for all raters says nothing.
    return dict.fromkeys(small, OTHER if rest else None)


def _bands(counts: Mapping[str, int], least: int) -> dict[str, str | None]:
    numbers = {value: Decimal(value) for value in counts}
    whole = all(number == number.to_integral_value() for number in numbers.values())
    spread = max(numbers.values()) - min(numbers.values())
    width = _width(spread * least / sum(counts.values()) / 2, whole)
    sizes: Counter[int] = Counter()
    for value, number in numbers.items():
        sizes[_place(number, width)] += counts[value]
    edges, held = [min(sizes)], 0
    for place in sorted(sizes):
        held += sizes[place]
        if held >= least:
            edges, held = [*edges, place + 1], 0
    end = max(sizes) + 1
    if held:  # the last band is small: it belongs to the one before
        edges[-1] = end
    starts = sorted({edge for edge in edges if edge < end} | {min(sizes)})
    found: dict[str, str | None] = {}
    for value, number in numbers.items():
        at = max(start for start in starts if start <= _place(number, width))
        upper = min([start for start in starts if start > at], default=end)
        found[value] = _band(at * width, upper * width, whole)
    return found


def _width(least: Decimal, whole: bool) -> Decimal:
    """The smallest of 1, 2, 5, 10, 20 and so on that is no less; below 1 only for other numbers than whole ones.

    >>> _width(Decimal("3.1"), True), _width(Decimal("0.03"), True), _width(Decimal("0.03"), False)
    (Decimal('5'), Decimal('1'), Decimal('0.05'))
    """
    if whole and least <= 1:
        return Decimal(1)
    step = Decimal(10) ** least.adjusted()
    return next(step * factor for factor in (1, 2, 5, 10) if step * factor >= least)


def _place(number: Decimal, width: Decimal) -> int:
    return int((number / width).to_integral_value(ROUND_FLOOR))


def _band(low: Decimal, high: Decimal, whole: bool) -> str:
    return f"{low:f} to {high - 1:f}" if whole else f"{low:f} to under {high:f}"


def _removed(values: Mapping[int, Mapping[str, tuple[str, ...]]], least: int) -> set[tuple[int, str]]:
    """The (rater, attribute) to leave out so that no combination is rare."""
    held = {rater: dict(one) for rater, one in values.items()}
    removed: set[tuple[int, str]] = set()
    while small := rare(held, least):
        sizes = Counter(frozenset(one.items()) for rater, one in held.items() if one and rater not in small)
        names = sorted({name for rater in small for name in held[rater]})

        def left(
            name: str, small: set[int] = small, sizes: Counter[frozenset[Any]] = sizes
        ) -> tuple[int, int, str]:
            without = [
                frozenset((n, v) for n, v in held[rater].items() if n != name) for rater in sorted(small)
            ]
            joined = sizes + Counter(one for one in without if one)
            lost = sum(name in held[rater] for rater in small)
            return sum(bool(one) and joined[one] < least for one in without), lost, name

        worst = min(names, key=left)
        for rater in small:
            if held[rater].pop(worst, None) is not None:
                removed.add((rater, worst))
    return removed


def _cost(name: str, before: Values, after: Values) -> AttributeCost:
    was = {rater: values[name] for rater, values in before.items() if name in values}
    now = {rater: after[rater].get(name, ()) for rater in was}
    return AttributeCost(
        name=name,
        raters=len(was),
        coarsened=sum(bool(now[rater]) and now[rater] != held for rater, held in was.items()),
        removed=sum(not now[rater] for rater in was),
        before=len(_counts(before, name)),
        after=len(_counts(after, name)),
        values=dict(sorted(_counts(after, name).items())),
    )
