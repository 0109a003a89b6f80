"""What other applications have of a study that its duplicate gets too: registered when they start, asked when a study is duplicated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: ``copier(study=..., copy=..., by=...)`` gives the new draft what it has of the study.
Copier = Callable[..., Any]
_COPIERS: dict[str, Copier] = {}


def copier(name: str, found: Copier) -> None:
    """Register an application's copier; called when the application starts."""
    _COPIERS[name] = found


def copy_elsewhere(*, study: Any, copy: Any, by: Any) -> None:
    """Give a duplicate what other applications have of the study."""
    for found in _COPIERS.values():
        found(study=study, copy=copy, by=by)
