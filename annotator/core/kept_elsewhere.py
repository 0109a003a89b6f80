"""What other applications keep of a participant: registered when they start, asked when somebody's data are deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Keeper:
    """An application's own data about participants.

    ``remains(study=..., rater=...)`` says in sentences what it keeps that a deletion can't change, such as a published file; the
    arguments are primary keys. ``forget(study=..., names=..., clean=...)`` removes the rest: ``names`` maps the name of each person
    who was removed to the one that their answers have now (empty if they were deleted too), and ``clean`` takes their names out
    of a text.
    """

    remains: Callable[..., list[str]]
    forget: Callable[..., None]


_KEEPERS: dict[str, Keeper] = {}


def keeper(name: str, found: Keeper) -> None:
    """Register an application's keeper; called when the application starts."""
    _KEEPERS[name] = found


def remains_elsewhere(*, study: int, rater: int) -> list[str]:
    """What a deletion of the rater's data from the study can't change, in sentences."""
    return [text for one in _KEEPERS.values() for text in one.remains(study=study, rater=rater)]


def forget_elsewhere(*, study: int, names: dict[str, str], clean: Callable[[str], str]) -> None:
    """Remove people's names from what other applications keep about a study."""
    for one in _KEEPERS.values():
        one.forget(study=study, names=names, clean=clean)


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """JSON with ``clean`` applied to each of its texts; the keys of objects stay.

    >>> cleaned({"why": ["ann said so", 3]}, lambda text: text.replace("ann", "[name removed]"))
    {'why': ['[name removed] said so', 3]}
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {name: cleaned(one, clean) for name, one in value.items()}
    return [cleaned(one, clean) for one in value] if isinstance(value, list) else value
