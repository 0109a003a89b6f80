"""Reliance in reports of both utility types, with numbers worked out on paper."""

from __future__ import annotations

import pytest

from annotator.models import Explanation
from tests.evaluation.reports.paper_studies import p3_generalization_study, p3_utility_study, typed
from tests.evaluation.reports.studies import cells_of, computed, judged, small_study
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db

#: Gold is yes. s on x: the model says no (wrong); no -> yes twice, yes -> yes. s on y: right; yes -> yes twice, yes -> no.
#: t: the model says yes (right) on both; yes -> no three times on x, yes -> yes three times on y.


def values(content, table):
    return {key: cell.get("value") for key, cell in cells_of(content, table).items()}


def test_by_system_and_by_rater_by_hand():
    content = computed(p3_utility_study()).content
    found = values(content, "reliance")
    assert found["All", "Relative AI reliance"] is None  # nobody was wrong where the model was right
    assert found["s", "Relative self-reliance"] == 1.0
    assert found["s", "Over-reliance"] == 0.0
    assert found["s", "Under-reliance"] == pytest.approx(1 / 3)
    assert found["t", "Under-reliance"] == 0.5
    assert found["All", "Under-reliance"] == pytest.approx(4 / 9)
    assert found["s", "Switched to the model’s answer"] == 0.0
    accuracy = values(content, "reliance-accuracy")
    assert accuracy["s", "Right before"] == pytest.approx(4 / 6)
    assert accuracy["s", "Model right"] == 0.5
    assert accuracy["s", "Right after"] == pytest.approx(5 / 6)
    assert accuracy["s", "Beyond the better of the two"] == pytest.approx(1 / 6)
    assert accuracy["t", "Beyond the better of the two"] == -0.5
    assert accuracy["All", "Cases"] == 12
    raters = values(content, "reliance-raters")
    assert raters["c", "Relative self-reliance"] == 1.0
    assert raters["a", "Right before"] == 0.75
    assert raters["c", "Cases"] == 4


def test_intervals_and_reasons_are_in_the_table():
    content = computed(p3_utility_study(), replicates=100).content
    cell = cells_of(content, "reliance")["All", "Relative AI reliance"]
    assert cell["reason"] == "in no case the person was wrong at first and the model right"
    assert "at least 8 instances" in cells_of(content, "reliance-accuracy")["All", "Right after"]["interval"]


def test_each_share_has_a_sentence_and_says_if_it_is_not_defined():
    content = computed(p3_utility_study(), replicates=100).content
    prose = next(one for one in content["sections"] if one["id"] == "reliance")["prose"]
    cells = cells_of(content, "reliance")
    ai, own = (cells["All", f"Relative {what}"] for what in ("AI reliance", "self-reliance"))
    assert ai["value"] is None
    assert prose[0] == f"Relative AI reliance is not defined: {ai['reason']}."
    assert prose[1].startswith(
        "Where people were right at first and the model wrong, they stayed right in 100.0 %"
    )
    assert f"(n = {own['n']} case;" in prose[1]


def test_generalization_questions_have_it_once_the_models_answers_are_known():
    study = p3_generalization_study()
    Explanation.objects.update(output="")
    assert "reliance" not in {section["id"] for section in computed(study).content["sections"]}
    Explanation.objects.update(output="yes")
    found = values(computed(study).content, "reliance")
    assert found["s", "Relative AI reliance"] == 1.0  # both wrong first answers became the model's right one
    assert found["s", "Switched to the model’s answer"] == 1.0


def test_other_types_have_no_such_section():
    assert "reliance" not in {section["id"] for section in computed(small_study()).content["sections"]}


def test_numbers_have_the_weight_of_advice():
    study = make_study()
    # Half of the way, all of it, and none.
    for key, output, before, after in (
        ("x", "20", "10", "15"),
        ("y", "30", "10", "30"),
        ("z", "8", "4", "4"),
    ):
        item = make_item(study, key=key, instance=key, system="s")
        Explanation.objects.filter(pk=item.explanation_id).update(output=output)
        judged(item, "a", {"before": before, "after": after})
    content = computed(typed(study, "utility")).content
    assert values(content, "reliance")["s", "Weight of advice"] == pytest.approx(0.5)
    words = values(computed(p3_utility_study()).content, "reliance")
    assert not [column for _, column in words if column == "Weight of advice"]
