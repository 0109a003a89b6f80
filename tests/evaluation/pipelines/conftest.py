"""What the tests of recipes share."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.models import Pipeline
from tests.evaluation.scripted_process import ScriptedProcess


@pytest.fixture
def allowed(scripted: ScriptedProcess, settings: Any) -> None:
    """Allow requests to the scripted provider."""
    settings.LLM_ALLOWED_HOSTS = [scripted.host]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recipes ask for at most three follow-ups: as good a test as ten, and quicker."""
    from evaluation.pipelines import contract

    whole = contract.step_options

    def fewer(row: Pipeline, step: dict[str, Any]) -> dict[str, Any]:
        options = whole(row, step)
        return options | ({"n": min(3, options["n"])} if "n" in options else {})

    monkeypatch.setattr(contract, "step_options", fewer)
