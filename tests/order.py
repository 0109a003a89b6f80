"""The order of the suite: files whose tests take long begin first, so that no process is left with one at the end."""

from __future__ import annotations

import pytest

from tests.groups import GROUPS

#: By the processor time and the durations of a whole run on two processors. The first stay in one process for longest; after
#: them, those that mostly wait alternate with those that need the processor.
LONGEST = (
    "tests/e2e/test_every_page.py",
    "tests/e2e/test_newcomer.py",
    "tests/faults/test_supervisor.py",
    "tests/faults/test_panel_crowd.py",
    "tests/faults/test_first_start.py",
    "tests/e2e/test_study_end_to_end.py",
    "tests/faults/test_runs.py",
    "tests/faults/test_redis.py",
    "tests/faults/test_backup.py",
    "tests/faults/test_soak.py",
    "tests/faults/test_hosts.py",
    "tests/faults/test_wheel.py",
    "tests/faults/test_upgrade.py",
    "tests/faults/test_replica.py",
    "tests/e2e/test_study_pages.py",
    "tests/e2e/test_admin_policy.py",
    "tests/e2e/test_languages.py",
    "tests/e2e/test_keys.py",
    "tests/faults/",
    "tests/e2e/",
)


def place(nodeid: str) -> int:
    """Where a test comes: with the first entry of ``LONGEST`` that it, or a file of its group, begins with.

    >>> place("tests/e2e/test_every_page.py::test_a"), place("tests/e2e/test_newcomer.py::test_b")
    (0, 1)
    >>> place("tests/core/test_x.py::test_c") == len(LONGEST)
    True
    """
    group = GROUPS.get(nodeid.partition("::")[0])
    files = [file for file in GROUPS if group and GROUPS[file] == group] or [nodeid]
    return min(
        (n for n, start in enumerate(LONGEST) for file in files if file.startswith(start)),
        default=len(LONGEST),
    )


def in_order(items: list[pytest.Item]) -> None:
    """Sort what was collected. The order of pytest-randomly remains among tests of the same place."""
    items.sort(key=lambda item: place(item.nodeid))
