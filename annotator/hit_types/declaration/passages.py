"""Marked passages of a text: how they are written, one on a line, and how lines are read and checked.

A line is ``omission/major @12-20: "the words"``. Offsets count code points from 0; the end isn't part of the passage. People who
write lines by hand, and models, leave the offsets out: then the words must be in the text, once, or with ``#2`` for their second
occurrence. Words are written as in JSON: ``\\"`` is a quotation mark and ``\\n`` the end of a line.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.hit_types.shapes import JSON, Option, Passages

#: The answer that there is nothing to mark.
NONE = "none"
MOST = 50
_ENTRY = re.compile(
    r"\s*(?:[-*•]\s+)?(?P<category>[^/@:\"\n]{1,80}?)\s*(?:/\s*(?P<severity>[^/@:\"\n]{1,80}?)\s*)?"
    r"(?:@\s*(?P<start>[0-9]{1,6})\s*-\s*(?P<end>[0-9]{1,6})\s*)?(?P<colon>:\s*)?"
    r"(?P<words>\"(?:[^\"\\\n]|\\.)*\")?\s*(?:#\s*(?P<nth>[0-9]{1,3}))?\s*(?:;|\n|$)"
)
#: An entry whose words aren't quoted: they go on to the end of its line.
_LOOSE = re.compile(
    r"\s*(?:[-*•]\s+)?(?P<category>[^/@:\"\n]{1,80}?)\s*(?:/\s*(?P<severity>[^/@:\"\n]{1,80}?)\s*)?:\s*(?P<line>[^\n]++)"
)
_NTH = re.compile(r"#\s?([0-9]{1,3})$")
_BLANKS = re.compile(r"\s++")
#: Words in quotes, up to the end of the line if they don't end; or white space.
_QUOTED_OR_BLANK = re.compile(r"(?P<words>\"(?:[^\"\\\n]|\\.)*+)(?P<end>\"?)|\s++")
#: Signs that are left out of models' replies: emojis, and invisible ones.
_DROPPED = ("So", "Sk", "Cf", "Cs")
_QUOTES = str.maketrans("“”„‟«»‘’‚‛′", '""""""\'\'\'\'\'')


class PassageFault(ValueError):
    """What is wrong with a marked passage, and what was expected."""


@dataclass(frozen=True, order=True)
class MarkedPassage:
    """A passage of a text: code points from ``start`` up to ``end``. ``severity`` is empty if passages have none."""

    start: int
    end: int
    category: str
    severity: str = ""

    @property
    def value(self) -> JSON:
        """As the ratings table has it."""
        return {"start": self.start, "end": self.end, "category": self.category, "severity": self.severity}

    def line(self, text: str) -> str:
        """As a response has it, with its exact words.

        >>> MarkedPassage(4, 7, "tone").line("The cat sat.")
        'tone @4-7: "cat"'
        """
        words = json.dumps(text[self.start : self.end], ensure_ascii=False)
        severity = f"/{self.severity}" if self.severity else ""
        return f"{self.category}{severity} @{self.start}-{self.end}: {words}"


def lines_of(passages: Iterable[MarkedPassage], text: str) -> str:
    """The lines of passages, in the order of the text; each once."""
    return "\n".join(one.line(text) for one in sorted(set(passages)))


def passages_kept(lines: str) -> list[MarkedPassage]:
    """The passages of a response that has been checked and stored.

    >>> passages_kept('tone/minor @4-7: "cat"')
    [MarkedPassage(start=4, end=7, category='tone', severity='minor')]
    """
    found = []
    for line in lines.split("\n"):
        if entry := re.match(r"(\w+)(?:/(\w+))? @(\d+)-(\d+): ", line):
            found.append(MarkedPassage(int(entry[3]), int(entry[4]), entry[1], entry[2] or ""))
    return found


def passage_line(one: Mapping[str, Any]) -> str:
    """The line of a passage that is sent as an object: with ``words`` or with ``start`` and ``end``.

    >>> passage_line({"words": "cat", "category": "tone", "severity": "minor"})
    'tone/minor: "cat"'
    """
    severity = f"/{one['severity']}" if one.get("severity") else ""
    place = f" @{one['start']}-{one['end']}" if one.get("start") is not None and "end" in one else ""
    words = f": {json.dumps(str(one['words']), ensure_ascii=False)}" if one.get("words") else ""
    nth = f" #{one['nth']}" if one.get("nth") else ""
    return f"{one.get('category', '')}{severity}{place}{words}{nth}"


def passage_objects(lines: str) -> list[JSON]:
    """The passages of an answer as a model sends them in an object; none of an answer that can't be read.

    >>> passage_objects('tone/minor @4-7: "cat"')
    [{'words': 'cat', 'nth': None, 'category': 'tone', 'severity': 'minor'}]
    >>> passage_objects('tone: "cat" #2; tone: "sat"'), passage_objects("none")
    ([{'words': 'cat', 'nth': 2, 'category': 'tone'}, {'words': 'sat', 'nth': None, 'category': 'tone'}], [])
    """
    found: list[JSON] = []
    at, lines = 0, _single_blanks(lines)
    while (entry := _ENTRY.match(lines, at)) and entry["words"]:
        severity = {"severity": entry["severity"]} if entry["severity"] else {}
        nth = int(entry["nth"]) if entry["nth"] else None
        found.append({"words": _words(entry["words"]), "nth": nth, "category": entry["category"]} | severity)
        at = entry.end()
        if at >= len(lines):
            break
    return found


@dataclass(frozen=True)
class PassageReader:
    """Reads lines about one text."""

    text: str
    asked: Passages
    most: int = MOST
    _searched: dict[str, Any] = field(default_factory=dict, compare=False)

    def read(self, written: str) -> list[MarkedPassage]:
        """The passages of an answer; raises ``PassageFault`` with its line.

        >>> asked = Passages("t", (Option("tone", "Tone"),))
        >>> PassageReader("The cat sat.", asked).read('Tone: "cat"')
        [MarkedPassage(start=4, end=7, category='tone', severity='')]
        """
        if written.strip().strip("\"'.").lower() == NONE:
            return []
        found: list[MarkedPassage] = []
        at, written = 0, _single_blanks(written.strip())
        while at < len(written):
            entry = _ENTRY.match(written, at)
            given = entry.groupdict() if entry else {}
            if not (given.get("words") or given.get("start")) and (entry := _LOOSE.match(written, at)):
                given = entry.groupdict() | _loose_words(entry["line"])
            number = len(found) + 1
            if entry is None:
                line = written[at:].strip().split("\n", 1)[0]
                raise PassageFault(f"passage {number}: {line[:60]!r} can't be read; expected {self.form}")
            found.append(self._passage(number, given))
            at = entry.end()
            if len(found) > self.most:
                raise PassageFault(f"marks more than {self.most} passages")
        return sorted(set(found))

    @property
    def form(self) -> str:
        """How a passage is written."""
        severity = "/severity" if self.asked.severities else ""
        return f'category{severity}: "the exact words"'

    def _passage(self, number: int, entry: Mapping[str, Any]) -> MarkedPassage:
        category = self._named(number, "category", entry["category"], self.asked.categories)
        severity = ""
        if self.asked.severities:
            severity = self._named(number, "severity", entry.get("severity") or "", self.asked.severities)
        elif entry.get("severity"):
            raise PassageFault(
                f"passage {number}: has a severity, {entry['severity']!r}; passages have none here"
            )
        words = _words(entry.get("words") or "")
        if entry.get("start") is not None:
            start, end = int(entry["start"]), int(entry["end"])
            if not 0 <= start < end <= len(self.text):
                raise PassageFault(
                    f"passage {number}: {start}-{end} isn't in the text, which has {len(self.text)} characters"
                )
            if words and _letters(words) != _letters(self.text[start:end]):
                raise PassageFault(
                    f"passage {number}: the text has {self.text[start:end][:60]!r} at {start}-{end}, not {words[:60]!r}"
                )
        else:
            start, end = self._place(number, words, entry.get("nth"))
        return MarkedPassage(start, end, category, severity)

    def _named(self, number: int, what: str, given: str, options: Sequence[Option]) -> str:
        plain = given.strip().strip("*_`").lower()
        for option in options:
            if plain in (option.value, option.value.replace("_", " "), option.label.lower()):
                return option.value
        known = ", ".join(option.value for option in options)
        got = f"{what} {given!r} is none of" if given else f"{what} is missing; expected one of"
        raise PassageFault(f"passage {number}: {got}: {known}")

    def _place(self, number: int, words: str, nth: Any) -> tuple[int, int]:
        places = self._places(words)
        if not places:
            raise PassageFault(f"passage {number}: {words[:60]!r} isn't in the text; copy its exact words")
        if nth is None and len(places) > 1:
            raise PassageFault(
                f"passage {number}: {words[:60]!r} is in the text {len(places)} times; add more words, or #1 for the first"
            )
        which = int(nth or 1)
        if not 1 <= which <= len(places):
            raise PassageFault(
                f"passage {number}: {words[:60]!r} has no occurrence #{which}; it has {len(places)}"
            )
        return places[which - 1]

    def _places(self, words: str) -> list[tuple[int, int]]:
        """Where words are in the text; if nowhere exactly, then without regard to case, spaces and the form of quotes."""
        if not words:
            return []
        if exact := _occurrences(self.text, words):
            return [(at, at + len(words)) for at in exact]
        if not self._searched:
            self._searched["plain"], self._searched["at"] = _plain(self.text)
        plain, at = self._searched["plain"], self._searched["at"]
        sought = _plain(words.strip())[0].strip()
        found = _occurrences(plain, sought) if sought else []
        return [(at[place], at[place + len(sought) - 1] + 1) for place in found]


def _single_blanks(written: str) -> str:
    """The text with one blank, or one line end, for any number of them outside of quotes. Otherwise the time to read an entry
    would grow with a power of their number.

    >>> _single_blanks('tone  /  minor :"two  words"\\r\\n  tone')
    'tone / minor :"two  words"\\ntone'
    """

    def once(found: re.Match[str]) -> str:
        if found["words"] and found["end"]:
            return found[0]
        if found["words"]:
            return _BLANKS.sub(" ", found[0])
        return "\n" if "\n" in found[0] else " "

    return _QUOTED_OR_BLANK.sub(once, written)


def _loose_words(line: str) -> dict[str, str | None]:
    """The words of a line without quotes, and which occurrence is meant.

    >>> _loose_words("the cat #2 ")
    {'words': 'the cat', 'nth': '2'}
    """
    line = line.strip()
    if found := _NTH.search(line):
        return {"words": line[: found.start()].rstrip(), "nth": found[1]}
    return {"words": line, "nth": None}


def _words(written: str) -> str:
    written = written.strip()
    if len(written) > 1 and written[0] == written[-1] == '"':
        try:
            return str(json.loads(written, strict=False))
        except ValueError:
            return written[1:-1]
    return written.strip("“”„\"'")


def _letters(text: str) -> str:
    """What must be the same in words and in the passage that they name; spaces and signs may differ."""
    return "".join(letter for letter in _plain(text)[0] if letter.isalnum())


def _occurrences(text: str, words: str) -> list[int]:
    found, at = [], text.find(words)
    while at >= 0:
        found.append(at)
        at = text.find(words, at + 1)
    return found


def _plain(text: str) -> tuple[str, list[int]]:
    """A text as searches compare it, and the place of each of its characters in the text itself."""
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text.translate(_QUOTES)):
        if unicodedata.category(letter) in _DROPPED:
            continue
        plain = " " if letter.isspace() else unicodedata.normalize("NFKC", letter).casefold()
        if plain == " " and letters and letters[-1] == " ":
            continue
        letters += plain
        places += [place] * len(plain)
    return "".join(letters), places
