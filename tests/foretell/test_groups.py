"""Tests of a group run in one of xdist's processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from foretell import env
from tests.groups import GROUPS

CONFTEST = """
from tests import groups

groups.GROUPS["test_group.py"] = "a group"

def pytest_xdist_make_scheduler(config, log):
    return groups.Groups(config, log)
"""
TESTS = """
import pytest

@pytest.mark.parametrize("number", range(8))
def test_nothing(number):
    pass
"""


def test_every_group_is_of_a_file_that_is_there() -> None:
    assert [path for path in GROUPS if not (env.ROOT / path).is_file()] == []


def test_only_tests_of_a_group_stay_together(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in ("test_group.py", "test_alone.py"):
        (tmp_path / name).write_text(TESTS)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    session = [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", "--rootdir", "."]
    without = [f"no:{name}" for name in ("django", "randomly", "cacheprovider")]
    done = subprocess.run(
        [*session, *(word for name in without for word in ("-p", name)), "."],
        cwd=tmp_path,
        env=inherited | {"PYTHONPATH": str(env.ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    ran = re.findall(r"\[(gw\d)\].* PASSED test_(\w+)\.py::", done.stdout)
    assert len(ran) == 16, done.stdout
    assert len({process for process, file in ran if file == "group"}) == 1
    assert {process for process, _ in ran} == {"gw0", "gw1"}, "the other tests go to both"
