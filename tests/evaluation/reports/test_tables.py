"""The papers' tables from small studies of their HIT types, worked out by hand."""

import pytest

from annotator.models import Item, Study
from tests.evaluation.reports.studies import cells_of, computed, judged, of_type, small_study
from tests.factories import make_item, make_study, simulation_payload

pytestmark = pytest.mark.django_db


def utility_study() -> Study:
    """gold yes throughout. robot-a: x wrong -> right, y right -> right; robot-b: x right -> wrong, y a tie after."""
    study = make_study()
    rows = [
        ("x", "robot-a", [("no", "yes"), ("no", "yes"), ("yes", "yes")]),
        ("y", "robot-a", [("yes", "yes")] * 3),
        ("x", "robot-b", [("yes", "no")] * 3),
        ("y", "robot-b", [("yes", "yes"), ("yes", "no")]),
    ]
    for instance, system, answers in rows:
        item = make_item(study, key=f"{instance}{system}", instance=instance, system=system)
        type(item.instance).objects.filter(pk=item.instance_id).update(gold_label="yes")
        for name, (before, after) in zip("abc", answers, strict=False):
            judged(item, name, {"before": before, "after": after})
    return of_type(study, "utility")


def test_p3_table_3_by_hand():
    cells = cells_of(computed(utility_study()).content, "p3-table-3")
    counts = {row: int(cells[row, "All Count"]["value"]) for row, column in cells if column == "All Count"}
    # labels by majority: useful (a, x), unsure (a, y), not useful (b, x); (b, y) ties after and is left out
    assert sorted(counts.values()) == [1, 1, 1]
    useful = next(row for row in counts if row.endswith("Useful") and "Not" not in row)
    assert cells[useful, "robot-a %"]["value"] == 0.5
    assert cells[useful, "robot-b %"]["value"] == 0.0
    assert cells[useful, "All %"]["value"] == pytest.approx(1 / 3)
    assert sum(cells[useful, "robot-b %"]["left_out"].values()) == 1


def test_p3_table_4_and_18_of_the_same_study():
    content = computed(utility_study()).content
    cells = cells_of(content, "p3-table-4")
    # the factory's systems always answered yes, which is right: nothing to tell utility by, U = 0
    overall = next(cell for (_, column), cell in cells.items() if column.endswith("Overall"))
    assert overall["value"] == pytest.approx(0.0)
    alpha = cells_of(content, "p3-table-18")
    assert alpha["After the rationale", "robot-b"]["value"] is not None


def test_p3_table_13_and_figure_7_by_hand():
    study = make_study()
    for instance, answers in (("x", ["yes", "yes", "no"]), ("y", ["yes", "no", "no"])):
        item = make_item(study, key=instance, instance=instance)
        for name, answer in zip("abc", answers, strict=True):
            judged(item, name, {"association": answer, "contrast": "yes"})
        Item.objects.filter(pk=item.pk).update(payload=item.payload | {"group": "support"})
    content = computed(of_type(study, "rationale_properties")).content
    seen = cells_of(content, "p3-figure-7")
    assert seen["Association", "All"]["value"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert seen["Contrast", "All"]["value"] == 1.0
    alpha = cells_of(content, "p3-table-13")
    # n = 6, 3 yes and 3 no; disagreeing pairs within units: 2 of 3 in each. De = 3*3/15 = .6, Do = 2/3:
    # alpha = 1 - (2/3)/(3/5) = -1/9
    assert alpha["All", "Association"]["value"] == pytest.approx(-1 / 9)
    assert alpha["All", "Contrast"]["value"] is None


def test_p2_tables_by_hand():
    study = make_study()
    # two follow-ups of one explanation: in the first both units are in the input and one in the output
    answers = {
        "one": {"input_1": "yes", "input_2": "yes", "output_1": "yes", "output_2": "no"},
        "two": {"input_1": "yes", "input_2": "no", "output_1": "yes", "output_2": "yes"},
    }
    for key, response in answers.items():
        payload = simulation_payload(key) | {
            "domain": "news",
            "units": [],
            "explanation": "E.",
            "input": "I.",
            "output": "O.",
        }
        item = make_item(study, key=key, instance="x", payload=payload)
        extra = {"parsed_1": "yes", "parsed_2": "yes", "complete": "yes"} if key == "one" else {}
        judged(item, "ann", response | extra)
    content = computed(of_type(study, "atomic_units")).content
    cells = cells_of(content, "p2-table-1")
    row = next(row for row, _ in cells if row.endswith("All"))
    assert cells[row, "Simulatable"]["value"] == 0.5
    assert cells[row, "Precision"]["value"] == 0.5
    assert cells[row, "Generality"]["value"] is None
    dataset = study.title
    assert cells_of(content, "p2-table-5")["1.00", f"{dataset} Follow-ups"]["value"] == 1
    assert cells_of(content, "p2-table-5")[".40-.59", f"{dataset} Follow-ups"]["value"] == 1
    assert cells_of(content, "p2-table-4")["Accuracy", f"{dataset} n = 1"]["value"] == 1.0
    models = cells_of(content, "p2-table-3")
    row = next(row for row, _ in models)
    assert [models[row, f"not known {c}"]["value"] for c in ("# Expl", "# Samples", "Precision")] == [
        1,
        1,
        0.5,
    ]


def test_systems_are_compared_instance_by_instance():
    cells = cells_of(computed(small_study(), restriction="all").content, "systems-compared")
    # only x is defined in both: robot-a 1/2, robot-b 1
    found = cells["robot-a robot-b", "Difference"]
    assert found["value"] == -0.5
    assert found["n"] == 1
    assert cells["robot-a robot-b", "p (t-test)"]["value"] is None


def test_task_accuracy_is_shown_beside_precision():
    study = small_study()
    for item in study.items.all():
        type(item.instance).objects.filter(pk=item.instance_id).update(
            gold_label="yes" if item.instance.key == "x" else "no"
        )
    cells = cells_of(
        computed(study).content, "p1-table-6"
    )  # only x has a precision in both systems, as in Table 4
    assert {cell["value"] for (_, label), cell in cells.items() if label == "Task accuracy"} == {1.0}
    cells = cells_of(computed(study, restriction="all").content, "p1-table-6")
    row = next(row for row, _ in cells if row.endswith("robot-a"))
    assert cells[row, "Task accuracy"]["value"] == 0.5  # the factory's systems always answer yes
    assert cells[row, "Simulation precision"]["value"] == 0.5


def test_a_simulator_is_compared_with_the_majority():
    content = computed(small_study(simulator=True)).content
    cells = cells_of(content, "calibration-confusion-1")
    # majority: yes, yes, cannot guess, (tie), no, no; gpt-4 says yes to all
    assert cells["yes", "gpt-4 says yes"]["value"] == 2
    assert cells["no", "gpt-4 says yes"]["value"] == 2
    assert cells["cannot guess", "gpt-4 says yes"]["value"] == 1
    differing = {row for row, _ in cells_of(content, "calibration-items-1")}
    assert differing == {"ya1", "xb1", "yb1"}
    test = cells_of(content, "calibration")["gpt-4 not known", "Winning rate"]
    assert test["value"] is None
    assert test["reason"]


def test_plausibility_by_hand():
    study = make_study()
    for instance in "xy":
        item = make_item(study, key=instance, instance=instance)
        for name, (first, second) in (("ann", ("yes", "no")), ("bob", ("moderate", "no"))):
            judged(item, name, {"justifies_1": first, "justifies_2": second})
        shown = {"explanations": [{"key": "1", "text": "a"}, {"key": "2", "text": "b"}]}
        Item.objects.filter(pk=item.pk).update(payload=item.payload | shown)
    content = computed(of_type(study, "plausibility")).content
    cells = cells_of(content, "p1-plausibility")
    # the factory gives both units one system: (1 + 0 + .5 + 0) / 4
    assert cells["robot-a", "Plausibility"]["value"] == pytest.approx(0.375)
    assert cells_of(content, "p1-plausibility-ceiling")["Pearson", "Value"]["value"] == pytest.approx(1.0)
