"""Faults of files: each with its file, line, field, value and what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

#: Further faults are only counted: a file of the wrong kind has one on every line.
KEPT = 100
SHOWN = 80


@dataclass(frozen=True)
class FileFault:
    """One fault. ``line`` counts from 1 and is None if the fault concerns the whole file; ``field`` is a column."""

    file: str
    line: int | None
    field: str
    value: str
    expected: str

    def __str__(self) -> str:
        """In the form of a compiler's messages.

        >>> print(FileFault("a.csv", 3, "answer", "maybe", "one of: yes, no"))
        a.csv:3: answer: 'maybe': one of: yes, no
        """
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        parts = [place, self.field, repr(self.value) if self.value else "", self.expected]
        return ": ".join(part for part in parts if part)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class FileRefused(ValueError):
    """The whole file was refused and nothing was written. ``faults`` are the first ones, ``total`` counts all."""

    def __init__(self, faults: list[FileFault], total: int):
        self.faults, self.total = faults, total
        super().__init__(str(self))

    def __str__(self) -> str:
        more = self.total - len(self.faults)
        lines = [str(fault) for fault in self.faults]
        return "\n".join([*lines, f"... and {more} more"] if more else lines)


_kept: ContextVar[int] = ContextVar("kept", default=KEPT)


@contextmanager
def faults_kept(most: int) -> Iterator[None]:
    """Logs that are made inside keep this many faults in full."""
    token = _kept.set(most)
    try:
        yield
    finally:
        _kept.reset(token)


class FaultLog:
    """Collects the faults of one file, the first ``KEPT`` in full (or ``kept``, or as ``faults_kept`` says).

    >>> log = FaultLog("a.csv")
    >>> log.add("is missing", line=2, field="answer")
    >>> log.check()
    Traceback (most recent call last):
    ...
    annotator.core.tables.faults.FileRefused: a.csv:2: answer: is missing
    """

    def __init__(self, file: str, *, kept: int = 0):
        self.file = file
        self.kept = kept or _kept.get()
        self.faults: list[FileFault] = []
        self.total = 0

    def __bool__(self) -> bool:
        return self.total > 0

    def add(self, expected: str, *, line: int | None = None, field: str = "", value: object = None) -> None:
        self.total += 1
        if len(self.faults) < self.kept:
            self.faults.append(FileFault(self.file, line, shown(field), shown(value), expected))

    def check(self) -> None:
        """Raise ``FileRefused`` with all faults, in the order of the lines, if there are any."""
        if self.total:
            raise FileRefused(sorted(self.faults, key=lambda fault: fault.line or 0), self.total)

    def refuse(
        self, expected: str, *, line: int | None = None, field: str = "", value: object = None
    ) -> NoReturn:
        """Add a fault after which the rest of the file can't be read, and raise ``FileRefused`` with all faults."""
        self.add(expected, line=line, field=field, value=value)
        self.check()
        raise AssertionError  # ``check`` has raised


def shown(value: object) -> str:
    """A value in a form fit for a message: one short line without control characters."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(ch if ch.isprintable() else "�" for ch in text[: SHOWN + 1])
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
