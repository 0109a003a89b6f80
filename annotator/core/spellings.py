"""Finds names in texts in whatever spelling: other case, accents, width or Unicode form, with punctuation glued on or left
out, in the middle of a word, in any script.

Names and texts are compared by their letters and digits alone (``letters_of``). A name is looked up by its first letters, so
that the time doesn't grow with the number of names.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

_OTHER_ASCII = re.compile(r"[^0-9a-z]+")
#: How many of a name's first letters are looked up. Names of scripts without an alphabet have as few as two.
_FIRST = 4
SHORTEST = 4
#: Letters that look like others or are written for them, and that no Unicode form makes the same: with a stroke, without a dot, those of
#: Cyrillic and Greek that look Latin.
_ALIKE = str.maketrans("łøđħŧıȷаеорсухіѕјԁһӏѵԛԝοανιρ", "lodhtijaeopcyxisjdhlvqwoavip")
#: Arabic's stroke that makes a word longer, and marks of length in Japanese.
_STRETCH = "ـーｰ"
_HIRAGANA, _KATAKANA = 0x3041, range(0x30A1, 0x30F7)
SHORTEST_OTHER_SCRIPT = 2


def letters_of(text: str) -> str:
    """The letters and digits of a text: without case, accents, width, punctuation and spaces.

    >>> letters_of("O.Brien-7"), letters_of("Ｊosé\\u0301")
    ('obrien7', 'jose')
    >>> letters_of("Łukasz"), letters_of("\u043ewl")
    ('lukasz', 'owl')
    """
    if text.isascii():
        return _OTHER_ASCII.sub("", text.lower())
    return "".join(map(_letters, text))


@lru_cache(maxsize=100_000)
def _letters(char: str) -> str:
    """What one character adds to ``letters_of``: nothing for punctuation and combining marks."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    return "".join(
        chr(ord(one) - _KATAKANA.start + _HIRAGANA) if ord(one) in _KATAKANA else one
        for one in folded.translate(_ALIKE)
        if one.isalnum() and one not in _STRETCH
    )


def long_enough(letters: str) -> bool:
    """Whether a name is long enough not to be part of every text by chance."""
    return len(letters) >= (SHORTEST if letters.isascii() else SHORTEST_OTHER_SCRIPT)


def telling(identifier: str) -> bool:
    """Whether an identifier can't be an ordinary word, name or number that a text of the material contains by chance.

    >>> [telling(one) for one in ("anna", "owl_fan_77", "a@b.example", "5f1c", "20260101")]
    [False, True, True, False, False]
    """
    letters = letters_of(identifier)
    if len(letters) < 6 or letters.isdigit():
        return False
    # Digests consist of these characters, so a short identifier of them is in one by chance.
    if re.fullmatch("[0-9a-f]+", letters):
        return len(letters) >= 12
    return any(char.isdigit() or char in "@_" for char in identifier)


#: Scripts that are written without spaces between words, by the beginnings of their characters' names.
_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def ordinary(identifier: str) -> bool:
    """Whether an identifier could be an ordinary word: one word in letters alone, or a very short text.

    >>> [ordinary(one) for one in ("will", "anna", "John Smith", "owl_fan_77", "王小明")]
    [True, True, False, False, True]
    """
    words = [word for word in re.split(r"[\W_]+", identifier) if word]
    return not (telling(identifier) or (len(words) > 1 and len(letters_of(identifier)) >= 7))


def spaceless(text: str) -> bool:
    """Whether a text has letters of a script that puts no spaces between words."""
    return not text.isascii() and any(unicodedata.name(char, "").startswith(_WITHOUT_SPACES) for char in text)


def _surname_first(name: str) -> str:
    """A name of several words with the last one first; any other text as it is.

    >>> _surname_first("John Smith"), _surname_first("owl_fan_77")
    ('Smith John', 'owl_fan_77')
    """
    *first, last = name.split() or [name]
    return " ".join([last, *first])


class Names:
    """Some names, to be found in texts.

    >>> names = Names(["owl_fan_77"])
    >>> names.spans("I asked @OWL_fan-77.Thanks")
    [(9, 19)]

    The surname may come first: "Smith, John" is found by "John Smith".
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_first: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        written = {letters_of(one) for name in names for one in (name, _surname_first(name))}
        for letters in sorted(written, key=len, reverse=True):
            if long_enough(letters):
                size = min(len(letters), _FIRST)
                self._by_first[size][letters[:size]].append(letters)

    def __bool__(self) -> bool:
        return bool(self._by_first)

    def within(self, text: str) -> bool:
        """Whether a name is in the text."""
        return any(True for _ in self._found(letters_of(text)))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where names are in the text: (start, end) of each, in order and without overlaps."""
        letters = letters_of(text)
        in_letters = sorted(self._found(letters))
        if not in_letters:
            return []
        # The character of the text that each letter comes from.
        origin = [index for index, char in enumerate(text) for _ in (letters_of(char))]
        spans: list[tuple[int, int]] = []
        for start, end in in_letters:
            first, last = origin[start], origin[end - 1] + 1
            if spans and first < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
            else:
                spans.append((first, last))
        return spans

    def _found(self, letters: str) -> Iterator[tuple[int, int]]:
        """(start, end) of every name in a text's letters."""
        for size, names in self._by_first.items():
            firsts = {letters[at : at + size] for at in range(len(letters) - size + 1)}
            for first in firsts & names.keys():
                for name in names[first]:
                    at = letters.find(name)
                    while at >= 0:
                        yield at, at + len(name)
                        at = letters.find(name, at + 1)
