"""The files that take longest begin first, so that no process is left with a long one at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

#: By the durations of a whole run on two processors.
LONGEST = (
    "test_redis",
    "test_first_start",
    "test_supervisor",
    "test_runs",
    "test_backup",
    "test_soak",
    "test_upgrade",
)


def place(item: pytest.Item) -> int:
    name = Path(item.path).stem
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


# Last, so that the order of pytest-randomly remains within a file and among the other files.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if all(Path(__file__).parent in item.path.parents for item in items):
        items.sort(key=place)
