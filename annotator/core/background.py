"""Background work that researchers can follow: each application registers its own, and pages list it together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BackgroundWork:
    """One piece of background work. ``study`` is the primary key of its study, or None."""

    title: str
    state: str
    url: str
    study: int | None
    running: bool = False
    failed: bool = False
    says: str = ""


#: Called with ``user`` and ``studies`` (primary keys, or None for all that the user may see); newest first.
Source = Callable[..., list[BackgroundWork]]
_SOURCES: dict[str, Source] = {}


def work_source(name: str, source: Source) -> None:
    """Register an application's background work; called when the application starts."""
    _SOURCES[name] = source


def work_of(*, user: Any, studies: list[int] | None = None, name: str = "") -> list[BackgroundWork]:
    """The background work that a researcher may see, from all sources or from the one with this name."""
    return [
        work
        for key, source in _SOURCES.items()
        if not name or key == name
        for work in source(user=user, studies=studies)
    ]
