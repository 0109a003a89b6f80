"""Finds names in texts in whatever spelling: other case, accents, width or Unicode form, with punctuation glued on or left
out, in the middle of a word, in any script, with umlauts as two letters, encoded, with initials.

Names and texts are compared by their letters and digits alone (``letters_of``). A name is looked up by its first letters, so
that the time doesn't grow with the number of names.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product

from annotator.core.encoded import readings
from annotator.core.person_names import PersonNames

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
#: Letters that are also written as two, and marks for which a letter is added after some others: ü is ue, å is aa.
_TWO_LETTERS = {"ø": "oe", "æ": "ae", "œ": "oe", "þ": "th", "đ": "dj"}
_ADDED = {"\u0308": ("aou", "e"), "\u030b": ("ou", "e"), "\u030a": ("a", "a")}
_MARKED = re.compile("[aou]\u0308|[ou]\u030b|a\u030a")
_LONG = str.maketrans(_TWO_LETTERS)
#: A name with more such letters is searched for with all or none of them as two.
_MOST_TWOFOLD = 4


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


def _in_two_letters(text: str) -> list[str]:
    """What each character adds to the letters of a text, where umlauts and the like are written as two letters.

    >>> "".join(_in_two_letters("Jürgen Größ")), "".join(_in_two_letters("A\u030asa Noël"))
    ('juergengroess', 'aasanoel')
    """
    found, base = [], ""
    for char in text:
        piece = ""
        for one in unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold()):
            after, letter = _ADDED.get(one, ("", ""))
            if base and base in after:
                piece, base = piece + letter, ""
            elif one in _TWO_LETTERS:
                piece, base = piece + _TWO_LETTERS[one], ""
            else:
                piece += _letters(one)
                base = base if unicodedata.combining(one) else one
        found.append(piece)
    return found


def _long_letters(text: str) -> str:
    """``letters_of`` with umlauts and the like as two letters, without where each letter comes from.

    >>> _long_letters("Jürgen"), _long_letters("Jurgen")
    ('juergen', '')
    """
    if text.isascii():
        return ""
    whole = unicodedata.normalize("NFKD", text).casefold()
    long = _MARKED.sub(lambda match: match[0][0] + _ADDED[match[0][1]][1], whole).translate(_LONG)
    return "" if long == whole else letters_of(long)


def _foldings(text: str) -> list[list[str]]:
    """The letters that each character adds: as ``letters_of`` has them and, if that differs, in two letters."""
    if text.isascii():
        return [list(map(_letters, text))]
    plain, long = list(map(_letters, text)), _in_two_letters(text)
    return [plain] if plain == long else [plain, long]


def _written(name: str) -> set[str]:
    """The letters of a name in each way of writing it: with and without two letters for each umlaut.

    >>> sorted(_written("Jürgen Müller"))
    ['juergenmueller', 'juergenmuller', 'jurgenmueller', 'jurgenmuller']
    """
    if name.isascii():
        return {letters_of(name)}
    foldings = _foldings(name)
    pairs = list(zip(*foldings, strict=True))
    if sum(len(set(pair)) > 1 for pair in pairs) > _MOST_TWOFOLD:
        return {"".join(folding) for folding in foldings}
    return {"".join(choice) for choice in product(*map(dict.fromkeys, pairs))}


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
    >>> names.spans("I asked @OWL_fan-77.Thanks"), names.spans("owl%5Ffan%5F77")
    ([(9, 19)], [(0, 14)])

    The surname may come first: "Smith, John" is found by "John Smith".
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_first: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        names = list(names)
        written = {
            letters for name in names for one in (name, _surname_first(name)) for letters in _written(one)
        }
        for letters in sorted(written, key=len, reverse=True):
            if long_enough(letters):
                size = min(len(letters), _FIRST)
                self._by_first[size][letters[:size]].append(letters)
        self._of_people = PersonNames(names, spellings=_written)

    def __bool__(self) -> bool:
        return bool(self._by_first)

    def within(self, text: str) -> bool:
        """Whether a name is in the text."""
        return any(True for _ in self._all(text, whole=False))

    def spans(self, text: str, *, whole: bool = False) -> list[tuple[int, int]]:
        """Where names are in the text: (start, end) of each, in order and without overlaps; with their accents, if those are
        characters of their own. ``whole``: only where a name is a word of its own; digits may follow it, and scripts without spaces
        have it anywhere.
        """
        spans: list[tuple[int, int]] = []
        for first, last in sorted(self._all(text, whole=whole)):
            if spans and first < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
            else:
                spans.append((first, last))
        return spans

    def _all(self, text: str, *, whole: bool) -> Iterator[tuple[int, int]]:
        """(start, end) of names in each reading of the text."""
        if not self:
            return
        for reading in readings(text):
            for start, end in self._in_reading(reading.text, whole=whole):
                yield reading.span(start, end)

    def _in_reading(self, text: str, *, whole: bool) -> Iterator[tuple[int, int]]:
        yield from self._of_people.spans(text)
        # What is rare is looked for only where it can be.
        if not any(True for letters in (letters_of(text), _long_letters(text)) for _ in self._found(letters)):
            return
        for pieces in _foldings(text):
            in_letters = list(self._found("".join(pieces)))
            # The character of the text that each letter comes from.
            origin = [index for index, piece in enumerate(pieces) for _ in piece] if in_letters else []
            for start, end in in_letters:
                first, last = origin[start], _with_marks(text, origin[end - 1] + 1)
                if not whole or _is_word(text, first, last):
                    yield first, last

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


def _is_word(text: str, start: int, end: int) -> bool:
    return spaceless(text[start:end]) or not (
        text[max(start - 1, 0) : start].isalpha() or text[end : end + 1].isalpha()
    )


def _with_marks(text: str, end: int) -> int:
    """The end of a name with the accents that are characters of their own."""
    while end < len(text) and unicodedata.category(text[end]).startswith("M"):
        end += 1
    return end
