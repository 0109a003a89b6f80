"""A report's section on confidence: people and simulators side by side, with what isn't known counted; and its release."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest

from annotator.models import Judgment, Study
from evaluation.ratings.confidence import stages_in, sure_labels
from evaluation.ratings.load import study_ratings
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from tests.annotator.demo_studies import demo_study
from tests.evaluation.releases.releases import built
from tests.evaluation.reports.studies import cells_of, computed, small_study, stored, table_of
from tests.evaluation.reports.sure_study import sure_study
from tests.factories import make_rater, record_judgment

pytestmark = pytest.mark.django_db


def test_the_hand_made_case() -> None:
    study = sure_study()
    Judgment.objects.filter(item__key="a1", rater__name="gpt-4").update(signals={"confidence": 0.8})
    content = computed(study, figures=True, replicates=200).content
    cells = cells_of(content, "confidence")
    who = {name for name, _ in cells}
    ours = next(name for name in who if name.endswith("what they say"))
    # Right: a1 .9 .9, a2 .6 (bob), b1 .6 (ann), b2 .6 (ann); wrong: a2 .9 (ann). Bob's b1 has no confidence, c1 no real output.
    assert cells[ours, "Labels"]["value"] == 6
    assert cells[ours, "Without a confidence"]["value"] == 1
    assert cells[ours, "Not known whether right"]["value"] == 2
    assert cells[ours, "Cannot tell"]["value"] == 1
    assert cells[ours, "Mean confidence"]["value"] == pytest.approx((3 * 0.9 + 3 * 0.6) / 6)
    assert cells[ours, "Share right"]["value"] == pytest.approx(5 / 6)
    brier = (2 * 0.01 + 3 * 0.16 + 0.81) / 6
    assert cells[ours, "Brier score"]["value"] == pytest.approx(brier)
    # Two bins: .6 (3 of 3 right), .9 (2 of 3 right).
    reliability = (3 * (0.6 - 1) ** 2 + 3 * (0.9 - 2 / 3) ** 2) / 6
    resolution = (3 * (1 - 5 / 6) ** 2 + 3 * (2 / 3 - 5 / 6) ** 2) / 6
    assert cells[ours, "Reliability"]["value"] == pytest.approx(reliability)
    assert cells[ours, "Resolution"]["value"] == pytest.approx(resolution)
    assert brier == pytest.approx(reliability - resolution + 5 / 36)
    ece = (3 * 0.4 + 3 * (0.9 - 2 / 3)) / 6
    assert cells[ours, "Expected calibration error"]["value"] == pytest.approx(ece)
    # Of 5 x 1 pairs of a right and a wrong label, 2 are tied and 3 the wrong way round.
    assert cells[ours, "Area under the ROC curve"]["value"] == pytest.approx(0.2)
    model = next(name for name in who if name.endswith("its reply"))
    assert cells[model, "Labels"]["value"] == 3
    assert cells[model, "Without a confidence"]["value"] == 1
    assert cells[model, "Brier score"]["value"] == pytest.approx((0 + 1 + 0.09) / 3)
    signals = next(name for name in who if name.endswith("log probabilities or samples"))
    assert cells[signals, "Labels"]["value"] == 1
    assert cells[signals, "Brier score"]["value"] == pytest.approx(0.04)
    raters = cells_of(content, "confidence-raters")
    assert raters["bob", "Without a confidence"]["value"] == 1
    assert "all labels are right" in raters["bob", "Area under the ROC curve"]["reason"]
    figures = [
        b for s in content["sections"] for b in s["blocks"] if b["id"].startswith("confidence-reliability")
    ]
    assert [one["form"] for one in figures] == ["reliability"] * 3
    prose = next(s for s in content["sections"] if s["id"] == "confidence")["prose"]
    assert "mean confidence of 75.0 %" in str(prose)


def test_intervals_take_instances_together() -> None:
    study = sure_study()
    labels = sure_labels(study_ratings(study=study), "simulation", frozenset({""}))
    people = labels.of(["ann"])
    assert len(set(people.cluster.tolist())) == 3, "five labels of three instances"


def test_named_steps_count_as_numbers_and_the_report_says_so() -> None:
    content = computed(sure_study("steps")).content
    section = next(one for one in content["sections"] if one["id"] == "confidence")
    assert "not probabilities" in str(section["notes"])
    cells = cells_of(content, "confidence")
    ours = next(name for name, _ in cells if name.endswith("what they say"))
    assert cells[ours, "Mean confidence"]["value"] == pytest.approx((3 * 1 + 3 * 0.5) / 6)


def test_a_study_that_does_not_ask_has_no_such_section() -> None:
    content = computed(small_study(simulator=True)).content
    assert "confidence" not in {one["id"] for one in content["sections"]}


def test_agreement_and_distributions_are_about_the_answer() -> None:
    content = computed(sure_study()).content
    ids = {block["id"] for section in content["sections"] for block in section["blocks"]}
    assert not any(name.startswith(("agreement-confidence", "means-confidence")) for name in ids)
    with_it = cells_of(content, "agreement-simulation")
    plain = sure_study(slug="plain")
    Study.objects.filter(pk=plain.pk).update(confidence="no")
    plain.refresh_from_db()
    assert cells_of(computed(plain).content, "agreement-simulation") == with_it


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("utility", {"before": {"before"}, "after": {"after"}}),
        ("plausibility", {"plausibility": {""}}),
        ("generalization_utility", {
            "before": {"question"}, "after": {"question_again"}, "follow_up_before": {"follow_up"},
            "follow_up_after": {"follow_up_again"},
        }),
    ],
)  # fmt: skip
def test_each_answer_has_the_confidence_of_its_own_stage(name: str, stages: dict[str, set[str]]) -> None:
    study = demo_study(name, confidence="percent")
    assert stages_in(study_ratings(study=study)) == stages


def test_before_and_after_are_rows_of_their_own() -> None:
    study = demo_study("utility", confidence="percent")
    item = study.items.order_by("pk").first()
    assert item is not None
    assert item.instance is not None
    right = item.instance.gold_label
    wrong = "no" if right == "yes" else "yes" if right == "no" else "ABCD".replace(right, "")[0]
    for number, sure in enumerate(("30", "40")):
        answer = {"before": wrong, "confidence_before": sure, "after": right, "confidence_after": "80"}
        record_judgment(item, make_rater(f"rater {number}"), answer)
    cells = cells_of(computed(study).content, "confidence")
    rows = {name.split(" the ")[0]: cells[name, "Brier score"]["value"] for name, _ in cells}
    assert rows == {
        "Answer before": pytest.approx((0.09 + 0.16) / 2),
        "Answer after": pytest.approx(0.04),
    }


def test_a_release_has_it_and_is_reproduced() -> None:
    report = stored(sure_study(), replicates=100)
    found, file = built(report)
    assert found.comparison.differing == 0, "\n".join(found.comparison.sentences)
    archive = zipfile.ZipFile(file)
    name = next(one for one in archive.namelist() if one.endswith("ratings.csv"))
    rows = list(csv.DictReader(io.StringIO(archive.read(name).decode())))
    said = [row for row in rows if row["variable"] == "confidence"]
    assert len(said) == 12
    assert {row["value"] for row in said} == {"10", "20", "30", "60", "70", "90", "100"}
    again = release_reproduce(release_open(file))
    assert again.exact
    assert table_of(report.content, "confidence")["rows"]
