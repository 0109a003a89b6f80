"""The release workflow: pinned actions, few permissions, and notes that are the version's section of the changelog."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from foretell import env

WORKFLOW: dict[Any, Any] = yaml.safe_load((env.ROOT / ".github/workflows/release.yml").read_text())
STEPS = [(name, step) for name, job in WORKFLOW["jobs"].items() for step in job["steps"]]


def test_every_action_is_pinned_by_commit() -> None:
    used = [step["uses"] for _, step in STEPS if "uses" in step]
    assert len(used) > 8
    assert [one for one in used if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one)] == []


def test_it_runs_for_tags_only_and_each_job_may_only_do_what_it_needs() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}  # YAML reads the key "on" as true
    assert WORKFLOW["permissions"] == {"contents": "read"}
    writes = {
        name: {scope for scope, level in job["permissions"].items() if level == "write"}
        for name, job in WORKFLOW["jobs"].items()
    }
    assert writes == {
        "packages": {"id-token", "attestations"},
        "image": {"packages", "id-token", "attestations"},
        "release": {"contents"},
    }


def test_packages_and_image_get_provenance_and_a_bill_of_materials() -> None:
    for name in ("packages", "image"):
        used = [step.get("uses", "").partition("@")[0] for job, step in STEPS if job == name]
        assert {"actions/attest-build-provenance", "actions/attest-sbom"} <= set(used)
    commands = "\n".join(step.get("run", "") for _, step in STEPS)
    dependencies = (env.ROOT / ".github/workflows/dependencies.yml").read_text()
    (tool,) = re.findall(r"cyclonedx-bom==[\d.]+", commands)
    assert tool in dependencies, "both workflows make the bill of materials with one version"
    # Texts from outside reach the shell as variables, never as parts of a script.
    assert "${{" not in commands


def test_the_named_files_exist() -> None:
    for _, step in STEPS:
        for path in re.findall(r"\b(?:deploy|foretell)/[\w.-]+(?= )", step.get("run", "")):
            assert (env.ROOT / path).is_file(), path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "deploy").mkdir()
    shutil.copy(env.ROOT / "deploy/release-notes", tmp_path / "deploy")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.2.0 (2026-12-01)\n\n### Added\n\n- One.\n\n## 1.1.0 (2026-11-01)\n\n- Old.\n"
    )
    return tmp_path


def notes(checkout: Path, tag: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(checkout / "deploy/release-notes"), tag]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_notes_are_the_section_of_the_version(checkout: Path) -> None:
    assert notes(checkout, "v1.2.0").stdout == "### Added\n\n- One.\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("pyproject.toml", "1.2.0", "1.3.0", "pyproject.toml: version is 1.3.0; expected 1.2.0"),
        (
            "CITATION.cff",
            "\nversion: 1.2.0",
            "\nversion: 1.1.0",
            "CITATION.cff: version is 1.1.0; expected 1.2.0",
        ),
        (
            "CHANGELOG.md",
            "2026-12-01",
            "unreleased",
            "the date of 1.2.0 is 'unreleased'; expected year-month-day",
        ),
        ("CHANGELOG.md", "## 1.2.0", "## 1.2.1", "CHANGELOG.md has no section '## 1.2.0 (DATE)'"),
    ],
)
def test_what_disagrees_stops_the_release(checkout: Path, file: str, old: str, new: str, said: str) -> None:
    path = checkout / file
    path.write_text(path.read_text().replace(old, new, 1))
    done = notes(checkout, "v1.2.0")
    assert done.returncode == 1
    assert said in done.stderr


def test_the_changelog_has_a_section_of_this_version() -> None:
    version = yaml.safe_load((env.ROOT / "CITATION.cff").read_text())["version"]
    assert re.search(rf"^## {re.escape(version)} \(", (env.ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
