"""The contested items of a study in an order: packed, because a large study has hundreds of thousands, of which a page shows fifty."""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, overload

from annotator.core.kept_figures import StudyCount, figures_kept, first_limit
from annotator.models import Study
from annotator.selectors.contested import contested_rows
from annotator.selectors.study import study_is_large

#: Orders of the queue -> their names on the page. The default is first.
ORDERS = {"entropy": "how divided the answers are"}
Uncertainty = Callable[[Study], Mapping[int, float]]
_UNCERTAINTY: dict[str, Uncertainty] = {}


def order_register(name: str, title: str, uncertainty: Uncertainty) -> None:
    """Register another order of the queue; called when an application starts. ``uncertainty`` maps items' ids to bits; for a large study
    a job calls it."""
    ORDERS[name] = title
    _UNCERTAINTY[name] = uncertainty


@dataclass(frozen=True)
class Waiting:
    """An item that a person may adjudicate. ``bits`` is the order's uncertainty about it; ``tie``: the first two disagree."""

    item: int
    raters: int
    answers: int
    bits: float
    tie: bool


@dataclass(frozen=True)
class ItemsInOrder:
    """Contested items in order: their ids, raters, different answers and bits, each an array of numbers."""

    items: array[int]
    raters: array[int]
    answers: array[int]
    bits: array[float]

    def places_of(self, some: Collection[int]) -> list[int]:
        """Where those of ``some`` items that are contested stand, ascending."""
        wanted = frozenset(some)
        return list(compress(range(len(self.items)), map(wanted.__contains__, self.items))) if wanted else []


_TYPES = ("q", "i", "i", "d")


def _in_order(study: Study, order: str) -> ItemsInOrder:
    rows = contested_rows(study)
    if order in _UNCERTAINTY:
        bits = _UNCERTAINTY[order](study)
        rows = [(item, raters, answers, bits.get(item, -1.0)) for item, raters, answers, _ in rows]
        rows.sort(key=lambda row: (-row[3], row[0]))
    columns: list[Any] = [array(kind, (row[n] for row in rows)) for n, kind in enumerate(_TYPES)]
    return ItemsInOrder(*columns)


def _packed(study_pk: int, order: str) -> list[tuple[str, ...]]:
    with figures_kept():  # the rows themselves aren't kept: they are much larger
        found = _in_order(Study.objects.get(pk=study_pk), order)
    columns = (found.items, found.raters, found.answers, found.bits)
    return [tuple(b64encode(column.tobytes()).decode() for column in columns)]


def _unpacked(packed: Sequence[str]) -> ItemsInOrder:
    columns: list[Any] = [array(kind) for kind in _TYPES]
    for column, text in zip(columns, packed, strict=True):
        column.frombytes(b64decode(text))
    return ItemsInOrder(*columns)


_ORDER = StudyCount("contested items in order", count=_packed)


def contested_in_order(study: Study, order: str) -> tuple[ItemsInOrder, bool]:
    """The study's contested items in one of ``ORDERS``, and whether a job still computes it; then they are in the default order.

    Those of a large study are kept (``annotator.core.kept_figures``), so that labelling an item doesn't wait for all its judgments.
    """
    if not study_is_large(study):
        return _in_order(study, order), False
    with figures_kept(study.pk, limit=first_limit()):
        if order not in _UNCERTAINTY:
            return _unpacked(*_ORDER.rows([study.pk, order])), False
        rows = _ORDER.rows_by_job([study.pk, order])
        if rows is not None:
            return _unpacked(*rows), False
        return _unpacked(*_ORDER.rows([study.pk, next(iter(ORDERS))])), True


class WaitingItems(Sequence[Waiting]):
    """The contested items but for those at the places ``left_out``, ascending; those at the places ``ties`` are ties."""

    def __init__(self, every: ItemsInOrder, left_out: Sequence[int], ties: Collection[int]) -> None:
        self._every, self._left_out, self._ties = every, left_out, frozenset(ties)

    def __len__(self) -> int:
        return len(self._every.items) - len(self._left_out)

    @overload
    def __getitem__(self, number: int) -> Waiting: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Waiting]: ...

    def __getitem__(self, number: int | slice) -> Waiting | Sequence[Waiting]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        place = number % len(self)
        for left_out in self._left_out:
            if left_out > place:
                break
            place += 1
        every = self._every
        return Waiting(
            every.items[place],
            every.raters[place],
            every.answers[place],
            every.bits[place],
            place in self._ties,
        )

    def number_of(self, item: int) -> int:
        """Which of them an item is, from 1; 0 if it isn't one of them."""
        try:
            place = self._every.items.index(item)
        except ValueError:
            return 0
        before = sum(one < place for one in self._left_out)
        return 0 if place in self._left_out else place - before + 1
