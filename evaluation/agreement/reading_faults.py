"""What the readers of ratings share: cells as they return them, and the faults that they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluation.core.ratings_table import Codes

#: Faults that are listed one by one; more are only counted.
SHOWN = 20
#: A column's distinct cells as they are in the file, and the code of each row's cell.
Cells = tuple[Sequence[str], Codes]


class UnreadableRatings(ValueError):
    """The file can't be read as ratings. The message names the file, line and column, what was found and what was expected."""


@dataclass
class ReadFaults:
    """Faults in the order found; after the first ``SHOWN`` they are only counted."""

    source: str
    messages: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, line: int, column: str, message: str) -> None:
        self.count += 1
        if self.count <= SHOWN:
            where = f", column {column!r}" if column else ""
            self.messages.append(f"{self.source}, line {line}{where}: {message}")

    def refuse(self) -> None:
        if self.count:
            more = [f"and {self.count - SHOWN} more"] if self.count > SHOWN else []
            raise UnreadableRatings("\n".join(self.messages + more))


def some_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
