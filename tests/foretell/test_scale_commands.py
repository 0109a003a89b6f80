"""``python -m benchmarks scale`` repeats what docs/scale.md claims: each row of its table names a command that exists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import scale
from benchmarks.__main__ import BENCHMARKS

PAGE = """## Measured

| what | figure | benchmark |
|---|---|---|
| turns | 1 | `no-such-benchmark --fast` |
| the same | 2 | `also-unknown`, `no-such-benchmark --fast` |

## Per day

| another | table | `load` |
"""


def test_every_figure_of_the_page_names_benchmarks_that_exist() -> None:
    page = scale.PAGE.read_text(encoding="utf-8")
    rows = [
        line
        for line in page.partition("## Measured")[2].partition("\n## ")[0].splitlines()
        if line[:1] == "|"
    ]
    assert len(rows) > 20
    for row in rows[2:]:
        assert "`" in row.rstrip("| ").rpartition("|")[2], row
    assert {command.split()[0] for command in scale.commands(page)} <= set(BENCHMARKS)


def test_commands_are_listed_once_and_chosen_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["scale", "--list", "--only", "growth", "report"])
    assert scale.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "python -m benchmarks growth",
        "python -m benchmarks report --judgments 1000000",
        "python -m benchmarks report --judgments 10000000",
    ]
    monkeypatch.setattr(sys, "argv", ["scale", "--only", "nothing"])
    with pytest.raises(SystemExit):
        scale.main()


def test_after_a_failure_the_others_still_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "scale.md"
    page.write_text(PAGE, encoding="utf-8")
    done = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        done.append(command[3:])
        return subprocess.CompletedProcess(command, 2)

    monkeypatch.setattr(scale, "PAGE", page)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["scale"])
    assert scale.main() == 1
    assert done == [["no-such-benchmark", "--fast"], ["also-unknown"]]
    assert "failed: no-such-benchmark --fast; also-unknown" in capsys.readouterr().err
