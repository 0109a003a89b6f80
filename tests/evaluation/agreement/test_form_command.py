"""``agreement`` at the levels set, ranking, span and pairwise: what it prints, groups of raters, refusals."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from evaluation.agreement import Ratings
from evaluation.agreement.by_form import TITLES, summarize_form
from evaluation.agreement.value_forms import FORMS, form_of
from tests.evaluation.agreement.form_rows import VALUES, rows_of


@pytest.fixture
def run(tmp_path):
    def made(rows: list[dict[str, Any]], *options: str) -> str:
        path = tmp_path / "ratings.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        out = StringIO()
        columns = ["--rater", "rater", "--unit", "unit", "--value", "value"]
        call_command(
            "agreement", str(path), *columns, "--bootstrap", "50", *options, stdout=out, stderr=StringIO()
        )
        return out.getvalue()

    return made


@pytest.mark.parametrize("level", FORMS)
def test_every_format_has_the_same_figures(run, level):
    rows = rows_of(level)
    more = (
        ["--sides", "one", "two"] if level == "pairwise" else ["--length", "size"] if level == "span" else []
    )
    options = ["--level", level, *more, "--simulators", "m1"]
    found = json.loads(run(rows, *options, "--format", "json"))
    assert found["level"] == level
    assert [group["who"] for group in found["groups"]] == [
        "people",
        "m1" if level == "pairwise" else "people and m1",
    ]
    assert found["bootstrap"] == {"replicates": 50, "seed": 0}
    table = list(csv.DictReader(StringIO(run(rows, *options, "--format", "csv"))))
    text = run(rows, *options)
    group = found["groups"][0]
    shown = 0
    for name in set(TITLES) & set(group):
        values = {"": group[name]} if "value" in group[name] else group[name]
        for about, value in values.items():
            (row,) = [
                one for one in table if (one["statistic"], one["who"], one["a"]) == (name, "people", about)
            ]
            assert row["value"] == ("" if value["value"] is None else str(value["value"]))
            title = f"{TITLES[name]} {about}".strip()
            line = next(one for one in text.splitlines() if one.startswith(title))
            assert (f"{value['value']:.3f}" if value["value"] is not None else "not defined") in line
            shown += 1
    assert shown >= 2


def test_systems_of_the_sides_are_compared(run):
    found = json.loads(
        run(rows_of("pairwise"), "--level", "pairwise", "--sides", "one", "two", "--format", "json")
    )
    group = found["groups"][0]
    assert group["systems"] == ["fox", "hen", "owl"]
    assert sum(map(sum, group["wins"])) + sum(map(sum, group["tied"])) // 2 == group["ratings"] == 72
    assert (
        group["strength"]["owl"]["low"] < group["strength"]["owl"]["value"] < group["strength"]["owl"]["high"]
    )
    plain = json.loads(run(rows_of("pairwise"), "--level", "pairwise", "--format", "json"))
    assert plain["groups"][0]["systems"] == ["a", "b"]


def test_lengths_come_from_the_file(run):
    rows = rows_of("span")
    known = json.loads(run(rows, "--level", "span", "--length", "size", "--format", "json"))
    assert known["groups"][0]["alpha_marked"]["n"] == 20 * 72
    assert known["notes"] == []
    unknown = json.loads(run(rows, "--level", "span", "--format", "json"))
    assert "each text ends with its last span" in unknown["notes"][0]


@pytest.mark.parametrize(
    ("level", "change", "options", "message"),
    [
        ("set", {"value": "x"}, [], "ratings.csv: value: 'x': expected a JSON list of different keys"),
        ("pairwise", {"value": "c"}, [], "'c' of 'u00': expected one of: a, b, equal"),
        ("pairwise", {"one": ""}, ["--sides", "one", "two"], "one: blank in a row of 'u00'; expected the system"),
        ("span", {"size": "x"}, ["--length", "size"], "size: 'x' in a row of 'u00'; expected a number of characters"),
        ("span", {"size": 21}, ["--length", "size"], "size: 'u00' has 21 and 20 characters"),
        ("set", {}, ["--length", "size"], "--length goes with --level span only"),
        ("nominal", {}, ["--sides", "one", "two"], "--sides goes with --level pairwise only"),
        ("set", {}, ["--gold", "value"], "--level set takes no --gold: its values are not labels"),
        ("ranking", {}, ["--without-label", "x"], "--level ranking takes no --without-label"),
    ],
)  # fmt: skip
def test_refusals(run, level, change, options, message):
    rows = rows_of(level if level in VALUES else "pairwise")
    rows[0] |= change
    with pytest.raises(CommandError, match=message):
        run(rows, "--level", level, *options)


def test_a_choice_among_three_is_a_comparison_with_each_other_one():
    table = Ratings.from_rows([("ann", "u", "x"), ("bob", "u", "y"), ("cat", "u", "z")])
    sides = [{"x": "owl", "y": "fox", "z": "hen"}] * 3
    strengths = summarize_form(table, "pairwise", sides=sides).groups[0].strengths
    assert strengths is not None
    assert strengths.wins.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_a_system_on_both_sides_is_left_out_and_counted():
    table = Ratings.from_rows([("ann", "u", "a"), ("bob", "u", "equal"), ("cat", "u", "b")])
    found = summarize_form(table, "pairwise", sides=[{"a": "owl", "b": "owl"}] * 3)
    assert found.left_out == {"comparisons of a system with itself": 3}
    assert found.groups[0].figures[0].estimate.reason == "no two systems were compared"


def test_names_of_levels():
    assert [form_of(name) for name in ("spans", "preference", "ordinal")] == ["span", "pairwise", None]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sides", [None, []])
def test_without_ratings_every_figure_is_undefined(form, sides):
    found = summarize_form(Ratings.from_rows([]), form, sides=sides, rng=np.random.default_rng(0))
    assert [one.estimate.defined for one in found.groups[0].figures].count(True) == 0
    assert all(one.estimate.reason for one in found.groups[0].figures)


def test_each_row_of_the_csv_says_whose_it_is_and_names_nothing_twice(run):
    for level, more in (("pairwise", ["--sides", "one", "two"]), ("span", [])):
        text = run(rows_of(level), "--level", level, *more, "--simulators", "m1", "--format", "csv")
        table = list(csv.DictReader(StringIO(text)))
        assert {row["who"] for row in table} == {"people", "m1" if level == "pairwise" else "people and m1"}
        keys = [tuple(row[name] for name in ("statistic", "who", "a", "b")) for row in table]
        assert len(set(keys)) == len(keys)
        names = {row["statistic"] for row in table}
        assert names >= ({"pair_wins", "pair_ties", "ties"} if level == "pairwise" else {"pair_f1_exact"})
        assert "wins" not in names
