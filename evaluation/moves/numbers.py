"""Numbers of millions of rows in little memory: 8 bytes each where Python's own sets and dictionaries take about 100."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, MutableMapping

#: The largest number that a row can have.
MOST = 2**63 - 1


def ascending(numbers: Iterable[int]) -> array[int]:
    """Numbers that come in ascending order."""
    return array("q", numbers)


def among(numbers: array[int], number: object) -> bool:
    """Whether a number is among these, which are ascending.

    >>> [among(ascending([2, 5, 9]), one) for one in (5, 6, 10, None)]
    [True, False, False, False]
    """
    if not isinstance(number, int):
        return False
    at = bisect_left(numbers, number)
    return at < len(numbers) and numbers[at] == number


class NumberMap(MutableMapping[int, int]):
    """Number in the file -> number here. What isn't added in ascending order takes as much memory as in a dictionary.

    >>> found = NumberMap()
    >>> found[3], found[7], found[5], found[3] = 30, 70, 50, 31
    >>> dict(found), found.get(4), len(found)
    ({3: 31, 7: 70, 5: 50}, None, 3)
    """

    def __init__(self) -> None:
        self._before, self._here = array("q"), array("q")
        self._others: dict[int, int] = {}

    def __getitem__(self, number: int) -> int:
        if not isinstance(number, int):  # whatever a file has in its place
            raise KeyError(number)
        at = bisect_left(self._before, number)
        if at < len(self._before) and self._before[at] == number:
            return self._here[at]
        return self._others[number]

    def __setitem__(self, number: int, here: int) -> None:
        at = bisect_left(self._before, number)
        if at == len(self._before) and number not in self._others:
            self._before.append(number)
            self._here.append(here)
        elif at < len(self._before) and self._before[at] == number:
            self._here[at] = here
        else:
            self._others[number] = here

    def __delitem__(self, number: int) -> None:
        raise TypeError("rows that were made aren't taken back")

    def __iter__(self) -> Iterator[int]:
        yield from self._before
        yield from self._others

    def __len__(self) -> int:
        return len(self._before) + len(self._others)
