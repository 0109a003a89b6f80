"""Screening of free text: what can identify a person is replaced and counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

_PATTERNS = {
    "email address": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "network address": r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)",
    "phone number": r"(?<![\w+])\+\d(?:[ ()/.-]{0,2}\d){7,14}(?!\w)",
    "Prolific id": r"(?<!\w)[0-9a-f]{24}(?!\w)",
    "MTurk worker id": r"(?<!\w)A[0-9A-Z]{12,14}(?!\w)",
}
#: Shorter names of people are words of the language too often to be taken out of every text.
SHORTEST_NAME = 4


_WORD = re.compile(r"[\w@.+-]*\w")


class TextScreen:
    """Replaces email and network addresses, phone numbers, panels' ids, and the names in ``identifiers``.

    ``found`` counts what was replaced, by kind.

    >>> screen = TextScreen(["owl_fan_77"])
    >>> screen.text("I asked owl_fan_77 (o.fan@example.org).")
    'I asked [name removed] ([email address removed]).'
    >>> dict(screen.found)
    {'email address': 1, 'name': 1}
    """

    def __init__(self, identifiers: Iterable[str] = ()) -> None:
        self.found: Counter[str] = Counter()
        self._patterns = [(kind, re.compile(pattern)) for kind, pattern in _PATTERNS.items()]
        names = {name for name in identifiers if len(name) >= SHORTEST_NAME}
        # Looked up word by word, so that the time doesn't depend on how many there are; few are several words.
        self._words = frozenset(name for name in names if _WORD.fullmatch(name))
        several = sorted(names - self._words, key=len, reverse=True)
        self._several = re.compile("|".join(map(re.escape, several))) if several else None

    def text(self, text: str) -> str:
        """The text with a note, such as ``[email address removed]``, in place of each thing found."""
        if text.isalpha() and text not in self._words:
            return text
        for kind, pattern in self._patterns:
            text, number = pattern.subn(f"[{kind} removed]", text)
            if number:
                self.found[kind] += number
        if self._several is not None:
            text = self._several.sub(self._removed, text)
        return _WORD.sub(self._word, text)

    def _word(self, match: re.Match[str]) -> str:
        return self._removed(match) if match[0] in self._words else match[0]

    def _removed(self, match: re.Match[str]) -> str:
        self.found["name"] += 1
        return "[name removed]"

    def value(self, value: Any) -> Any:
        """JSON with all its texts screened; the keys of objects stay, because they are names of fields."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self.value(one) for name, one in value.items()}
        return [self.value(one) for one in value] if isinstance(value, list) else value


def telling(identifier: str) -> bool:
    """Whether an identifier can't be an ordinary word or name that a text of the material contains by chance.

    >>> [telling(one) for one in ("anna", "owl_fan_77", "a@b.example", "5f1c")]
    [False, True, True, False]
    """
    return len(identifier) >= 6 and any(char.isdigit() or char in "@_" for char in identifier)


class LeakFound(ValueError):
    """A file of the release contains something by which a person is known."""


class LeakCheck:
    """Called with each line of a release. Raises ``LeakFound`` if it contains an identifier that ``telling`` accepts."""

    def __init__(self, identifiers: Iterable[str]) -> None:
        wanted = {one for one in identifiers if telling(one)}
        self._words = frozenset(one for one in wanted if _WORD.fullmatch(one))
        several = sorted(wanted - self._words)
        self._several = re.compile("|".join(map(re.escape, several))) if several else None

    def __call__(self, line: str) -> None:
        if not self._words.isdisjoint(_WORD.findall(line)) or (self._several and self._several.search(line)):
            raise LeakFound(line)
