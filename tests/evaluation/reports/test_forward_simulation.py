"""The report on a study of forward simulation, worked out by hand; the page that asks for it."""

from __future__ import annotations

import io
import json

import pytest

from annotator.hit_types.registry import hit_type_get
from annotator.models import Study
from annotator.services.imports.material_import import material_import
from tests.evaluation.reports.studies import cells_of, computed, table_of
from tests.factories import make_rater, make_study, record_judgment

pytestmark = pytest.mark.django_db

#: key, instance, what is shown, real output, ann's, bob's and cleo's prediction
ROWS = [
    ("x-none", "x", {}, "yes", ("no", "no", "yes")),
    ("x-text", "x", {"explanation": "Since it is red."}, "yes", ("yes", "yes", "no")),
    ("y-none", "y", {}, "no", ("no", "no", "no")),
    ("y-text", "y", {"explanation": "Since it is blue."}, "no", ("no", "no", "no")),
    ("y-map", "y", {"saliency": [["blue", 2], ["y", 0.1]]}, "no", ("yes", "no", "yes")),
    ("z-text", "z", {"explanation": "I don't say."}, "refusal", ("yes", "yes", "yes")),
]


@pytest.fixture
def study() -> Study:
    study = make_study(hit_type="forward_simulation")
    rows = [
        {
            "key": key,
            "instance": instance,
            "input": f"Is {instance} red?",
            "real_output": real,
            "system": "robot",
        }
        | shown
        for key, instance, shown, real, _ in ROWS
    ]
    file = io.BytesIO("\n".join(map(json.dumps, rows)).encode())
    material_import(study=study, file=file, name="items.jsonl")
    for key, *_, predictions in ROWS:
        item = study.items.get(key=key)
        for name, prediction in zip(("ann", "bob", "cleo"), predictions, strict=True):
            record_judgment(item, make_rater(name), {"prediction": prediction})
    return study


def test_conditions_are_named_by_what_is_shown(study: Study) -> None:
    found = dict(study.items.values_list("key", "condition"))
    assert found["x-none"] == "no explanation"
    assert found["x-text"] == "explanation"
    assert found["y-map"] == "saliency map"


def test_accuracy_by_condition_by_hand(study: Study) -> None:
    content = computed(study, replicates=100).content
    cells = cells_of(content, "forward-simulation")
    # text: x and y right, z refused: 2/3; single: 2 of 3, 3 of 3, 0 of 3: 5/9
    assert cells["People explanation", "One label per item"]["value"] == pytest.approx(2 / 3)
    assert cells["People explanation", "Single predictions"]["value"] == pytest.approx(5 / 9)
    assert cells["People no explanation", "One label per item"]["value"] == 0.5
    assert cells["People no explanation", "Single predictions"]["value"] == pytest.approx(4 / 6)
    assert cells["People saliency map", "One label per item"]["value"] == 0.0
    gain = cells_of(content, "forward-simulation-gain")
    # on x and y: 1 - 0 and 1 - 1
    assert gain["People explanation", "Difference"]["value"] == 0.5
    assert gain["People explanation", "Instances"]["value"] == 2
    assert gain["People saliency map", "Difference"]["value"] == -1.0
    left = cells_of(computed(study, refusals="left_out").content, "forward-simulation")
    assert left["People explanation", "One label per item"]["value"] == 1.0
    assert left["People explanation", "Single predictions"]["value"] == pytest.approx(5 / 6)
    assert left["People explanation", "Single predictions"]["left_out"] == {
        "refused or answered with neither answer": 3
    }


def test_a_simulator_is_shown_beside_people(study: Study) -> None:
    robot = make_rater("gpt-4", kind="simulator", source="simulator")
    for item in study.items.all():
        record_judgment(item, robot, {"prediction": "no"}, source="simulator")
    cells = cells_of(computed(study).content, "forward-simulation")
    assert cells["gpt-4 explanation", "One label per item"]["value"] == pytest.approx(1 / 3)
    assert cells["People explanation", "One label per item"]["value"] == pytest.approx(2 / 3)


def test_a_saliency_map_is_shown_with_numbers_not_by_colour_alone(study: Study) -> None:
    from django.template.loader import render_to_string

    item = study.items.get(key="y-map")
    assert item.payload["saliency"] == [["blue", 3], ["y", 0]]
    block = hit_type_get("forward_simulation").stages(item.payload)[0].blocks[-1]
    html = render_to_string("components/block.html", {"block": block, "prefix": ""})
    assert '<mark class="word word--3">blue<sub class="word__mark">3</sub></mark>' in html
    assert "word--0" not in html
    assert table_of(computed(study).content, "forward-simulation")["rows"]
