"""``foretell metrics FILE``: the figures of one's own ratings, without a study and without a database."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evaluation.core.file_columns import FileColumns
from evaluation.metrics.file_ratings import file_ratings
from foretell.cli import main
from tests.evaluation.releases.releases import built
from tests.evaluation.reports.studies import cells_of, small_study, stored
from tests.public_data import SYSTEMS, PublicData

HEADER = "rater,unit,value,real_output,instance,system,condition,rater_kind\n"
ROWS = """ann,u1,yes,yes,x1,gpt,with,human
bob,u1,yes,yes,x1,gpt,with,human
ann,u2,no,yes,x1,gpt,with,human
ann,u3,cannot_guess,no,x2,gpt,with,human
ann,u4,no,no,x2,t5,with,human
robot,u4,yes,no,x2,t5,with,simulator
cat,u4,yes,no,x2,t5,none,human
cat,u1,no,yes,x1,gpt,none,human
"""


def written(tmp_path: Path, text: str, name: str = "own.csv") -> str:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def figures(file: str, *options: str, capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str, str], Any]:
    call_command("metrics_file", file, "--format", "json", "--bootstrap", "0", *options)
    rows = json.loads(capsys.readouterr().out)
    return {(row["raters"], row["system"], row["metric"]): row for row in rows}


def test_precision_and_gain_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, HEADER + ROWS)
    found = figures(file, "--control", "none", capsys=capsys)
    people = found["people", "all", "precision, all follow-ups together"]
    assert (people["value"], people["n"], people["left_out"]) == (
        pytest.approx(2 / 3),
        3,
        {"cannot guess": 1},
    )
    macro = found["people", "all", "precision, mean over explanations"]
    assert (macro["value"], macro["n"]) == (0.75, 2)
    assert found["people", "all", "simulatable share"]["value"] == 0.75
    assert found["people", "all", "gain"]["value"] == 1.0
    assert found["people", "all", "gain"]["n"] == 2
    assert found["people", "t5", "precision, all follow-ups together"]["value"] == 1.0
    assert found["robot", "all", "precision, all follow-ups together"]["value"] == 0.0
    assert ("robot", "gpt", "gain") not in found, "it judged nothing of this system"


def test_the_same_in_json_lines_and_by_condition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = csv.DictReader(io.StringIO(HEADER + ROWS))
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    one = figures(written(tmp_path, HEADER + ROWS), capsys=capsys)
    assert one == figures(written(tmp_path, lines, "own.jsonl"), capsys=capsys)
    assert one["people", "all", "accuracy, with"]["value"] == 0.5
    assert one["people", "all", "accuracy, none"]["value"] == 0.0


def test_other_names_of_columns_and_utility(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "who;item;question;label;truth\n"
        "a;q1;first;no;yes\na;q1;then;yes;yes\na;q2;first;yes;yes\na;q2;then;no;yes\na;q3;first;yes;yes\na;q3;then;yes;yes\n"
    )
    found = figures(
        written(tmp_path, text), "--rater", "who", "--unit", "item", "--value", "label", "--variable", "question",
        "--correct", "truth", "--before", "first", "--after", "then", capsys=capsys,
    )  # fmt: skip
    values = {metric: row["value"] for (_, _, metric), row in found.items()}
    assert values["right before"] == values["right after"] == pytest.approx(2 / 3)
    assert values["gain in accuracy"] == 0
    assert [values[name] for name in ("useful", "not useful", "unsure")] == pytest.approx([1 / 3] * 3)


FAULTS = [
    ("rater,unit,value\na,u,yes\n", [], "there is no column with the system's real output"),
    (HEADER + ROWS + "ann,u4,no,yes,x2,t5,with,human\n", [], "line 10|:10: "),
    (HEADER + ROWS.replace("ann,u4,no,no", "ann,u4,no,yes"), [], "real_output"),
    (HEADER + ROWS.replace("bob,u1,yes,yes,x1,gpt", "bob,u1,yes,yes,x1,t5"), [], "system: the unit"),
    (
        HEADER + ROWS,
        ["--control", "nothing"],
        "no rating has the condition 'nothing'; there are 'none', 'with'",
    ),
    (HEADER + ROWS, ["--value", "label"], "there is no column 'label'"),
    (HEADER + ROWS, ["--before", "x"], "name both variables"),
    (HEADER + ROWS, ["--simulators", "hal"], "no rater is called 'hal'"),
    (HEADER, [], "has a header and no rows"),
]


@pytest.mark.parametrize(("text", "options", "said"), FAULTS)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, options: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("metrics_file", written(tmp_path, text), *options)


def test_several_variables_need_a_choice_and_checks_do_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "rater,unit,value,real_output,variable,standing,role,excluded\n"
        "a,u,yes,yes,guess,counted,ordinary,\na,u,5,,how_sure,counted,ordinary,\nb,u,no,yes,guess,surplus,ordinary,\n"
        "c,u,no,yes,guess,counted,gold,\nd,u,no,yes,guess,counted,ordinary,too fast\n"
    )
    file = written(tmp_path, text)
    with pytest.raises(CommandError, match="choose one of guess, how_sure with --only-variable"):
        call_command("metrics_file", file)
    with pytest.raises(CommandError, match="no rating has the variable 'age'"):
        call_command("metrics_file", file, "--only-variable", "age")
    call_command("metrics_file", file, "--only-variable", "guess", "--bootstrap", "0")
    said = capsys.readouterr()
    assert "precision, all follow-ups together      1.000  n = 1" in said.out
    assert "excluded: too fast" in said.err
    assert "role: gold" in said.err
    assert "standing: surplus" in said.err


@pytest.mark.django_db
def test_the_ratings_of_a_release_have_the_reports_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = stored(small_study(simulator=True), replicates=0)
    _, file = built(report)
    path = tmp_path / "ratings.csv"
    path.write_bytes(zipfile.ZipFile(file).read("ratings.csv"))
    found = figures(str(path), capsys=capsys)
    shown = cells_of(report.content or {}, "p1-table-4-details")
    for system in ("robot-a", "robot-b"):
        cell = shown[f"People {system}", "Macro precision All instances"]
        own = found["people", system, "precision, mean over explanations"]
        assert (own["value"], own["n"]) == (cell["value"], cell["n"])
    assert ("gpt-4", "robot-a", "simulatable share") in found


#: What takes long to import, or needs a server.
SLOW = (
    "pandas",
    "sklearn",
    "pyarrow",
    "scipy.stats",
    "celery",
    "redis",
    "psycopg",
    "torch",
    "sentence_transformers",
    "altair",
    "crowdkit",
)


@pytest.mark.parametrize(
    ("arguments", "further"),
    [
        (["metrics", "FILE"], ()),
        (["metrics", "--help"], ("numpy", "scipy")),
        (["agreement", "FILE", "--rater", "rater", "--unit", "unit", "condition", "--value", "value"], ()),
        (["plan", "--width", "0.3", "--runs", "2", "--redundancies", "1"], ()),
    ],
)  # fmt: skip
def test_nothing_slow_is_imported_and_no_settings_are_read(
    tmp_path: Path, arguments: list[str], further: tuple[str, ...]
) -> None:
    file = written(tmp_path, HEADER + ROWS)
    code = (
        "import sys; from foretell.cli import main; code = main(sys.argv[1:]); "
        f"slow = [name for name in {(*SLOW, *further, 'foretell.settings')!r} if name in sys.modules]; "
        "sys.exit(f'{code} {slow}')"
    )
    given = [file if one == "FILE" else one for one in arguments]
    done = subprocess.run(
        [sys.executable, "-c", code, *given],
        capture_output=True,
        text=True,
        timeout=300,
        env={"PATH": "/usr/bin"},
    )
    assert done.stderr.splitlines()[-1] == "0 []", done.stderr
    assert done.stdout


def test_a_studys_short_name_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "/nowhere/owls.csv"]) == 1
    assert "No such file" in capsys.readouterr().err


def test_peoples_answers_before_and_after_a_rationale(
    public_data: PublicData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Joshi et al. (2023) as a long file: the published counts of utility, and the shares right before and after."""
    source = public_data.folder / "rationale_human_utility" / "rationale_utility.json"
    lines = []
    for number, row in enumerate(map(json.loads, source.read_text(encoding="utf-8").splitlines())):
        own = {
            "rater": "majority", "unit": f"r{number}", "instance": row["question"].strip(), "system": row["rationale_source"],
            "correct_answer": row["ground_truth_label"],
        }  # fmt: skip
        for when in ("before", "after"):
            value = row[f"human_predicted_label_{when}_rationale"]
            lines.append(json.dumps(own | {"variable": when, "value": value}) + "\n")
    file = written(tmp_path, "".join(lines), "utility.jsonl")
    found = figures(file, "--before", "before", "--after", "after", capsys=capsys)
    for system, (useful, not_useful, unsure, before, after) in SYSTEMS.items():
        own = {metric: row for (_, name, metric), row in found.items() if name == system}
        for metric, number in {
            "useful": useful, "not useful": not_useful, "unsure": unsure, "right before": before, "right after": after,
        }.items():  # fmt: skip
            assert round(own[metric]["value"] * own[metric]["n"]) == number, (system, metric)


def test_the_columns_are_the_ratings_tables() -> None:
    from evaluation.releases.ratings_file import COLUMNS

    own = FileColumns()
    named = {getattr(own, name) for name in own.__dataclass_fields__}
    assert named - {"follow_up"} <= set(COLUMNS)


def test_a_label_that_makes_no_statement_is_known_by_its_name() -> None:
    data = b"rater,unit,value,real_output\na,u,skip,yes\na,v,yes,yes\n"
    found = file_ratings(data, name="own.csv", abstain=["skip", "cannot guess"])
    assert found.ratings.abstain == {"skip"}
