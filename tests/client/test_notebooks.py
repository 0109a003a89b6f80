"""The notebooks in docs/notebooks run from their first cell to their last, and are stored without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foretell import env
from tests.client.lab import Lab
from tests.processes import shared_environment

FOLDER = env.ROOT / "docs" / "notebooks"
WITHOUT_SERVER = "agreement_of_a_csv"
WITH_SERVER = ("study_to_report", "simulator_against_people", "release_checked")


def cells(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))["cells"]
    return found


def carried_out(name: str) -> dict[str, Any]:
    """The names that a notebook leaves: its code cells run one after the other, as they would in Jupyter."""
    names: dict[str, Any] = {"__name__": name}
    for number, cell in enumerate(cells(name)):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{name}, cell {number}", "exec"), names)
    return names


def test_each_notebook_is_run_here_and_has_no_outputs() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {WITHOUT_SERVER, *WITH_SERVER}
    for name in (WITHOUT_SERVER, *WITH_SERVER):
        code = [cell for cell in cells(name) if cell["cell_type"] == "code"]
        assert len(code) > 4, name
        assert not [cell for cell in code if cell["outputs"] or cell["execution_count"]], name


def test_agreement_and_metrics_of_a_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a database: this test has no access to one."""
    monkeypatch.chdir(tmp_path)
    names = carried_out(WITHOUT_SERVER)
    printed = capsys.readouterr().out
    assert "alpha of the people: 0." in printed
    assert names["precision"].n == 10, "the explanations"
    assert "nan" in printed, "an undefined figure"


@pytest.mark.fault
def test_studies_simulators_and_releases_on_a_running_installation(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORETELL_URL", lab.web.url)
    monkeypatch.setenv("FORETELL_TOKEN", lab.token)
    monkeypatch.setenv("DATABASE_URL", shared_environment()["DATABASE_URL"])  # of `foretell reproduce`
    monkeypatch.setenv("PYTHONPATH", str(env.ROOT))
    study = carried_out("study_to_report")
    assert study["study"].state == "live"
    assert "answer" in capsys.readouterr().out, "the refused row names its field"
    assert Path("notebook-study.html").stat().st_size > 10_000
    simulator = carried_out("simulator_against_people")
    assert simulator["run"].state == "done"
    assert len(simulator["table"].raters) == 5
    release = carried_out("release_checked")
    assert (release["done"].returncode, release["refused"].returncode) == (0, 1), capsys.readouterr().out
