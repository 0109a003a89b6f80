"""The files that describe the project agree with each other and name nothing of the machine on which they were written."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from benchmarks.lines import count
from foretell import env
from tests.older_python import older

PROJECT = tomllib.loads((env.ROOT / "pyproject.toml").read_text())["project"]
FILES = [
    "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", ".pre-commit-config.yaml", ".github/workflows/ci.yml",
    ".github/workflows/dependencies.yml", ".github/workflows/release.yml", "deploy/install",
    ".github/pull_request_template.md", ".github/ISSUE_TEMPLATE/bug.md", ".github/ISSUE_TEMPLATE/feature.md", "pyproject.toml",
    "requirements.lock", "requirements-dev.lock", "requirements-sentry.lock",
    "requirements-docs.lock", "zensical.toml",
]  # fmt: skip


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((env.ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["url"] == PROJECT["urls"]["Homepage"]


def test_the_workflow_and_the_hooks_run_programs_that_are_there() -> None:
    workflow = yaml.safe_load((env.ROOT / ".github/workflows/ci.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert {"run": ".ci/run"} in steps
    hooks = yaml.safe_load((env.ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks if not (env.ROOT / hook["entry"].split()[0]).exists()] == []


def test_the_tests_run_on_every_python_that_the_project_names() -> None:
    workflow = yaml.safe_load((env.ROOT / ".github/workflows/ci.yml").read_text())
    tried = set(workflow["jobs"]["check-and-test"]["strategy"]["matrix"]["python"])
    named = {
        one.rpartition(" :: ")[2]
        for one in PROJECT["classifiers"]
        if one.startswith("Programming Language :: Python :: 3.")
    }
    assert named == tried


def test_every_lock_file_is_checked_for_advisories_and_the_products_is_in_the_bill_of_materials() -> None:
    workflow = yaml.safe_load((env.ROOT / ".github/workflows/dependencies.yml").read_text())
    assert workflow[True]["schedule"], "advisories come later, too"  # YAML reads the key "on" as true
    commands = {
        name: "\n".join(step.get("run", "") for step in job["steps"])
        for name, job in workflow["jobs"].items()
    }
    locks = sorted(one.name for one in env.ROOT.glob("requirements*.lock"))
    assert len(locks) == 4
    assert [one for one in locks if f"--requirement {one}" not in commands["advisories"]] == []
    assert "cyclonedx-py requirements requirements.lock" in commands["bill-of-materials"]
    # The tools themselves have exact versions.
    assert re.findall(r"pip install --quiet (\S+)==[0-9.]+$", "\n".join(commands.values()), re.M) == [
        "cyclonedx-bom",
        "pip-audit",
    ]


@pytest.mark.parametrize("name", FILES)
def test_no_file_names_a_path_of_a_machine_or_a_registry(name: str) -> None:
    text = (env.ROOT / name).read_text()
    assert not re.search(r"/(home|root|work|Users)/|--(extra-)?index-url|--find-links", text)


def program(path: Path, version: str, status: int = 0) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\nexit {status}\n")
    path.chmod(0o755)


def test_the_oldest_supported_python_is_found(tmp_path: Path) -> None:
    program(tmp_path / "a" / "python3", "3 9 2")
    program(tmp_path / "a" / "python3.12", "3 12 1", status=1)  # a shim of a version that isn't enabled
    program(tmp_path / "b" / "python3.11", "3 11 2")
    program(tmp_path / "b" / "python3", "3 11 7")
    folders = [str(tmp_path / name) for name in ("a", "b", "missing")]
    assert older((3, 12, 1), folders) == tmp_path / "b" / "python3.11"
    assert older((3, 11, 2), folders) is None


def test_lines_are_counted_by_package(tmp_path: Path) -> None:
    for name, lines in (
        ("annotator/web/views/a.py", 3),
        ("annotator/apps.py", 2),
        ("foretell/migrations/0001.py", 9),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n" * lines)
    assert count(tmp_path) == {"annotator/web": 3, "annotator": 2}


def test_no_code_uses_what_came_with_a_later_release_of_python_311() -> None:
    """vermin knows minor versions only. ``tarfile`` and ``shutil`` got filters in 3.11.4."""
    later = re.compile(r"\bextractall\(|unpack_archive\(|(data|tar|fully_trusted)_filter|\bextraction_filter")
    names = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=env.ROOT, capture_output=True, text=True, check=True
    ).stdout
    files = [env.ROOT / name for name in names.split() if name != "tests/foretell/test_project_files.py"]
    assert [str(path) for path in files if path.exists() and later.search(path.read_text())] == []
