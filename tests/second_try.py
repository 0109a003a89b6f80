"""A second try for tests with real processes: `python -m tests.second_try` runs those alone that failed among others.

Some hundred tests start, kill and wait for servers, workers and browsers while two others do the same on two processors.
Now and then one of them fails because the machine was busy, and passes when it runs alone. `make test` therefore gives a few
failures of such tests a second try and names them. A failure of any other test is final, and so are more than ``MOST``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import hangs

#: More failures than this aren't chance.
MOST = 3
#: Tests that use processes, by their marks, what they ask for, or where they are.
MARKS = {"browser", "fault"}
FIXTURES = {
    "live_server",
    "web_process",
    "worker_process",
    "scripted",
    "scripted_process",
    "scripted_allowed",
}
FOLDERS = ("tests/e2e/", "tests/faults/", "tests/evaluation/runs/")
MARK = "processes"
_CACHE = "foretell/second_try"
FAILED = Path(".pytest_cache/v") / _CACHE


def mark(items: Sequence[pytest.Item]) -> None:
    """Mark the tests that use processes, so that their reports say so; reports of xdist's workers hold only marks."""
    for item in items:
        uses = set(getattr(item, "fixturenames", ())) & FIXTURES
        if uses or item.nodeid.startswith(FOLDERS) or any(item.get_closest_marker(name) for name in MARKS):
            item.add_marker(MARK)


class Failures:
    """What failed in a session, kept in pytest's cache."""

    def __init__(self) -> None:
        self.failed: dict[str, bool] = {}

    def add(self, report: Any) -> None:
        if report.failed:
            # The report of a process that crashed, or was ended because its test hung, has no marks.
            processes = MARK in getattr(report, "keywords", ()) or report.nodeid.startswith(FOLDERS)
            self.failed[report.nodeid] = processes

    def keep(self, config: pytest.Config, exitstatus: int) -> None:
        """Nothing is tried again of a session that was interrupted, or that failed in another way than by its tests."""
        if getattr(config, "cache", None) is not None:
            config.cache.set(_CACHE, self.failed if exitstatus == pytest.ExitCode.TESTS_FAILED else {})


def again(failed: dict[str, bool]) -> list[str]:
    """The tests to try once more: all that failed, or none if one of them is final or there are too many.

    >>> again({"tests/e2e/test_a.py::test_b": True})
    ['tests/e2e/test_a.py::test_b']
    >>> again({"tests/e2e/test_a.py::test_b": True, "tests/core/test_c.py::test_d": False})
    []
    """
    return list(failed) if len(failed) <= MOST and all(failed.values()) else []


def main() -> int:
    try:
        failed = again(json.loads(FAILED.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        failed = []
    if hung := hangs.notes():
        print(f"\nEnded because it hung: {hung}", flush=True)
    if not failed:
        return 1
    print(f"\nSecond try, alone: {', '.join(failed)}", flush=True)
    code = subprocess.run(
        [sys.executable, "-m", "pytest", "--randomly-seed=1", *failed], check=False
    ).returncode
    said = "Failed among others and passed alone:" if code == 0 else "At least one of these failed again:"
    print(said, *failed, sep="\n  ")
    return code


if __name__ == "__main__":
    sys.exit(main())
