"""Faults of import files: each with its file, line, column, value and what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any

#: Further faults are only counted: a file of the wrong kind has one on every line.
KEPT = 100
SHOWN = 80


@dataclass(frozen=True)
class ImportFault:
    """One fault. ``line`` counts from 1 and is None if the fault concerns the whole file; ``field`` is a column."""

    file: str
    line: int | None
    field: str
    value: str
    expected: str

    def __str__(self) -> str:
        """In the form of a compiler's messages.

        >>> print(ImportFault("a.csv", 3, "answer", "maybe", "one of: yes, no"))
        a.csv:3: answer: 'maybe': one of: yes, no
        """
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        parts = [place, self.field, repr(self.value) if self.value else "", self.expected]
        return ": ".join(part for part in parts if part)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class ImportRefused(ValueError):
    """The whole import was refused and nothing was written. ``faults`` are the first ones, ``total`` counts all."""

    def __init__(self, faults: list[ImportFault], total: int | None = None):
        self.faults = faults
        self.total = len(faults) if total is None else total
        super().__init__(str(self))

    def __str__(self) -> str:
        more = self.total - len(self.faults)
        lines = [str(fault) for fault in self.faults]
        return "\n".join([*lines, f"... and {more} more"] if more else lines)


class DryRun(Exception):
    """Raised at the end of a dry run, so that its transaction is rolled back."""


class UnreadableRest(Exception):
    """The rest of a file can't be read; the fault is already in the log."""


_kept: ContextVar[int] = ContextVar("kept", default=KEPT)


@contextmanager
def faults_kept(most: int) -> Iterator[None]:
    """Logs that are made inside keep so many faults in full."""
    token = _kept.set(most)
    try:
        yield
    finally:
        _kept.reset(token)


class FaultLog:
    """Collects the faults of one file, the first ``KEPT`` in full (or as ``faults_kept`` says).

    >>> log = FaultLog("a.csv")
    >>> log.add("is missing", line=2, field="answer")
    >>> log.check()
    Traceback (most recent call last):
    ...
    annotator.services.imports.faults.ImportRefused: a.csv:2: answer: is missing
    """

    def __init__(self, file: str):
        self.file = file
        self.kept = _kept.get()
        self.faults: list[ImportFault] = []
        self.total = 0

    def __bool__(self) -> bool:
        return self.total > 0

    def add(self, expected: str, *, line: int | None = None, field: str = "", value: object = None) -> None:
        self.total += 1
        if len(self.faults) < self.kept:
            self.faults.append(ImportFault(self.file, line, shown(field), shown(value), expected))

    def check(self) -> None:
        """Raise ``ImportRefused`` with all faults, in the order of the lines, if there are any."""
        if self.total:
            raise ImportRefused(sorted(self.faults, key=lambda fault: fault.line or 0), self.total)


def shown(value: object) -> str:
    """A value in a form fit for a message: one short line without control characters."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(ch if ch.isprintable() else "�" for ch in text[: SHOWN + 1])
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
