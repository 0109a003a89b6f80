"""Long work: what a worker of the installation carries out, watched until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

from foretell_client.errors import JobStopped
from foretell_client.operations import Operations

Data = TypeVar("Data", bound=Mapping[str, Any])
#: The first and the longest pause between two looks, in seconds.
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0


@dataclass(frozen=True)
class Progress:
    """How far a job is: ``done`` of ``total`` (None where nobody knows), in words ``text``."""

    state: str
    done: int | None = None
    total: int | None = None
    text: str = ""

    def __str__(self) -> str:
        count = (
            "" if self.done is None else f", {self.done:,}" + (f" of {self.total:,}" if self.total else "")
        )
        return f"{self.state}{count}" + (f": {self.text}" if self.text else "")


class Job(Generic[Data]):
    """A job of the installation. ``data`` is what the API last said of it; ``refresh`` asks again."""

    #: What people call it, and the states in which it has what it was made for, and in which it won't get there by itself.
    what: ClassVar[str]
    good: ClassVar[frozenset[str]] = frozenset({"done"})
    bad: ClassVar[frozenset[str]] = frozenset({"failed"})

    def __init__(self, operations: Operations, data: Data) -> None:
        self._operations = operations
        self.data = data

    def __repr__(self) -> str:
        return f"<{self.what} {self.data.get('id', '')}: {self.progress}>"

    @property
    def id(self) -> int:
        """Its number."""
        return int(self.data["id"])

    @property
    def state(self) -> str:
        """Its state when the API was last asked."""
        return str(self.data["state"])

    @property
    def reason(self) -> str:
        """Why it stopped, if it did."""
        return str(self.data.get("error") or self.data.get("reason") or "")

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress(self.state)

    def _read(self) -> Data:
        raise NotImplementedError

    def refresh(self) -> Self:
        """Ask the API how it is."""
        self.data = self._read()
        return self

    def wait(
        self,
        *,
        progress: Callable[[Progress], object] | None = None,
        seconds: float | None = None,
    ) -> Self:
        """Return when it is done. ``progress`` is called with each change, for example ``print``.

        Raises ``JobStopped`` if it failed, was cancelled, or paused, and ``TimeoutError`` after ``seconds``; the job continues
        then, and you can wait again.
        """
        end = None if seconds is None else time.monotonic() + seconds
        pause, shown = FIRST_PAUSE, None
        while True:
            if progress is not None and self.progress != shown:
                shown = self.progress
                progress(shown)
            if self.state in self.good:
                return self
            if self.state in self.bad:
                raise JobStopped(f"{self.what} {self.data.get('id', '')}".strip(), self.state, self.reason)
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"{self.what} is {self.progress} after {seconds:g} s")
            time.sleep(pause if left is None else min(pause, left))
            pause = min(1.5 * pause, LONGEST_PAUSE)
            self.refresh()
