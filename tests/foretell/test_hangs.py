"""A test that hangs in a browser's greenlet is found, and its process ended."""

from __future__ import annotations

import time
from pathlib import Path

import greenlet
import pytest

from tests import hangs


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hangs, "NOTES", tmp_path / "hangs")


def waits_for_a_page() -> None:
    greenlet.getcurrent().parent.switch()


def test_the_place_where_a_test_waits_is_noted() -> None:
    waiting = greenlet.greenlet(waits_for_a_page)
    waiting.switch()
    ended: list[int] = []
    with hangs.watched("tests/e2e/test_a.py::test_b", seconds=0.01, end=ended.append):
        while not ended:
            time.sleep(0.01)
    said = hangs.notes()
    assert said.startswith("tests/e2e/test_a.py::test_b\n")
    assert "in waits_for_a_page" in said
    assert "in test_the_place_where_a_test_waits_is_noted" in said


def test_a_test_in_a_debugger_is_left_alone() -> None:
    ended: list[int] = []
    with hangs.watched("a", seconds=0.05, end=ended.append):
        hangs.release()
        time.sleep(0.2)
    assert not ended


def test_a_test_that_ends_in_time_is_left_alone() -> None:
    ended: list[int] = []
    with hangs.watched("a", seconds=0.05, end=ended.append):
        pass
    time.sleep(0.2)
    assert not ended
    assert hangs.notes() == ""
