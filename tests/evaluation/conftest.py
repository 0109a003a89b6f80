"""A scripted provider in a process of its own, for all tests of one session; reports that are queued and not computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.evaluation.scripted_process import ScriptedProcess


@pytest.fixture(scope="session")
def scripted_process() -> Iterator[ScriptedProcess]:
    process = ScriptedProcess()
    yield process
    process.stop()


@pytest.fixture
def scripted(scripted_process: ScriptedProcess) -> ScriptedProcess:
    """The provider with its counts at zero."""
    scripted_process.reset()
    return scripted_process


@pytest.fixture
def scripted_allowed(scripted: ScriptedProcess, settings: Any) -> None:
    """Allow requests to the scripted provider."""
    settings.LLM_ALLOWED_HOSTS = [scripted.host]


@pytest.fixture
def queued_reports(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The primary keys of the reports that a test queues; no worker is running."""
    sent: list[int] = []

    def enqueue(name: str, *, countdown: float = 0.0, **arguments: int) -> bool:
        if name == "evaluation.report_build":
            sent.append(arguments["report_pk"])
        return True

    monkeypatch.setattr("annotator.core.jobs.enqueue", enqueue)
    return sent
