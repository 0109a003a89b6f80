"""Hypotheses about each metric that a report has an interval of: their values, tests, and the cells that they mark."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.hit_types.arms import arm_of
from annotator.models import Instance, Study
from annotator.selectors.study import study_hit_type
from evaluation.planning.plan_document import PlanError
from evaluation.services.analysis_plan import plan_save, plan_seal
from tests.annotator.services.control_studies import two_armed_study
from tests.evaluation.reports.plans import judge, sealed_study
from tests.evaluation.reports.studies import cells_of, computed
from tests.factories import make_item, make_judgment, make_rater, make_study, record_judgment

pytestmark = pytest.mark.django_db


def one(name: str, metric: str, of: str = "all", **more: Any) -> dict[str, Any]:
    return {"name": name, "metric": metric, "of": of} | more


def planned_cells(content: dict[str, Any], table: str) -> set[tuple[str, str]]:
    return {key for key, cell in cells_of(content, table).items() if cell.get("analysis") == "planned"}


def test_shares_generality_accuracy_and_agreement_can_be_planned() -> None:
    study = sealed_study(
        hypotheses=(
            one("S", "share", "robot-a", about="simulation=yes", against="robot-b"),
            one("Y", "share", about="simulation=yes", value=0.5),
            one("G", "generality", "robot-a", about="jaccard", against="robot-b"),
            one("K", "kappa", value=0.1),
            one("A", "alpha", about="simulation", value=0.99, direction="less"),
        ),
        stopping="none",
    )
    judge(study)
    content = computed(study, replicates=100).content
    results = cells_of(content, "planned-comparisons")
    # The people say yes but for nine of 64 answers.
    assert results["Y", "Value"]["value"] == pytest.approx(55 / 64)
    assert results["Y", "Value"]["low"] > 0.5
    assert results["Y", "Result"]["text"] == "supported"
    assert results["S", "Difference"]["value"] == pytest.approx(
        results["S", "Value"]["value"] - results["S", "Compared with"]["value"]
    )
    assert results["S", "Difference"]["n"] == 16
    # One follow-up of each explanation has no pair.
    assert results["G", "Difference"]["value"] is None
    assert results["G", "Result"]["text"] == "open"
    kappas = {key for key in planned_cells(content, "agreement-simulation") if "κ" in key[0]}
    assert kappas == {("Cohen’s κ, people with each other", "All labels Value")}
    assert results["A", "Value"]["value"] == results_of(content, "Krippendorff’s α, people")


def results_of(content: dict[str, Any], row: str) -> float:
    return float(cells_of(content, "agreement-simulation")[row, "All labels Value"]["value"])


def utility_study(
    instances: int = 12, systems: tuple[str, ...] = ("robot-a", "robot-b"), **plan: Any
) -> Study:
    study = make_study(hit_type="utility", redundancy=1)
    for number in range(instances):
        for system in systems:
            key = f"i{number:02}{system[-1]}"
            row = {"question": f"Is it {number}?", "rationale": "It is."}
            payload = study_hit_type(study).parse_item(row).payload
            make_item(study, key=key, instance=f"x{number:02}", system=system, payload=payload)
    Instance.objects.update(gold_label="yes")
    plan_save(study=study, document=plan)
    plan_seal(study=study)
    ann = make_rater("ann")
    for number, item in enumerate(study.items.order_by("key")):
        right = number % len(systems) == 0 or number in (5, 7)
        response = {"before": "yes" if number % 3 else "no", "after": "yes" if right else "no"}
        record_judgment(item, ann, response)
    return study


def test_answers_before_and_after_an_explanation_can_be_planned() -> None:
    study = utility_study(
        hypotheses=[
            one("H1", "right_after", "robot-a", against="robot-b"),
            one("H2", "right_gain", value=0),
            one("H3", "useful", "robot-b", value=0.5, direction="less"),
            one("H4", "alpha", about="after", value=0.2),
        ],
        stopping="none",
    )
    content = computed(study, replicates=100).content
    results = cells_of(content, "planned-comparisons")
    assert results["H1", "Value"]["value"] == 1.0
    assert results["H1", "Compared with"]["value"] == pytest.approx(2 / 12)
    assert results["H1", "Result"]["text"] == "supported"
    assert results["H2", "Value"]["value"] == pytest.approx(14 / 24 - 16 / 24)
    assert planned_cells(content, "p3-utility-flows") == {
        ("robot-a", "Right after"),
        ("robot-b", "Right after"),
        ("All", "Difference"),
    }
    assert {column for _, column in planned_cells(content, "p3-table-3")} == {"robot-b %"}


def test_what_an_explanation_adds_can_be_planned() -> None:
    study = two_armed_study(24)
    plan_save(
        study=study,
        document={
            "hypotheses": [
                one("N", "nsg", value=0),
                one("G", "gain", "robot-0", value=0.9, direction="less"),
                one("D", "gain", "robot-0", against="robot-1"),
            ]
        },
    )
    plan_seal(study=study)
    for number, item in enumerate(study.items.order_by("key")):
        for place in range(3):
            rater = make_rater(f"{arm_of(item.payload) or 'with'}-{place}")
            wrong = (number + place) % (2 if arm_of(item.payload) else 11) == 0
            make_judgment(item, rater, "no" if wrong else "yes")
    content = computed(study, replicates=100).content
    results, table = cells_of(content, "planned-comparisons"), cells_of(content, "simulatability-gain")
    assert results["N", "Value"]["value"] == pytest.approx(table["People All nothing", "NSG"]["value"])
    assert results["N", "Value"]["low"] > 0
    assert results["N", "Result"]["text"] == "supported"
    assert results["G", "Value"]["value"] == pytest.approx(table["People robot-0 nothing", "Gain"]["value"])
    assert results["G", "Result"]["text"] == "supported"
    assert results["D", "Difference"]["n"] == 24
    marked = planned_cells(content, "simulatability-gain")
    assert {("People All nothing", "NSG"), ("People robot-0 nothing", "Gain")} <= marked


def test_watched_shares_have_valid_intervals_and_unknown_variables_are_named() -> None:
    watched = utility_study(
        10, ("robot-a",), hypotheses=[one("R", "right_after", value=0.5)], stopping="confidence_sequence"
    )
    valid = cells_of(computed(watched, replicates=100).content, "planned-comparisons")[
        "R", "Difference, valid at looks"
    ]
    assert valid["n"] == 10
    assert valid["low"] > -0.3
    study = make_study(hit_type="plausibility")
    with pytest.raises(PlanError) as caught:
        plan_save(
            study=study,
            document={"hypotheses": [one("M", "mean", about="beauty", value=0.5), one("P", "precision", value=0.5)]},
        )  # fmt: skip
    assert caught.value.errors == {
        "hypotheses[0].about": "got 'beauty'; expected one of the variables: plausibility",
        "hypotheses[1].metric": "got 'precision'; expected share, mean, alpha, kappa or cell: "
        f"{caught.value.errors['hypotheses[1].metric'].split('cell: ')[1]}",
    }


@pytest.mark.parametrize(
    ("hypothesis", "field", "text"),
    [
        (one("H", "share", value=0.5), "about", "a variable and a label"),
        (one("H", "share", about="simulation=maybe", value=0.5), "about", "one of the labels of simulation: "),
        (one("H", "mean", about="simulation", value=0.5), "about", "labels have numbers or an order"),
        (one("H", "precision", about="simulation", value=0.5), "about", "nothing"),
        (one("H", "generality", about="rouge", value=0.5), "about", "one of: bleu, cosine, jaccard"),
        (one("H", "alpha", "gpt", value=0.5), "of", "all: agreement with a simulator is kappa"),
        (one("H", "nsg", "a", against="b"), "against", "two systems can be compared in precision"),
        (one("H", "right_after", value=0.5), "metric", "asks for no answers before and after"),
    ],
)  # fmt: skip
def test_what_a_metric_needs_is_named(hypothesis: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_save(study=make_study(), document={"hypotheses": [hypothesis]})
    assert text in caught.value.errors[f"hypotheses[0].{field}"]
