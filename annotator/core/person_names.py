"""Finds people's names of several words where they are written with initials or with further names between."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

#: One word of letters, which may have apostrophes and hyphens inside.
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
#: Between the words of one name.
_BETWEEN = re.compile(r"\.?[ \u00a0]{0,3}")
_AFTER_COMMA = re.compile(r",?[ \u00a0]{0,3}")
#: Words of one letter: they are initials only with a full stop.
_WORDS_OF_ONE_LETTER = "aioy"
_MOST_BETWEEN = 2
_SHORTEST = 2


@dataclass(frozen=True)
class _Word:
    spellings: frozenset[str]
    start: int
    end: int
    capital: bool
    stop: bool

    @property
    def first(self) -> str:
        """The letters of an initial; of another word, its shortest spelling."""
        return min(self.spellings, key=len, default="")

    @property
    def initial(self) -> bool:
        one = len(self.first) == 1 and self.capital
        return one and (self.stop or self.first not in _WORDS_OF_ONE_LETTER)

    def begins(self, names: set[str]) -> bool:
        """Whether it's the initial of one of the names."""
        return self.initial and any(name[0] == self.first for name in names)


class PersonNames:
    """Some names, to be found with initials and middle names. ``spellings`` are the forms in which words are compared: two are the same
    if they share one. Names of one word, or with digits or signs, are ignored.

    >>> names = PersonNames(["John Smith"], spellings=lambda word: {word.lower()})
    >>> for text in ("by J. Smith", "John Quincy Smith", "Smith, J.", "I asked John S.", "John asked a smith"):
    ...     print([text[start:end] for start, end in names.spans(text)])
    ['J. Smith']
    ['John Quincy Smith']
    ['Smith, J.']
    ['John S.']
    []
    """

    def __init__(self, names: Iterable[str], *, spellings: Callable[[str], set[str]]) -> None:
        self._spellings = spellings
        self._firsts: dict[str, set[str]] = defaultdict(set)
        self._lasts: dict[str, set[str]] = defaultdict(set)
        for name in names:
            words = name.split()
            if len(words) < 2 or not all(_WORD.fullmatch(word.strip(".")) for word in words):
                continue
            for first, last in product(spellings(words[0]), spellings(words[-1])):
                if len(first) >= _SHORTEST and len(last) >= _SHORTEST:
                    self._firsts[last].add(first)
                    self._lasts[first].add(last)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each name that is written with initials or middle names."""
        if not self._firsts:
            return
        words = [self._word(match, text) for match in _WORD.finditer(text)]
        for at, word in enumerate(words):
            if not word.capital:
                continue
            for one in word.spellings:
                if firsts := self._firsts.get(one):
                    yield from self._around(text, words, at, firsts)
                if lasts := self._lasts.get(one):
                    yield from self._before_initial(text, words, at, lasts)

    def _word(self, match: re.Match[str], text: str) -> _Word:
        start, end = match.span()
        spellings = frozenset(self._spellings(match[0]))
        return _Word(spellings, start, end, match[0][0].isupper(), text[end : end + 1] == ".")

    def _around(self, text: str, words: list[_Word], at: int, firsts: set[str]) -> Iterator[tuple[int, int]]:
        """A last name after an initial or a first name and some others, or before an initial."""
        last, begin = words[at], at
        for _ in range(_MOST_BETWEEN + 1):
            if begin == 0 or not _BETWEEN.fullmatch(text, words[begin - 1].end, words[begin].start):
                break
            begin -= 1
            one = words[begin]
            if not one.capital:
                break
            initials = all(word.initial for word in words[begin:at])
            if not firsts.isdisjoint(one.spellings) or (initials and one.begins(firsts)):
                yield one.start, last.end
        if at + 1 < len(words) and _AFTER_COMMA.fullmatch(text, last.end, words[at + 1].start):
            after = words[at + 1]
            if after.begins(firsts):
                yield last.start, after.end + after.stop

    @staticmethod
    def _before_initial(text: str, words: list[_Word], at: int, lasts: set[str]) -> Iterator[tuple[int, int]]:
        """A first name before the initial of the last one, with its full stop."""
        if at + 1 == len(words) or not _BETWEEN.fullmatch(text, words[at].end, words[at + 1].start):
            return
        after = words[at + 1]
        if after.stop and after.begins(lasts):
            yield words[at].start, after.end + 1
