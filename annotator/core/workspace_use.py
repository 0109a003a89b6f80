"""What a workspace uses of the server: each application says what it stores and spends, and pages and limits read it here."""

from __future__ import annotations

from collections.abc import Callable

#: The bytes of a workspace's files of one kind, by the workspace's primary key.
Bytes = Callable[[int], int]
#: A figure in words, such as "12.50".
Figure = Callable[[int], str]
_FILES: dict[str, Bytes] = {}
_FIGURES: dict[str, Figure] = {}


def files_source(name: str, source: Bytes) -> None:
    """Register a kind of file; called when an application starts."""
    _FILES[name] = source


def figure_source(name: str, source: Figure) -> None:
    """Register a figure that a workspace's page shows, such as what its runs have cost."""
    _FIGURES[name] = source


def files_of(workspace: int) -> dict[str, int]:
    """Bytes of a workspace's files by kind, in the order of registration; one query for each kind."""
    return {name: source(workspace) for name, source in _FILES.items()}


def figures_of(workspace: int) -> dict[str, str]:
    """The figures of a workspace by name, in the order of registration."""
    return {name: source(workspace) for name, source in _FIGURES.items()}
