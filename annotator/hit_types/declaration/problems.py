"""What is wrong with a declared HIT type: one problem for each place of its file, all of them at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

#: Where something is in a file: keys of objects, and places in lists from 0.
Path = tuple[str | int, ...]
#: Problems of one file that are listed; a file with more is probably no HIT type.
MOST_PROBLEMS = 100


def path_text(path: Iterable[str | int]) -> str:
    """A place as people write it; places in lists count from 1.

    >>> path_text(("exam", 2, "answers", "clear")), path_text(())
    ('exam[3].answers.clear', 'the file')
    """
    text = ""
    for step in path:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "the file"


def shown_value(value: Any) -> str:
    """A value as a message quotes it: JSON, at most 60 characters.

    >>> shown_value(True), shown_value("yes")
    ('true', '"yes"')
    """
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. ``line`` counts from 1; 0 where the file doesn't give it."""

    path: Path
    message: str
    line: int = 0

    def __str__(self) -> str:
        at = f"line {self.line}: " if self.line else ""
        return f"{at}{path_text(self.path)} {self.message}"


class DeclarationRefused(ValueError):
    """A file that declares no HIT type; ``problems`` has at least one, in the order of the file's lines."""

    def __init__(self, problems: Sequence[Problem]):
        self.problems = tuple(sorted(problems, key=lambda one: one.line)[:MOST_PROBLEMS])
        super().__init__("\n".join(map(str, self.problems)))


class Faults:
    """Collects problems while a file is checked, with the line of each place."""

    def __init__(self, lines: dict[Path, int]):
        self.lines = lines
        self.problems: list[Problem] = []

    def add(self, path: Sequence[str | int], message: str) -> None:
        """Add a problem; its line is that of the nearest place around it which has one."""
        place = tuple(path)
        known = next((place[:end] for end in range(len(place), -1, -1) if place[:end] in self.lines), ())
        problem = Problem(place, message, self.lines.get(known, 0))
        if problem not in self.problems:
            self.problems.append(problem)

    def check(self) -> None:
        """Raise ``DeclarationRefused`` if anything was found."""
        if self.problems:
            raise DeclarationRefused(self.problems)
