"""The summary of a whole table, and ``manage.py agreement`` on top of it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from evaluation.agreement import Ratings, as_text, cohen_kappa, krippendorff_alpha, pairwise_kappa, summarize
from tests.evaluation.agreement.tables import random_matrices, ratings_of, rows_of

ROOT = Path(__file__).resolve().parents[3]
STATISTIC = {"value", "low", "high", "n", "reason"}


def write(path: Path, table: Ratings) -> Path:
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["worker", "item", "label"])
        writer.writerows(rows_of(table))
    return path


def run(path: Path | str, *options: str, columns: tuple[str, str, str] = ("worker", "item", "label")) -> str:
    out = io.StringIO()
    names = [part for pair in zip(("--rater", "--unit", "--value"), columns, strict=True) for part in pair]
    call_command("agreement", str(path), *names, *options, stdout=out)
    return out.getvalue()


def as_json(path: Path, *options: str) -> dict:
    return json.loads(run(path, "--format", "json", *options))


@pytest.fixture
def table() -> Ratings:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 80)
    matrix = np.where(rng.random((5, 80)) < 0.75, truth, rng.integers(0, 3, (5, 80))).astype(float)
    matrix[3, 8:] = np.nan
    return ratings_of(matrix)


def test_json_has_everything_by_its_name(table, tmp_path):
    result = as_json(write(tmp_path / "r.csv", table), "--seed", "4", "--bootstrap", "200")
    assert (result["raters"], result["units"], result["ratings"], result["level"]) == (5, 80, 328, "nominal")
    assert sum(result["labels"].values()) == pytest.approx(1)
    for name in ("percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1", "human_human"):
        assert set(result[name]) >= STATISTIC
    assert result["krippendorff_alpha"]["value"] == krippendorff_alpha(table).value
    assert result["krippendorff_alpha"]["low"] < result["krippendorff_alpha"]["value"]
    assert result["krippendorff_alpha"]["high"] > result["krippendorff_alpha"]["value"]
    assert result["fleiss_kappa"]["value"] is None
    assert result["fleiss_kappa"]["reason"] == "units have different numbers of ratings, from 4 to 5"
    kappa = result["cohen_kappa"]
    assert kappa["mean"]["value"] == pairwise_kappa(table).mean().value
    assert kappa["weighted_mean"]["value"] == pairwise_kappa(table).weighted_mean().value
    assert kappa["mean"]["n"] == 6
    assert len(kappa["pairs"]) == 10
    assert set(kappa["pairs"][0]) >= {"a", "b", "n", "value", "reason"}
    small = [pair for pair in kappa["pairs"] if "r003" in (pair["a"], pair["b"])]
    assert [pair["n"] for pair in small] == [8] * 4
    assert not any(pair["averaged"] for pair in small)
    assert result["human_human"]["value"] == kappa["mean"]["value"]
    assert result["human_simulator"] == {}
    assert result["alternative_annotator_test"] == []
    assert result["bootstrap"] == {"replicates": 200, "seed": 4}


def test_simulators(table, tmp_path):
    result = as_json(
        write(tmp_path / "r.csv", table), "--simulators", "r002,r004", "--epsilon", "0.1", "--bootstrap", "50"
    )
    pairs = pairwise_kappa(Ratings.from_rows(rows_of(table), simulators=["r002", "r004"]))
    assert result["human_human"]["value"] == pairs.pair("r000", "r001").value
    assert result["human_human"]["n"] == 1
    assert set(result["human_simulator"]) == {"r002", "r004"}
    for name, found in result["human_simulator"].items():
        both = [pairs.pair("r000", name).value, pairs.pair("r001", name).value]
        assert found["value"] == pytest.approx(np.mean(both))
        assert found["low"] < found["value"] < found["high"]
    tests = result["alternative_annotator_test"]
    assert [(test["simulator"], test["epsilon"]) for test in tests] == [("r002", 0.1), ("r004", 0.1)]
    assert [human["human"] for human in tests[0]["humans"]] == ["r000", "r001"]
    assert tests[0]["skipped"] == [{"human": "r003", "units": 8, "reason": "fewer than 30 units"}]
    assert result["people"]["raters"] == 3
    people = Ratings.from_rows([row for row in rows_of(table) if row[0] not in ("r002", "r004")])
    assert result["people"]["krippendorff_alpha"]["value"] == pytest.approx(krippendorff_alpha(people).value)


def test_a_label_can_be_left_out(table, tmp_path):
    path = write(tmp_path / "r.csv", table)
    result = as_json(path, "--without-label", "2", "--bootstrap", "0")
    kept = Ratings.from_rows([row for row in rows_of(table) if row[2] != "2"])
    assert set(result["labels"]) == {"0", "1"}
    assert result["krippendorff_alpha"]["value"] == krippendorff_alpha(kept).value
    assert result["ratings"] == len(kept)
    assert result["left_out"] == {"ratings '2'": len(table) - len(kept)}
    assert result["krippendorff_alpha"]["low"] is None


def test_ordered_levels_have_weighted_kappas(table, tmp_path):
    path = write(tmp_path / "r.csv", table)
    result = as_json(path, "--level", "ordinal", "--order", "2,0,1", "--bootstrap", "20")
    given = {(r, u): v for r, u, v in rows_of(table)}
    a, b = ([given[r, u] for u in table.units] for r in ("r000", "r001"))
    for weights in ("linear", "quadratic"):
        pair = result[f"cohen_kappa_{weights}"]["pairs"][0]
        assert pair["value"] == pytest.approx(
            cohen_kappa(a, b, weights=weights, labels=["2", "0", "1"]).value
        )
        assert pair["low"] < pair["value"] < pair["high"]
    assert list(result["labels"]) == ["2", "0", "1"]


@pytest.mark.parametrize("rule", ["majority", "dawid_skene", "mace", "single:r001"])
def test_aggregate(table, tmp_path, rule):
    found = as_json(write(tmp_path / "r.csv", table), "--aggregate", rule, "--bootstrap", "0")["aggregate"]
    assert found["rule"] == rule
    assert len(found["units"]) == 80
    assert found["n"] + sum(found["left_out"].values()) == 80
    assert sum(found["labels"].values()) == pytest.approx(1)


def test_aggregate_per_rater(table, tmp_path):
    found = as_json(write(tmp_path / "r.csv", table), "--aggregate", "per_rater", "--bootstrap", "0")[
        "aggregate"
    ]
    assert found["n"] == 5
    shares = [rater["labels"]["0"] for rater in found["raters"].values()]
    assert found["labels"]["0"] == pytest.approx(np.mean(shares))


def test_same_seed_same_output(table, tmp_path):
    path = write(tmp_path / "r.csv", table)
    for form in ("json", "csv", "text"):
        options = ("--format", form, "--bootstrap", "30", "--seed")
        assert run(path, *options, "1") == run(path, *options, "1")
        if form != "csv":
            assert run(path, *options, "1") != run(path, *options, "2")


def test_csv_has_the_same_numbers(table, tmp_path):
    path = write(tmp_path / "r.csv", table)
    result = as_json(path, "--bootstrap", "0")
    rows = list(csv.DictReader(io.StringIO(run(path, "--format", "csv", "--bootstrap", "0"))))
    by_name = {(row["statistic"], row["a"], row["b"]): row for row in rows}
    assert float(by_name["krippendorff_alpha", "", ""]["value"]) == result["krippendorff_alpha"]["value"]
    for pair in result["cohen_kappa"]["pairs"]:
        assert float(by_name["cohen_kappa", pair["a"], pair["b"]]["value"]) == pair["value"]
    assert by_name["fleiss_kappa", "", ""]["value"] == ""
    assert by_name["fleiss_kappa", "", ""]["reason"] == result["fleiss_kappa"]["reason"]


def test_csv_names_are_no_formulas(tmp_path):
    rows = [("=1+1", "u", "@x"), ("-b", "u", "@x"), ("=1+1", "v", "+y"), ("-b", "v", "@x")]
    text = run(write(tmp_path / "r.csv", Ratings.from_rows(rows)), "--format", "csv", "--bootstrap", "0")
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row[1:3]]
    assert "'=1+1" in cells
    assert not any(cell[:1] in ("=", "+", "-", "@") for cell in cells)


def test_text_says_why_a_figure_is_not_defined(table, tmp_path):
    text = run(write(tmp_path / "r.csv", table), "--bootstrap", "10", "--simulators", "r002")
    assert "not defined: units have different numbers of ratings, from 4 to 5" in " ".join(text.split())
    assert "human-simulator kappa, r002" in text
    assert "not averaged: too few shared units" in text
    assert "alternative annotator test: r002, epsilon 0.2" in text
    same = write(tmp_path / "same.csv", ratings_of(np.ones((2, 5))))
    assert "not defined: all raters gave the same label" in run(same)


@pytest.mark.parametrize(
    "matrix", [[[1]], [[1, 2, 1]], [[1], [2]], [[1, 1], [1, 1]], [[1, np.nan], [np.nan, 2]]],
    ids=["one rating", "one rater", "one unit", "all the same", "nothing shared"],
)  # fmt: skip
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_degenerate_tables_give_reasons(matrix, level, tmp_path):
    path = write(tmp_path / "r.csv", ratings_of(matrix))
    result = as_json(path, "--level", level, "--simulators", "r000", "--bootstrap", "20")
    found = [result[name] for name in ("percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1")]
    found += [result["cohen_kappa"]["mean"], result["human_human"], result["human_simulator"]["r000"]]
    for statistic in found:
        assert (statistic["value"] is None) == bool(statistic["reason"])
    for form in ("text", "csv"):
        assert run(path, "--level", level, "--format", form, "--bootstrap", "20")


def test_all_values_blank(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("worker,item,label\na,1,\nb,1, \n")
    result = as_json(path)
    assert (result["raters"], result["units"], result["ratings"]) == (2, 1, 0)
    assert result["left_out"] == {"rows without a value": 2}
    assert result["percent_agreement"]["reason"] == "no unit has two ratings"
    assert "rows without a value" in run(path)


def test_random_tables_at_every_level():
    for matrix in random_matrices(15, seed=81):
        for level in ("nominal", "ordinal", "interval", "ratio"):
            table = ratings_of(matrix, level=level)
            result = summarize(table, rng=np.random.default_rng(0), replicates=20, min_overlap=1).to_dict()
            assert json.loads(json.dumps(result, allow_nan=False)) == result


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--level", "interval"), "expected a number"),
        (("--simulators", "zoe"), "no rater is called 'zoe'"),
        (("--aggregate", "average"), "rule: expected one of"),
        (("--aggregate", "single:zoe"), "'zoe' is not a rater"),
        (("--min-overlap", "0"), "expected a whole number, 1 or more"),
        (("--bootstrap", "-1"), "--bootstrap"),
        (("--epsilon", "2"), "expected a number from 0 to 1"),
        (("--order", "yes,"), "names separated by commas"),
        (("--level", "cardinal"), "invalid choice"),
    ],
)
def test_wrong_options(options, message, tmp_path):
    path = write(tmp_path / "r.csv", Ratings.from_rows([("a", "u", "yes"), ("b", "u", "no")]))
    out = io.StringIO()
    with pytest.raises(CommandError, match=message):
        call_command(
            "agreement",
            str(path),
            "--rater",
            "worker",
            "--unit",
            "item",
            "--value",
            "label",
            *options,
            stdout=out,
        )
    assert out.getvalue() == ""


def test_a_missing_file_and_a_missing_column(tmp_path):
    with pytest.raises(CommandError, match="No such file"):
        run(tmp_path / "none.csv")
    path = write(tmp_path / "r.csv", Ratings.from_rows([("a", "u", "yes")]))
    with pytest.raises(
        CommandError, match="there is no column 'rater'; the columns are 'worker', 'item', 'label'"
    ):
        run(path, columns=("rater", "item", "label"))
    with pytest.raises(CommandError, match="directory"):
        run(tmp_path)


def test_a_declared_label_that_nobody_gave_is_reported(tmp_path, capsys):
    path = write(tmp_path / "r.csv", Ratings.from_rows([("a", "u", "yes"), ("b", "u", "no")]))
    run(path, "--without-label", "cannot guess")
    assert "nobody gave the label 'cannot guess'" in capsys.readouterr().err


@pytest.mark.parametrize("good", [True, False])
def test_the_command_works_without_a_database(tmp_path, good):
    """A real process, no server to reach, the file on standard input; nothing on stdout where it is refused."""
    text = "worker,item,label\na,1,yes\nb,1,no\na,2,yes\nb,2,yes\n" + ("" if good else "a,1,no\n")
    command = [
        sys.executable,
        "manage.py",
        "agreement",
        "-",
        "--rater",
        "worker",
        "--unit",
        "item",
        "--value",
        "label",
    ]
    done = subprocess.run(
        [*command, "--format", "json"],
        cwd=ROOT,
        input=text.encode(),
        capture_output=True,
        env={
            **os.environ,
            "DATABASE_URL": "postgres://none@127.0.0.1:1/none",
            "REDIS_URL": "redis://127.0.0.1:1/0",
        },
        check=False,
    )
    if good:
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["ratings"] == 4
    else:
        assert done.returncode != 0
        assert done.stdout == b""
        assert b"standard input:6: item: 'a' has rated '1' twice, first in line 2" in done.stderr


def test_real_people_and_models(tmp_path, public_data):
    rows, models = [], set()
    for kind in ("human", "llm"):
        given = json.loads((public_data.folder / "human_and_llm" / f"mtbench_{kind}.json").read_text())
        models |= set(given) if kind == "llm" else set()
        rows += [(rater, unit, label) for rater, labels in given.items() for unit, label in labels.items()]
    path = write(tmp_path / "r.csv", Ratings.from_rows(rows))
    result = as_json(path, "--simulators", ",".join(models), "--bootstrap", "100")
    rho = {
        test["simulator"]: test["advantage_probability"]["value"]
        for test in result["alternative_annotator_test"]
    }
    assert len(rho) == 6
    if public_data.real:
        assert (round(rho["gpt-4o"], 2), round(rho["gemini_pro"], 2)) == (0.77, 0.76)


def test_the_table_shows_pairs_that_share_units_first_and_survives_a_line_end():
    rows = [(f"r{n}", f"u{n}", "yes") for n in range(12)]  # 66 pairs, none of which shares a unit
    rows += [(rater, f"v{n}", "a\nb" if n % 2 else "no") for rater in ("y", "z") for n in range(12)]
    text = as_text(summarize(Ratings.from_rows(rows)))
    lines = text.splitlines()
    first = lines.index("the 20 lowest of 91 pairs of raters (--all-pairs shows every one)")
    assert lines[first + 3].split()[:3] == ["y", "z", "12"]
    assert lines[first + 23] == ""
    assert "a\\nb" in text


def test_many_pairs_are_shown_only_if_asked_for(table, tmp_path):
    """Of 15 pairs every one is shown; of 28 the 20 with the lowest kappa, the averaged ones first."""
    rows = rows_of(table)
    few = write(
        tmp_path / "few.csv", Ratings.from_rows([*rows, *(("r005", u, v) for r, u, v in rows if r == "r000")])
    )
    assert "lowest of" not in run(few, "--bootstrap", "0")
    more = [
        (f"s{n}", unit, "012"[(int(value) + n) % 3])
        for n in range(3)
        for r, unit, value in rows
        if r == "r000"
    ]
    path = write(tmp_path / "many.csv", Ratings.from_rows([*rows, *more]))
    pairs = as_json(path, "--bootstrap", "0")["cohen_kappa"]["pairs"]
    text = run(path, "--bootstrap", "0").splitlines()
    first = text.index("the 20 lowest of 28 pairs of raters (--all-pairs shows every one)")
    shown = [line.split() for line in text[first + 3 : first + 23]]
    lowest = sorted((pair for pair in pairs if pair["averaged"]), key=lambda pair: pair["value"])[:20]
    assert [(a, b) for a, b, *_ in shown] == [(pair["a"], pair["b"]) for pair in lowest]
    every = run(path, "--bootstrap", "0", "--all-pairs").splitlines()
    begin = next(n for n, line in enumerate(every) if line.startswith("rater  rater"))
    assert every[begin + 2 : begin + 30] == [line for line in every[begin + 2 : begin + 30] if line]
    assert not any("lowest of" in line for line in every)


def test_long_notes_are_broken_into_lines():
    rows = [(f"rater with a long name {n}", f"u{n}", "yes") for n in range(6)]
    text = as_text(summarize(Ratings.from_rows(rows)))
    assert max(map(len, text.splitlines())) <= 120
    assert "not defined: no pair can be averaged: 15 pairs that share no unit" in " ".join(text.split())


def test_no_replicates_mean_no_interval_anywhere():
    rows = [(rater, f"u{n}", str(n % 3 if rater != "c" else n % 2)) for rater in "abc" for n in range(30)]
    table = Ratings.from_rows(rows, level="ordinal", simulators=["c"])
    for replicates in (0, 1):
        found = json.dumps(
            summarize(table, rng=np.random.default_rng(0), replicates=replicates, min_overlap=1).to_dict()
        )
        assert '"low": null' in found
        assert not re.search(r'"(low|high)": -?\d', found)


def test_one_of_a_kind_is_counted_in_the_singular(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("rater,unit,value\na,u,yes\nb,u,yes\na,v,no\na,w,\nb,x,\n")
    text = run(path, "--bootstrap", "0", columns=("rater", "unit", "value"))
    assert "without 1 unit with a single rating" in text
    text = " ".join(text.split())
    assert "1 pair that shares fewer than 10 units" in text
    assert not re.search(r"\b1 (units|pairs|rows)\b", text)


def test_text_says_why_there_is_no_interval(tmp_path):
    rows = [
        (r, f"u{u:02}", "yes" if (u, r) in ((1, "a"), (2, "b")) else "no") for u in range(30) for r in "ab"
    ]
    text = run(write(tmp_path / "r.csv", Ratings.from_rows(rows)), "--bootstrap", "50")
    lines = {line.partition("  ")[0]: line for line in text.splitlines()}
    why = "no interval: at least 3 units with another label"
    plain = " ".join(text.split())
    assert plain.count(f"{why} than 'no' are needed, found 2") == 3  # alpha, Fleiss' and Conger's kappa
    for name in ("Krippendorff's alpha", "Fleiss' kappa", "Cohen's kappa, mean of pairs"):
        assert "no interval: at least 3 units" in lines[name]
    assert f"{why} than each pair's most frequent one are needed, found 2" in plain
    assert "no interval" not in lines["percent agreement"]
    assert text.count("no interval: fewer than 8 units, or too few with another label") == 1
    assert "no interval" not in run(tmp_path / "r.csv", "--bootstrap", "0")


def test_one_of_each_is_in_the_singular(tmp_path):
    text = run(write(tmp_path / "r.csv", Ratings.from_rows([("a", "u", "yes")])))
    assert text.startswith("1 rating of 1 unit by 1 rater, nominal labels\n")
