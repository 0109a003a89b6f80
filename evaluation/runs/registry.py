"""The kinds of step that ask a model, for the engine of runs."""

from __future__ import annotations

from annotator.core.registry import UnknownMember
from evaluation.core.step_kinds import STEP_KINDS
from evaluation.runs.step import Step


def steps() -> dict[str, Step]:
    """All kinds of step that ask a model, by name."""
    return {name: kind for name, kind in STEP_KINDS.all().items() if isinstance(kind, Step)}


def step_get(name: str) -> Step:
    """The kind of step with that name; raises ``KeyError`` with the known names if none of them asks a model."""
    kind = STEP_KINDS.get(name) if name in STEP_KINDS else None
    if not isinstance(kind, Step):
        raise UnknownMember(f"There is no step {name!r}. Steps: {', '.join(steps())}.")
    return kind
