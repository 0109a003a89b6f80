"""Reports on ordered labels, and on designs that support few statistics: what leads, and what is said where a number is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from annotator.models import Study
from evaluation.agreement.descriptive import label_near
from evaluation.core.estimate import Estimate
from evaluation.reports.agreement_data import KappaMeans
from evaluation.reports.exports import export
from evaluation.reports.sections.agreement import stated_mean
from tests.evaluation.reports.studies import cells_of, computed, table_of

pytestmark = pytest.mark.django_db
WORDS = ["low", "middle", "high"]


def imported(tmp_path: Path, rows: list[tuple[str, str, str]], *options: str) -> Study:
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(["rater,item,score", *map(",".join, rows)]))
    call_command(
        "import_judgments", "scores", str(file), "--create", "--hit-type", "external_labels",
        "--item", "item", "--rater", "rater", "--value", "score", *options,
    )  # fmt: skip
    return Study.objects.get(slug="scores")


def near(labels: list[str], items: int = 30) -> list[tuple[str, str, str]]:
    """Two raters; the second is at most one step away from the first."""
    rng = np.random.default_rng(2)
    first = rng.integers(0, len(labels), items)
    second = np.clip(first + rng.integers(-1, 2, items), 0, len(labels) - 1)
    return [
        (r, f"i{n:02}", labels[v]) for r, given in (("a", first), ("b", second)) for n, v in enumerate(given)
    ]


def section_of(content: dict[str, Any], name: str) -> dict[str, Any]:
    return next(section for section in content["sections"] if section["id"] == name)


def test_a_scale_shows_its_numbers_and_leads_with_quadratic_weights(tmp_path: Path) -> None:
    labels = [str(number) for number in range(1, 8)]
    rows = near(labels)
    study = imported(tmp_path, rows, "--level", "score=ordinal", "--labels", f"score={','.join(labels)}")
    content = computed(study, replicates=100).content
    cells = cells_of(content, "means-score")
    assert cells["All", "Mean"]["value"] == pytest.approx(np.mean([float(v) for _, _, v in rows]))
    sentence = section_of(content, "agreement")["prose"][0]
    assert "mean Cohen’s κ with quadratic weights is" in sentence
    heads = [row["head"][0] for row in table_of(content, "agreement-score")["rows"]]
    assert heads[0] == "Cohen’s κ with quadratic weights, imported raters with each other"
    assert "Cohen’s κ without weights, imported raters with each other" in heads
    assert "quadratic" in section_of(content, "summary")["prose"][1]


def test_words_show_the_median_label_and_say_what_a_mean_rank_is(tmp_path: Path) -> None:
    rows = near(WORDS)
    ranks = [WORDS.index(v) + 1 for _, _, v in rows]
    study = imported(tmp_path, rows, "--level", "score=ordinal", "--labels", f"score={','.join(WORDS)}")
    content = computed(study, replicates=100).content
    cells = cells_of(content, "means-score")
    median = label_near(WORDS, float(np.median(ranks)))
    assert cells["All", "Median"]["text"].startswith(f"“{median}”")
    assert cells["All", "Mean rank"]["value"] == pytest.approx(np.mean(ranks))
    assert ("All", "Mean") not in cells
    notes = table_of(content, "means-score")["notes"]
    assert any("“low” is 1, “high” is 3" in note for note in notes)
    assert f"The median of “Score” is “{median}”" in section_of(content, "means")["prose"][0]


def test_alpha_leads_where_pairs_share_few_units(tmp_path: Path) -> None:
    """Six raters, two on each of 40 items: no pair shares 10 items, so there is no mean of kappa."""
    rng = np.random.default_rng(3)
    rows = []
    for item in range(40):
        for rater in rng.choice(6, 2, replace=False):
            rows.append(
                (f"r{rater}", f"i{item:02}", "yes" if rng.random() < 0.5 + 0.4 * (item % 2) else "no")
            )
    content = computed(imported(tmp_path, rows), replicates=100, min_overlap=10).content
    sentence = section_of(content, "agreement")["prose"][0]
    assert sentence.startswith("On “Score”, among imported raters, Krippendorff’s α is ")
    assert (
        "mean Cohen’s κ is not defined (no pair can be averaged: 15 pairs that share fewer than 10 units)"
        in sentence
    )
    assert table_of(content, "agreement-score")["rows"][0]["head"][0].startswith("Krippendorff’s α")
    assert section_of(content, "summary")["prose"][1] == sentence


def test_every_format_says_why_there_is_no_interval(tmp_path: Path) -> None:
    rows = [(r, f"i{n}", "xy"[(n + (r == "b") * (n == 3)) % 2]) for n in range(5) for r in "ab"]
    content = computed(imported(tmp_path, rows), replicates=100, min_overlap=1).content
    why = "at least 8 instances are needed, found 5"
    sentence = section_of(content, "agreement")["prose"][0]
    assert f"no interval: {why}" in sentence
    table = table_of(content, "agreement-score")
    assert any("interval: " in note and why in note for note in table["denominators"])
    written = {name: export(content, {}, name) for name in ("text", "html", "latex", "csv", "json")}
    for name, text in written.items():
        assert why in " ".join(text.split()), name
    assert "(no interval)" in written["text"]
    assert "no interval</span>" in written["html"]
    assert "(no interval)" in written["latex"]
    kappa = next(
        cell for (head, _), cell in cells_of(content, "agreement-score").items() if head.startswith("Cohen")
    )
    assert kappa["interval"] == f"none: {why}"


def test_no_reason_is_given_where_no_intervals_were_requested(tmp_path: Path) -> None:
    rows = [(r, f"i{n}", "xy"[n % 2]) for n in range(5) for r in "ab"]
    content = computed(imported(tmp_path, rows), replicates=0).content
    assert "no interval:" not in export(content, {}, "text").lower()
    assert "(no interval)" not in export(content, {}, "text")


def test_a_large_bias_of_the_mean_of_kappa_is_said() -> None:
    """The papers' plain mean, how many of all pairs it is of, and the corrected mean with its own interval."""
    left = {"pairs that share fewer than 10 units": 169}
    why = "none: the bias of -0.0281 is larger than half the width of an interval"
    plain = Estimate(0.4003, n=611, left_out=left, interval=why)
    corrected = Estimate(0.4284, 0.419, 0.4378, n=611, left_out=left)
    means = KappaMeans(plain, plain, {}, {}, corrected)
    assert stated_mean(means) == (
        "0.400 (n = 611 of 780 pairs), which few shared units bias; corrected 0.428 [0.419, 0.438] (n = 611 of 780 pairs)"
    )
    fine = replace(plain, low=0.39, high=0.41, interval="95 %")
    assert stated_mean(replace(means, human_human=fine)) == "0.400 [0.390, 0.410] (n = 611 of 780 pairs)"


def test_the_corrected_mean_has_a_row_of_its_own(tmp_path: Path) -> None:
    study = imported(tmp_path, near(["a", "b", "c"], items=60))
    cells = cells_of(computed(study, replicates=100, min_overlap=10).content, "agreement-score")
    plain = cells["Cohen’s κ, imported raters with each other", "All labels Value"]
    corrected = cells["– corrected for few shared units", "All labels Value"]
    assert corrected["value"] != plain["value"]
    assert corrected["value"] == pytest.approx(plain["value"], abs=0.05)
    assert (corrected["low"], corrected["high"]) == (plain["low"], plain["high"])


@pytest.mark.parametrize("epsilon", ["0.2", "0.1"])
def test_the_verdict_on_a_simulator_names_epsilon(tmp_path: Path, epsilon: str) -> None:
    rng = np.random.default_rng(5)
    rows = [
        (rater, f"i{n:02}", "yes" if (n % 2) ^ (rng.random() < 0.2) else "no") for rater in ("ann", "bob", "gpt") for n in range(40)
    ]  # fmt: skip
    study = imported(tmp_path, rows, "--simulators", "gpt")
    content = computed(study, replicates=100, epsilon=epsilon).content
    (sentence,) = section_of(content, "calibration")["prose"]
    assert f"By the alternative annotator test with ε = {epsilon}, it may" in sentence
    cells = cells_of(content, "calibration")
    assert {cell["value"] for (_, column), cell in cells.items() if column == "ε"} == {float(epsilon)}
    rho = next(cell for (_, column), cell in cells.items() if column == "Advantage probability")
    assert rho["low"] < rho["value"] < rho["high"]
    assert content["choices"]["epsilon"] == epsilon
