"""Reports across studies, worked out by hand: what is joined, and what needs several studies."""

import numpy as np
import pytest

from annotator.models import Instance, Item, Study
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from tests.evaluation.reports.across_studies import across, judged_plausible, same_inputs, simulated
from tests.evaluation.reports.paper_studies import p3_properties_study
from tests.evaluation.reports.studies import cells_of, judged, of_type, small_study, stored, table_of
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


def test_plausibility_against_precision_by_hand():
    # x: precision 1, 1/2, 0 and plausibility 1, 1/2, 0: Pearson and Spearman 1
    # y: precision 0, 1/2, 1 and plausibility 1, 1, 0: ranks 1 2 3 against 2.5 2.5 1; Pearson of (0, .5, 1) with
    # (1, 1, 0): cov = -1/6 ... = -(1/2)/sqrt(1/2 * 2/3) = -0.8660
    precision = simulated(
        {
            ("x", "a"): (2, 2), ("x", "b"): (1, 2), ("x", "c"): (0, 2),
            ("y", "a"): (0, 2), ("y", "b"): (1, 2), ("y", "c"): (2, 2),
            ("z", "a"): (2, 2),
        },
        title="Simulated",
    )  # fmt: skip
    plausible = judged_plausible(
        {
            ("x", "a"): "yes", ("x", "b"): "moderate", ("x", "c"): "no",
            ("y", "a"): "yes", ("y", "b"): "yes", ("y", "c"): "no",
        }
    )  # fmt: skip
    same_inputs(precision, plausible)
    content = across(precision, plausible)
    cells = cells_of(content, "p1-precision-plausibility")
    assert cells["Pearson", "Value"]["value"] == pytest.approx((1 - np.sqrt(3) / 2) / 2)
    assert cells["Spearman", "Value"]["value"] == pytest.approx((1 - np.sqrt(3) / 2) / 2)
    assert cells["Pearson", "Instances"]["value"] == 2
    assert cells["Pearson", "Between annotators"]["value"] is None  # there is one annotator of plausibility
    assert cells["Pearson", "Between annotators"]["reason"]
    means = cells_of(content, "p1-precision-plausibility-systems")
    assert means["a", "Plausibility"]["value"] == 1.0
    assert means["a", "Precision"]["value"] == 0.5  # z has no plausibility
    assert means["a", "Explanations"]["value"] == 2


def test_questions_that_only_share_a_name_are_not_matched():
    precision = simulated({("x", "a"): (2, 2), ("x", "b"): (1, 2)})
    plausible = judged_plausible({("x", "a"): "yes", ("x", "b"): "no"})
    cells = cells_of(across(precision, plausible), "p1-precision-plausibility")
    assert cells["Pearson", "Value"]["value"] is None
    assert cells["Pearson", "Value"]["reason"]


def test_tables_with_the_same_id_have_one_row_per_dataset():
    one, two = small_study(title="One"), small_study(title="Two")
    content = across(one, two)
    cells = cells_of(content, "p1-table-4")
    # the same judgments in both: each dataset's row has the values of a report on the study alone
    assert cells[f"{one.title} People", "robot-b"]["value"] == 1.0
    assert cells[f"{two.title} People", "robot-b"]["value"] == 1.0
    agreement = cells_of(content, "agreement-simulation")
    for title in ("One", "Two"):
        found = agreement[f"{title} Cohen’s κ, people with each other", "All labels Value"]
        assert found["value"] == pytest.approx(17 / 23)
    assert [fact[0] for fact in content["facts"]].count("Study") == 2
    ids = [block["id"] for section in content["sections"] for block in section["blocks"]]
    assert len(ids) == len(set(ids))


def test_systems_of_several_studies_on_one_dataset_are_compared_on_common_instances():
    one = simulated({("x", "a"): (2, 2), ("y", "a"): (0, 2)}, title="One")
    two = simulated({("x", "b"): (1, 2), ("z", "b"): (2, 2), ("x", "a"): (0, 1)}, title="Two")
    same_inputs(one, two)
    content = across(one, two, replicates=100)
    cells = cells_of(content, "p1-systems-across-0")
    # x alone is common to a (One), a (Two) and b
    assert cells["a (One)", "Macro precision Common instances"]["value"] == 1.0
    assert cells["a (One)", "Macro precision All instances"]["value"] == 0.5
    assert cells["a (Two)", "Macro precision Common instances"]["value"] == 0.0
    assert cells["b", "Macro precision Common instances"]["value"] == 0.5
    assert cells["b", "Macro precision All instances"]["value"] == 0.75
    pairs = cells_of(content, "p1-systems-across-1")
    assert pairs["a (One) b", "Difference"]["value"] == 0.5
    assert pairs["a (One) b", "Instances"]["value"] == 1


def test_two_tasks_are_shown_side_by_side_as_in_p2():
    def atomic(answers: dict[str, str], title: str) -> Study:
        study = make_study(title=title)
        item = make_item(study, key="k", instance="x")
        payload = item.payload | {"domain": "news", "units": [], "input": "I.", "output": "O."}
        judged(item, "ann", answers | {"parsed_1": "yes", "complete": "yes"})
        Item.objects.filter(pk=item.pk).update(payload=payload)
        return of_type(study, "atomic_units")

    news = atomic({"input_1": "yes", "output_1": "yes"}, "News")
    medical = atomic({"input_1": "no", "output_1": "yes"}, "Medical")
    content = across(news, medical)
    cells = cells_of(content, "p2-table-5")
    assert cells["1.00", f"{news.title} Follow-ups"]["value"] == 1
    assert cells["1.00", f"{medical.title} Follow-ups"]["value"] == 0
    assert cells["0-.19", f"{medical.title} Follow-ups"]["value"] == 1
    columns = [column["group"] for column in table_of(content, "p2-table-2")["columns"]]
    assert columns == [news.title, news.title, medical.title, medical.title]


def test_properties_of_several_studies_are_one_table():
    """Association of s is -1/9 and its leakage 1 (see the test of P3 Table 13); the average is over both studies."""
    one, two = p3_properties_study(only="association"), p3_properties_study(only="novelty")
    content = across(one, two)
    columns = [column["label"] for column in table_of(content, "p3-table-13")["columns"]]
    assert columns == ["Leakage", "Novelty", "Association", "Contrast", "Average"], "the paper's order"
    cells = cells_of(content, "p3-table-13")
    assert cells["s", "Association"]["value"] == pytest.approx(-1 / 9)
    assert cells["s", "Average"]["value"] == pytest.approx((-1 / 9 + 1) / 2)
    assert [section["id"] for section in content["sections"]].count("p3-table-13") == 1


def test_the_order_of_studies_does_not_matter_and_one_study_alone_has_its_own_report():
    one, two = small_study(), small_study()
    choices = Choices.parse({"min_overlap": 1, "replicates": 0})
    alone = compute_across(studies=[one], choices=choices, figures=False)
    assert alone.content["title"] == f"Report on {one.title}"
    first = compute_across(studies=[one, two], choices=choices, figures=False)
    second = compute_across(studies=[two, one], choices=choices, figures=False)
    assert first == second
    assert first.inputs_hash != alone.inputs_hash


def test_studies_of_one_dataset_are_joined_by_the_questions_that_they_share():
    """Two studies of different questions of one dataset, each with another study of its questions."""
    first = [simulated({("x", "a"): (2, 2)}, title="A"), simulated({("x", "b"): (1, 2)}, title="B")]
    second = [simulated({("y", "c"): (2, 2)}, title="C"), simulated({("y", "d"): (0, 2)}, title="D")]
    mixed = [first[0], second[0], first[1], second[1]]
    same_inputs(*mixed)
    dataset = first[0].items.first().instance.dataset
    Instance.objects.filter(items__study=second[0]).update(dataset=dataset)
    content = across(*mixed)
    systems = {
        row["head"][0]
        for section in content["sections"]
        if section["id"] == "p1-systems-across"
        for block in section["blocks"]
        for row in block["rows"]
        if len(row["head"]) == 1
    }
    assert systems == {"a", "b", "c", "d"}


def test_stored_reports_of_one_study_are_not_across():
    report = stored(small_study())
    assert len(report.studies) == 1
