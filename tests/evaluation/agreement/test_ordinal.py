"""Means and medians of ordered labels: of their numbers if they have any, else the median's label and a mean rank."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command

from evaluation.agreement import Ratings, aggregate, pairwise_kappa, summarize
from evaluation.agreement.descriptive import label_near, mean_label, median_label
from tests.evaluation.agreement.tables import rows_of

SCALE = [str(number) for number in range(1, 8)]
WORDS = ["low", "middle", "high"]


def scaled(labels: list[str], *, seed: int = 1) -> Ratings:
    """Two raters on 40 units, the second near the first."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, len(labels), 40)
    second = np.clip(first + rng.integers(-1, 2, 40), 0, len(labels) - 1)
    rows = [
        (rater, f"u{u:02}", labels[code]) for rater, given in (("a", first), ("b", second)) for u, code in enumerate(given)
    ]  # fmt: skip
    return Ratings.from_rows(rows, labels=labels, level="ordinal")


def command(table: Ratings, folder: Path, labels: list[str], *options: str) -> str:
    path = folder / "ratings.csv"
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(
            [
                ("who", "item", "kind", "says"),
                *((r, u, "xy"[int(u[1:]) % 2], v) for r, u, v in rows_of(table)),
            ]
        )
    said = io.StringIO()
    arguments = [
        "--rater",
        "who",
        "--unit",
        "item",
        "--value",
        "says",
        "--level",
        "ordinal",
        "--order",
        ",".join(labels),
    ]
    call_command(
        "agreement", str(path), *arguments, "--bootstrap", "50", *options, stdout=said, stderr=io.StringIO()
    )
    return said.getvalue()


def test_numbers_of_a_scale_are_used(tmp_path: Path) -> None:
    table = scaled(SCALE)
    values = np.array([float(label) for _, _, label in rows_of(table)])
    assert mean_label(table).value == pytest.approx(values.mean())
    assert median_label(table).value == np.median(values)
    found = json.loads(command(table, tmp_path, SCALE, "--format", "json", "--by", "kind"))
    assert found["mean"]["value"] == pytest.approx(values.mean())
    assert "median_label" not in found
    part = np.array([float(label) for _, unit, label in rows_of(table) if int(unit[1:]) % 2 == 0])
    assert found["groups"]["kind"]["x"]["mean"]["value"] == pytest.approx(part.mean())
    by_unit = aggregate(table, "mean").by_unit()
    one = [float(label) for _, unit, label in rows_of(table) if unit == "u00"]
    assert float(by_unit["u00"]) == np.mean(one)


@pytest.mark.parametrize("labels", [["2", "0", "1"], ["1", "two", "3"], ["1", "1.0", "2"]])
def test_numbers_that_contradict_the_order_are_labels(labels: list[str]) -> None:
    table = scaled(labels)
    assert table.ranked
    place = {label: number for number, label in enumerate(labels, 1)}
    assert mean_label(table).value == pytest.approx(np.mean([place[label] for _, _, label in rows_of(table)]))


def test_a_falling_scale_keeps_its_numbers() -> None:
    table = scaled(SCALE[::-1])
    assert not table.ranked
    assert mean_label(table).value == pytest.approx(np.mean([float(v) for _, _, v in rows_of(table)]))


def test_labels_without_numbers_have_a_median_label_and_a_mean_rank(tmp_path: Path) -> None:
    table = scaled(WORDS)
    ranks = np.array([WORDS.index(label) + 1 for _, _, label in rows_of(table)])
    found = json.loads(command(table, tmp_path, WORDS, "--format", "json", "--by", "kind"))
    assert "mean" not in found
    assert found["mean_rank"]["value"] == pytest.approx(ranks.mean())
    assert found["median_rank"]["value"] == np.median(ranks)
    assert found["median_label"] == label_near(WORDS, float(np.median(ranks)))
    text = command(table, tmp_path, WORDS, "--by", "kind")
    assert "ranks: 'low' is 1 and 'high' is 3; a mean of them takes all steps as equal" in text
    line = next(line for line in text.splitlines() if line.startswith("median of the ratings"))
    assert line.split()[4] == found["median_label"]
    header = next(line for line in text.splitlines() if line.startswith("kind "))
    assert "mean rank" in header
    assert "group:mean_rank,kind,x" in command(table, tmp_path, WORDS, "--by", "kind", "--format", "csv")


def test_quadratic_weights_lead_where_labels_are_ordered(tmp_path: Path) -> None:
    table = scaled(SCALE)
    quadratic = pairwise_kappa(table, weights="quadratic").mean().value
    text = command(table, tmp_path, SCALE)
    lines = [line for line in text.splitlines() if line.startswith("Cohen")]
    assert lines[0].startswith("Cohen's kappa, quadratic, mean of pairs")
    assert f"{quadratic:.4f}" in lines[0]
    pairs = text[text.index("rater  rater") :].splitlines()
    assert "quadratic kappa" in pairs[0]
    assert f"{quadratic:.4f}" in pairs[2]
    found = summarize(table).to_dict()
    assert found["human_human_quadratic"]["value"] == quadratic
    nominal = summarize(Ratings.from_rows(rows_of(table))).to_dict()
    assert "human_human_quadratic" not in nominal
