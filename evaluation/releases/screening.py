"""Screening of free text: what can identify a person is replaced and counted."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import AddressValueError, IPv6Address
from typing import Any

import phonenumbers

from annotator.core.encoded import readings
from annotator.core.spellings import Names, letters_of, long_enough, telling
from annotator.recruitment.registry import PANELS

#: Words before a number without an area code that say what it is; the second only with a further word or a colon.
_PHONE = "tel|phone|telephone|whatsapp|sms|telefon|teléfono|rufnummer|téléphone|telefone|тел|телефон"
_PHONE_TOO = "mobile|cell|handy|mobil|celular|portable"
_SITES = "facebook|instagram|linkedin|tiktok|twitter|github|youtube|reddit|snapchat|threads|bsky|vk|weibo"
#: After "dot": ends of addresses that are no ordinary words.
_ENDS = "com|org|net|edu|gov|info|io|de|uk|fr|es|nl|ch|pl|se|dk|fi|pt|br|cn|jp|ru|au|ca|eu"
#: Searched for in the text as NFKC writes it: a full-width @ is an @. Where a pattern has a group, the group is replaced.
_PATTERNS = {
    "email address": r"[^\s@<>()\[\],;:\"]+@[^\s@<>()\[\],;:\"]*\w"
    r"|(?i:(?<![\w.+-])[\w.+-]+ ?[\[({] ?at ?[\])}] ?[\w-]+(?:(?:\.| ?[\[({] ?dot ?[\])}] ?| dot )[\w-]+)*)"
    rf"|(?i:(?<![\w.+-])[\w.+-]+ at [\w-]+(?: dot [\w-]+)*? dot (?:{_ENDS})(?!\w))",
    "account name": r"(?<![\w@./])@\w[\w.]{1,38}\w|(?<![\w/])u/\w[\w-]{2,20}(?![\w/])"
    rf"|(?i:(?<![\w.])(?:https?://)?(?:www\.)?(?:(?:{_SITES})\.(?:com|net|app)|x\.com|t\.me|wa\.me|fb\.me|linktr\.ee)/[\w@./?=+-]*\w)",
    "network address": r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)|(?<![\w:])[0-9A-Fa-f:]*::?[0-9A-Fa-f:.]+(?![\w:])",
    "phone number": r"(?<![\w+.])\+?\(?\d(?:[ ()/.-]{0,2}\d){7,14}(?!\w)",
    "local phone number": rf"(?i:(?<!\w)(?:(?:{_PHONE})[.:]? ?|(?:{_PHONE_TOO})(?=[.: ]{{1,2}}(?:phone|number|nummer|no|nr|is|ist|\d{{3}}-\d{{4}})|:)[.: ]{{1,2}}"
    r"|(?:call|text|ring|phone) (?:me|us)(?: at| on|:)? |my number(?: is|:)? )"
    r"(?:phone )?(?:number|nummer|no\.?|nr\.?|#)?:? ?(?:is|ist|=)?:? ?|(?:هاتف|电话|電話)[^\d\n]{0,5})(?P<id>\d(?:[ ()/.-]?\d){4,10})(?!\w)"
    r"|(?i:(?<!\w)(?:call|text|ring) )(?P<id2>\d{3}[-. ]\d{4})(?!\w)",
    "MTurk worker id": r"(?<!\w)A[0-9A-Z]{12,14}(?!\w)",
}
_LOCAL = "local "
#: A word of base64 that isn't a participant's name must be this long: a shorter one is an ordinary word.
_SHORTEST_PACKED = 16


class TextScreen:
    """Replaces email and network addresses, phone numbers, account names of other sites, panels' ids, and the names in
    ``identifiers`` in any spelling and encoding.

    A text that is one of ``labels`` is an answer that somebody chose, not one that they wrote, and stays. ``found``
    counts what was replaced, by kind.

    >>> screen = TextScreen(["owl_fan_77"])
    >>> screen.text("I asked @OWL_FAN_77 (o.fan@example.org).")
    'I asked [account name removed] ([email address removed]).'
    >>> screen.text("I am OWL%5FFAN%5F77.")
    'I am [name removed].'
    >>> sorted(screen.found.items())
    [('account name', 1), ('email address', 1), ('name', 1)]
    """

    def __init__(self, identifiers: Iterable[str] = (), *, labels: Collection[str] = ()) -> None:
        self.found: Counter[str] = Counter()
        patterns = dict(entry for panel in PANELS for entry in panel.identifiers.items()) | _PATTERNS
        self._patterns = [(kind, re.compile(pattern)) for kind, pattern in patterns.items()]
        self._names = Names(identifiers)
        self.labels = frozenset(labels)

    def text(self, text: str) -> str:
        """The text with a note, such as ``[email address removed]``, in place of each thing found."""
        if text in self.labels:
            return text
        spans = [
            (*reading.span(start, end), kind)
            for reading in readings(text, shortest=_SHORTEST_PACKED)
            for start, end, kind in self._in_reading(reading.text)
        ]
        taken = [False] * len(text)
        for start, end, _ in spans:
            taken[start:end] = [True] * (end - start)
        # A name in an address goes with the address.
        spans += [(start, end, "name") for start, end in self._names.spans(text) if not all(taken[start:end])]
        return self._without(text, sorted(spans)) if spans else text

    def _in_reading(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, kind) of addresses, numbers and panels' ids."""
        plain, origin = _plain(text)
        for kind, pattern in self._patterns:
            for match in pattern.finditer(plain):
                if kind != "network address" or _is_address(match[0]):
                    group = match.lastgroup or 0
                    start, end = match.span(group)
                    yield origin[start], origin[end - 1] + 1, kind.removeprefix(_LOCAL)
        for start, end in phone_numbers(plain):
            yield origin[start], origin[end - 1] + 1, "phone number"

    def _without(self, text: str, spans: list[tuple[int, int, str]]) -> str:
        pieces, at = [], 0
        for start, end, kind in spans:
            if start >= at:
                self.found[kind] += 1
                pieces += [text[at:start], f"[{kind} removed]"]
            at = max(at, end)
        return "".join([*pieces, text[at:]])

    def value(self, value: Any) -> Any:
        """JSON with all its texts screened; the keys of objects stay, because they are names of fields."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self.value(one) for name, one in value.items()}
        return [self.value(one) for one in value] if isinstance(value, list) else value


#: Countries whose way of writing phone numbers without a country's code is known; the others' are found by their digits.
_REGIONS = ("US", "GB", "DE", "FR", "IN", "CN", "BR", "JP", "NG", "PL")
_FEWEST_DIGITS = 6
_DECIMAL = re.compile(r"\d{1,3}\.\d+")


def phone_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Where phone numbers are in a text: those with a country's code, and valid ones of large countries without.

    >>> list(phone_numbers("call +44 20 7946 0958 ext. 12 or (0)30 90 18 20"))[:1]
    [(5, 29)]
    """
    if sum(map(str.isdigit, text)) < _FEWEST_DIGITS:
        return
    for match in phonenumbers.PhoneNumberMatcher(text, None, leniency=phonenumbers.Leniency.POSSIBLE):
        yield match.start, match.end
    for region in _REGIONS:
        for match in phonenumbers.PhoneNumberMatcher(text, region, leniency=phonenumbers.Leniency.VALID):
            if not _DECIMAL.fullmatch(match.raw_string):
                yield match.start, match.end


def _plain(text: str) -> tuple[str, range | list[int]]:
    """The text in the form NFKC, and the character of the text that each of its characters comes from."""
    if text.isascii():
        return text, range(len(text))
    pieces = [unicodedata.normalize("NFKC", char) for char in text]
    return "".join(pieces), [at for at, piece in enumerate(pieces) for _ in piece]


def _is_address(text: str) -> bool:
    """Whether it's an IPv4 address, or an IPv6 address and not a time of day (12:30:05)."""
    if ":" not in text:
        return True
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


class LeakFound(ValueError):
    """A file of the release contains something by which a person is known."""


class LeakCheck:
    """Called with each line of a release. Raises ``LeakFound`` if it contains an identifier that ``telling`` accepts, in
    any spelling."""

    def __init__(self, identifiers: Iterable[str]) -> None:
        self._names = Names(
            identifier
            for identifier in identifiers
            if telling(identifier) and long_enough(letters_of(identifier))
        )

    def __call__(self, line: str) -> None:
        if self._names and self._names.within(line):
            raise LeakFound(line)

    def checked(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The pieces of a file, each checked before it's passed on, together with the end of the one before it."""
        end = ""
        for piece in pieces:
            text = piece.decode("utf-8", errors="ignore")
            self(end + text)
            end = text[-1_000:]
            yield piece
