"""Tests that stay in one of xdist's processes, because they share what takes long to make.

xdist's own mark, ``xdist_group``, has no effect: it renames tests, and since 9.2 pytest keeps the first name.
"""

from __future__ import annotations

from xdist.scheduler import LoadGroupScheduling

#: File -> group.
GROUPS = {
    "tests/e2e/test_every_page.py": "one world",
    "tests/faults/test_supervisor.py": "supervised",
}


def group_of(nodeid: str) -> str:
    """The group of a test: that of its file, or the test alone.

    >>> group_of("tests/faults/test_supervisor.py::test_a"), group_of("tests/test_b.py::test_b[1]")
    ('supervised', 'tests/test_b.py::test_b[1]')
    """
    return GROUPS.get(nodeid.partition("::")[0], nodeid)


class Groups(LoadGroupScheduling):
    """xdist's order for ``--dist loadgroup``, with the groups of ``GROUPS``."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
