"""A test with real processes that fails among others is tried once more alone; any other failure is final."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import hangs
from tests.second_try import FAILED, MOST, again

ROOT = Path(__file__).parents[2]
CONFTEST = """
import pytest
from tests import second_try
failures = second_try.Failures()
def pytest_configure(config): config.addinivalue_line("markers", "browser: x"); config.addinivalue_line("markers", "processes: x")
def pytest_collection_modifyitems(items): second_try.mark(items)
def pytest_runtest_logreport(report): failures.add(report)
def pytest_collectreport(report): failures.add(report)
def pytest_sessionfinish(session, exitstatus): failures.keep(session.config, exitstatus)
"""


def run(folder: Path, tests: str) -> tuple[int, int]:
    """The exit codes of the first run and of the second try."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text("import pathlib, pytest\n" + tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    first = [sys.executable, "-m", "pytest", "-q", "-p", "no:django"]
    one = subprocess.run(first, cwd=folder, env=environment, capture_output=True, check=False)
    two = subprocess.run(
        [sys.executable, "-m", "tests.second_try"], cwd=folder, env=environment | {"PYTEST_ADDOPTS": "-p no:django"},
        capture_output=True, check=False,
    )  # fmt: skip
    return one.returncode, two.returncode


ONCE = """
def test_fails_once():
    seen = pathlib.Path(__file__).with_name("seen")
    first, _ = not seen.exists(), seen.touch()
    assert not first
"""


@pytest.mark.parametrize(
    ("tests", "codes"),
    [
        ("@pytest.mark.browser" + ONCE, (1, 0)),
        (ONCE, (1, 1)),
        ("@pytest.mark.browser\ndef test_always(): assert False\n", (1, 1)),
        ("def (", (2, 1)),
        (
            "@pytest.mark.browser" + ONCE + "def test_then_somebody_stops_it(): raise KeyboardInterrupt\n",
            (2, 1),
        ),
    ],
)
def test_only_chance_is_forgiven(tmp_path: Path, tests: str, codes: tuple[int, int]) -> None:
    assert run(tmp_path, tests) == codes


def test_many_failures_and_any_other_test_are_final() -> None:
    assert again({f"t{n}": True for n in range(MOST)})
    assert not again({f"t{n}": True for n in range(MOST + 1)})
    assert not again({"t1": True, "t2": False})
    assert not again({})


def test_a_list_of_an_earlier_run_is_removed_before_the_next() -> None:
    """A run that ends before it begins, or is killed, writes none."""
    assert f"rm -rf {FAILED} {hangs.NOTES.relative_to(ROOT)}\n" in (ROOT / "Makefile").read_text()


HANGS_ONCE = """
import pathlib, time
def test_hangs_once():
    seen = pathlib.Path(__file__).with_name("seen")
    if not seen.exists():
        seen.touch()
        time.sleep(600)
def test_beside_it(): pass
"""


def test_a_test_that_hangs_ends_and_the_others_go_on(tmp_path: Path) -> None:
    """One browser that never answered once held a whole run until its time was up."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert 600 < settings["faulthandler_timeout"] < 1800
    assert settings["faulthandler_exit_on_timeout"] is True
    (tmp_path / "tests/e2e").mkdir(parents=True)
    (tmp_path / "tests/e2e/test_it.py").write_text(HANGS_ONCE)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nfaulthandler_timeout = 3\nfaulthandler_exit_on_timeout = true\n"
    )
    arguments = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:django"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    first = subprocess.run(
        arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert first.returncode == 1
    assert "1 failed, 1 passed" in first.stdout
    assert "crashed while running 'tests/e2e/test_it.py::test_hangs_once'" in first.stdout
    second = subprocess.run(
        [sys.executable, "-m", "tests.second_try"],
        cwd=tmp_path, env=environment | {"PYTEST_ADDOPTS": "-p no:django"}, capture_output=True, check=False,
    )  # fmt: skip
    assert second.returncode == 0
