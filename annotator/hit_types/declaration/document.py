"""A file as plain values with their lines: JSON, or the part of YAML that has no surprises.

Only scalars, lists and objects with text keys are read, as in YAML 1.2: ``yes``, ``no`` and dates are text, only ``true`` and
``false`` are truth values. Anchors, aliases, tags, repeated keys and several documents are refused, and so is what is too large or
nested too deeply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from annotator.hit_types.declaration.problems import DeclarationRefused, Path, Problem, path_text

#: Bytes of a file, levels of nesting, and values in it.
MOST_BYTES = 1_000_000
DEEPEST = 20
MOST_VALUES = 50_000
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}\Z")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
#: Control characters, those that break lines unseen, and those that reverse the direction of text: a label must be what it looks like.
_BROKEN = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]")

_PAIR_OF_ESCAPES = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE
)


def _one_character(found: re.Match[str]) -> str:
    high, low = int(found[2], 16) - 0xD800, int(found[3], 16) - 0xDC00
    return found[1] + chr(0x10000 + high * 0x400 + low)


@dataclass(frozen=True)
class DeclaredFile:
    """A file's value, and the line of each place in it (from 1)."""

    value: Any
    lines: dict[Path, int]


def document_read(source: str | bytes) -> DeclaredFile:
    """Read a file; raises ``DeclarationRefused``.

    >>> document_read("name: clarity\\nasked: yes\\n").value
    {'name': 'clarity', 'asked': 'yes'}
    >>> document_read("a: 1\\na: 2\\n")
    Traceback (most recent call last):
    ...
    annotator.hit_types.declaration.problems.DeclarationRefused: line 2: a is given twice; use each name once
    """
    text = _text_of(source)
    if text.lstrip().startswith("{"):
        # Outside of texts, JSON allows tabs between its parts; YAML doesn't. Nor does it read pairs of escapes as one character.
        text = _PAIR_OF_ESCAPES.sub(_one_character, text.replace("\t", " "))
    try:
        return _EventReader(text).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        what = error.problem or error.context or "is written wrongly"
        raise DeclarationRefused(
            [Problem((), f"can't be read as YAML or JSON: {what}; check indentation and quotes", line)]
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, DeclarationRefused):
            raise
        raise DeclarationRefused([Problem((), f"can't be read as YAML or JSON: {error}"[:300], 1)]) from None


def _text_of(source: str | bytes) -> str:
    size = len(source)
    if size > MOST_BYTES:
        message = f"has {size:,} bytes; expected at most {MOST_BYTES:,}"
        raise DeclarationRefused([Problem((), message, 1)])
    if isinstance(source, bytes):
        try:
            text = source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = source[: error.start].count(b"\n") + 1
            raise DeclarationRefused([Problem((), "isn't UTF-8 text; save it as UTF-8", line)]) from None
    else:
        text = source
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if broken := _BROKEN.search(text):
        line = text[: broken.start()].count("\n") + 1
        raise DeclarationRefused([Problem((), _control(broken), line)])
    return text


def _control(found: re.Match[str]) -> str:
    return f"contains the control character U+{ord(found[0]):04X}; remove it"


class _EventReader:
    """Builds values from YAML's events, of which there is one for each scalar, and two for each list or object."""

    def __init__(self, text: str):
        self.events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))
        self.lines: dict[Path, int] = {}
        self.count = 0

    def document(self) -> DeclaredFile:
        for event in self.events:
            if isinstance(event, yaml.StreamEndEvent):
                self._refuse((), 1, "is empty; expected an object with the keys of a HIT type")
            if isinstance(event, yaml.DocumentStartEvent):
                break
        value = self._value(next(self.events), ())
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                line = event.start_mark.line + 1 if event.start_mark else 1
                self._refuse((), line, "has a second document after ---; expected one")
        return DeclaredFile(value, self.lines)

    def _value(self, event: Any, path: Path) -> Any:
        line = event.start_mark.line + 1
        self.lines.setdefault(path, line)
        self._check(event, path, line)
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            values: list[Any] = []
            while not isinstance(inner := next(self.events), yaml.SequenceEndEvent):
                values.append(self._value(inner, (*path, len(values))))
            return values
        found: dict[str, Any] = {}
        while not isinstance(key_event := next(self.events), yaml.MappingEndEvent):
            at = key_event.start_mark.line + 1
            self._check(key_event, path, at)
            if not isinstance(key_event, yaml.ScalarEvent):
                self._refuse(path, at, "has a key that is a list or an object; expected text")
            key = key_event.value
            if key == "<<" and key_event.style in (None, ""):
                self._refuse(path, at, "merges another object with <<; write its keys here")
            if key in found:
                self._refuse((*path, key), at, "is given twice; use each name once")
            self.lines[*path, key] = at
            found[key] = self._value(next(self.events), (*path, key))
        return found

    def _check(self, event: Any, path: Path, line: int) -> None:
        self.count += 1
        if isinstance(event, yaml.AliasEvent):
            self._refuse(path, line, f"refers to *{event.anchor}; write the value here")
        if event.anchor is not None:
            self._refuse(path, line, f"has an anchor, &{event.anchor}; remove it")
        if event.tag is not None and event.tag != "!":
            self._refuse(path, line, f"has a tag, {event.tag}; remove it")
        if isinstance(event, yaml.ScalarEvent) and (broken := _BROKEN.search(event.value)):
            self._refuse(path, line, _control(broken))  # written as an escape
        if len(path) > DEEPEST:
            self._refuse(path[:4], line, f"is nested more than {DEEPEST} levels deep")
        if self.count > MOST_VALUES:
            self._refuse((), line, f"has more than {MOST_VALUES:,} values")

    def _refuse(self, path: Path, line: int, message: str) -> None:
        raise DeclarationRefused([Problem(path, message, line)])


def _scalar(event: Any) -> Any:
    text: str = event.value
    if event.style not in (None, "") or event.tag == "!":
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def text_at(lines: dict[Path, int], path: Path) -> str:
    """A place with its line, for a message that refers to another place.

    >>> text_at({("columns", "a"): 4}, ("columns", "a"))
    'columns.a (line 4)'
    """
    return path_text(path) + (f" (line {lines[path]})" if path in lines else "")
