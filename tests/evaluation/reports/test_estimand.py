"""What intervals are about: these items or items like these, these raters or raters like these, in every format."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from annotator.models import Instance, Study
from annotator.selectors.study import study_hit_type
from evaluation.core.estimand import Estimand, estimand_of
from evaluation.ratings.load import study_ratings
from evaluation.reports.choices import Choices, ChoicesError
from evaluation.reports.compute import inputs_hash_of
from evaluation.reports.denominators import Basis, estimand_notes
from evaluation.reports.exports import export
from evaluation.reports.pages import page_of
from tests.annotator.services.control_studies import control_study, imported
from tests.evaluation.reports.across_studies import judged_plausible
from tests.evaluation.reports.studies import cells_of, computed, table_of
from tests.factories import make_item, make_judgment, make_rater, make_study, record_judgment

pytestmark = pytest.mark.django_db
USUAL = "items like these, judged by these raters"


def helped(*, judged: int, instances: int = 24, people: int = 6) -> Study:
    """People judge the first ``judged`` instances, a simulator all of them; a fifth of the labels is wrong."""
    study = make_study()
    raters = [make_rater(f"r{n}") for n in range(people)]
    gpt = make_rater("gpt", kind="simulator", source="simulator")
    for number in range(instances):
        real = "yes" if number % 2 else "no"
        item = make_item(
            study, key=f"i{number:02}", instance=f"x{number:02}", system="robot", real_output=real
        )
        wrong = "no" if real == "yes" else "yes"
        make_judgment(item, gpt, wrong if number % 6 == 0 else real)
        for place, rater in enumerate(raters if number < judged else ()):
            make_judgment(item, rater, wrong if (number + place) % 5 == 0 or number % 7 == 3 else real)
    return study


def shown(content: dict[str, Any], column: str) -> dict[str, Any]:
    return cells_of(content, "prediction-powered")["gpt Precision, macro", column]


def test_intervals_for_these_items_are_narrower_and_have_no_width_in_the_end() -> None:
    study = helped(judged=16)
    like, these = (computed(study, replicates=100, items=items).content for items in ("like", "these"))
    wide, narrow = shown(like, "Helped"), shown(these, "Helped")
    assert narrow["value"] == pytest.approx(wide["value"], abs=0.05)
    assert narrow["high"] - narrow["low"] < 0.9 * (wide["high"] - wide["low"])
    assert estimand_of(narrow["interval"]) == Estimand("these", "these")
    alone = shown(these, "People alone")
    assert estimand_of(alone["interval"]) == Estimand("these", "these")
    assert alone["n"] == shown(like, "People alone")["n"]

    whole = computed(helped(judged=24), replicates=100, items="these").content
    for column in ("Helped", "People alone"):
        cell = shown(whole, column)
        assert cell["low"] == cell["value"] == cell["high"]


def test_every_table_and_figure_says_what_its_intervals_are_about() -> None:
    content = computed(helped(judged=16), replicates=100, items="these").content
    blocks = [block for section in content["sections"] for block in section["blocks"]]
    with_intervals = 0
    for block in blocks:
        values = [cell for row in block.get("rows", ()) for cell in row["cells"]]
        values += block["data"].get("points", []) if block["kind"] == "figure" else []
        named = any(said.startswith("Intervals are for ") for said in block["denominators"])
        assert named == any(value.get("low") is not None for value in values), block["id"]
        with_intervals += named
    assert with_intervals > 5
    (said,) = [one for one in table_of(content, "prediction-powered")["denominators"] if "Intervals" in one]
    assert "these items, judged by these raters" in said
    for name in ("text", "html", "latex"):
        assert said in export(content, {}, name), name
    page = page_of(content, lambda name: "")
    assert any(said in block.denominators for section in page.sections for block in section.blocks)

    rows = list(csv.DictReader(io.StringIO(export(content, {}, "csv"))))
    given = {(row["table"], row["estimand"]) for row in rows if row["low"]}
    assert ("prediction-powered", "these items, judged by these raters") in given
    assert ("p1-table-4-details", "these items, judged by these raters") in given
    assert ("agreement-simulation", USUAL) in given
    assert not any(row["estimand"] for row in rows if not row["low"])


def test_agreement_is_generalised_to_raters_like_these_by_choice() -> None:
    study = helped(judged=24)
    alphas = {}
    for raters in ("these", "like"):
        content = computed(study, replicates=100, raters=raters).content
        table = table_of(content, "agreement-simulation")
        (said,) = [one for one in table["denominators"] if "Intervals" in one]
        assert ("raters like these" in said) == (raters == "like")
        alphas[raters] = next(
            cell for (row, _), cell in cells_of(content, "agreement-simulation").items()
            if row == "Krippendorff’s α, people" and cell.get("low") is not None
        )  # fmt: skip
    assert alphas["these"]["value"] == alphas["like"]["value"]
    widths = {name: cell["high"] - cell["low"] for name, cell in alphas.items()}
    assert widths["like"] >= widths["these"]


def test_different_estimands_are_named_with_their_places() -> None:
    values = [
        Basis("a", "P", 4, estimand=Estimand()), Basis("b", "P", 4, estimand=Estimand()),
        Basis("c", "P", 4, estimand=Estimand("these")), Basis("d", "P", 4),
    ]  # fmt: skip
    assert estimand_notes(values) == [
        f"Intervals are for {USUAL}; for these items, judged by these raters: c."
    ]
    assert estimand_notes(values[3:]) == []


def test_unknown_estimands_are_refused() -> None:
    with pytest.raises(ChoicesError, match="items: expected one of: like, these"):
        Choices.parse({"items": "all"})
    assert "items" not in Choices().hashed()


def asked_three(*, missing: int = 0) -> Study:
    """Nine instances with an explanation and a control arm, three judgments asked in each by nine people; the last ``missing`` are absent."""
    study = control_study(
        instances=9, systems=1, follow_ups=1, launched=False, redundancy=3, answer_only_raters=0, nothing_raters=3
    )  # fmt: skip
    raters = [make_rater(f"r{n}") for n in range(9)]
    items = list(study.items.order_by("key"))
    asked = [(item, place) for place in range(3) for item in items]
    rng = np.random.default_rng(3)
    for item, place in asked[: len(asked) - missing]:
        rater = raters[(items.index(item) + 2 * place) % 9]
        make_judgment(item, rater, "yes" if rng.random() < 0.6 else "no")
    return study


@pytest.mark.parametrize("missing", [0, 1])
def test_gains_for_these_items_have_no_width_once_everyone_asked_has_judged(missing: int) -> None:
    content = computed(asked_three(missing=missing), replicates=100, items="these").content
    cells = cells_of(content, "simulatability-gain")
    for column in ("With", "Without", "Gain", "Misled", "Helped"):
        cell = cells["People All nothing", column]
        assert (cell["low"] == cell["value"] == cell["high"]) == (not missing), column
        assert estimand_of(cell["interval"]) == Estimand("these", "these"), column
    rows = list(csv.DictReader(io.StringIO(export(content, {}, "csv"))))
    named = {row["estimand"] for row in rows if row["table"] == "simulatability-gain" and row["low"]}
    assert named == {"these items, judged by these raters"}
    assert table_of(content, "simulatability-gain")["denominators"][-1] == (
        "Intervals are for these items, judged by these raters."
    )


def test_gains_for_raters_like_these_name_them_in_every_column() -> None:
    content = computed(asked_three(), replicates=100, raters="like").content
    cells = cells_of(content, "simulatability-gain")
    for column in ("With", "Without", "Gain", "Misled", "Helped"):
        assert estimand_of(cells["People All nothing", column]["interval"]) == Estimand("like", "like"), (
            column
        )


def utility_answers(*, people: int = 5, instances: int = 12, missing: int = 0) -> Study:
    """Each of the people answers before and after each rationale, but for the last ``missing`` answers."""
    study = make_study(hit_type="utility", redundancy=people)
    for number in range(instances):
        payload = (
            study_hit_type(study).parse_item({"question": f"Is it {number}?", "rationale": "It is."}).payload
        )
        make_item(study, key=f"i{number:02}", instance=f"x{number:02}", system="robot", payload=payload)
    Instance.objects.update(gold_label="yes")
    asked = [(item, who) for who in range(people) for item in study.items.order_by("key")]
    rng = np.random.default_rng(2)
    for item, who in asked[: len(asked) - missing]:
        before, after = ("yes" if rng.random() < share else "no" for share in (0.5, 0.7))
        record_judgment(item, make_rater(f"r{who}"), {"before": before, "after": after})
    return study


UTILITY = (
    ("p3-utility-flows", "Right after"),
    ("p3-utility-flows", "Difference"),
    ("p3-table-3-annotators", "All"),
)


def utility_cells(study: Study, **choices: str) -> list[dict[str, Any]]:
    content = computed(study, replicates=100, **choices).content
    return [
        next(cell for (_, name), cell in cells_of(content, table).items() if name == column)
        for table, column in UTILITY
    ]


@pytest.mark.parametrize("missing", [0, 2])
def test_utility_for_these_items_has_no_width_once_everyone_asked_has_judged(missing: int) -> None:
    for cell in utility_cells(utility_answers(missing=missing), items="these"):
        assert (cell["low"] == cell["value"] == cell["high"]) == (not missing)
        assert estimand_of(cell["interval"]) == Estimand("these", "these")


def test_utility_is_generalised_to_raters_like_these_or_refused_with_the_reason() -> None:
    for cell in utility_cells(utility_answers(), raters="like"):
        assert estimand_of(cell["interval"]) == Estimand("like", "like")
    for cell in utility_cells(utility_answers(people=3), raters="like"):
        assert cell["low"] is None
        assert cell["interval"] == "none: 3 raters are too few to generalise to new ones"
    refused, *_ = utility_cells(utility_answers(), raters="like", rule="dawid_skene")
    assert refused["interval"] == "none: labels of the rule dawid_skene are not generalised to new raters"


def test_means_and_medians_say_what_they_are_about() -> None:
    rng = np.random.default_rng(4)
    labels = ("no", "moderate", "yes")
    study = judged_plausible({(f"x{n}", "robot"): str(rng.choice(labels)) for n in range(10)})
    for item in study.items.order_by("key"):
        for who in range(4):
            record_judgment(item, make_rater(f"r{who}"), {"justifies_1": str(rng.choice(labels))})
    for choices, estimand in (
        ({"items": "these"}, Estimand("these")),
        ({"raters": "like"}, Estimand("like", "like")),
    ):
        content = computed(study, replicates=100, **choices).content
        for column in ("Mean", "Median"):
            cell = cells_of(content, "means-plausibility")["All", column]
            assert estimand_of(cell["interval"]) == estimand, column
            assert (cell["low"] == cell["high"]) == ("items" in choices) or column == "Median"
        shown = cells_of(content, "p1-plausibility")["robot", "Plausibility"]
        assert estimand_of(shown["interval"]) == estimand


def test_the_hash_of_inputs_for_these_items_has_the_number_of_raters_asked_for() -> None:
    study = asked_three()
    hashes = {}
    for asked in (3, 4):
        Study.objects.filter(pk=study.pk).update(redundancy=asked)
        study.refresh_from_db()
        for items in ("like", "these"):
            hashes[asked, items] = inputs_hash_of(study_ratings(study=study), Choices.parse({"items": items}))
    assert hashes[3, "like"] == hashes[4, "like"]
    assert hashes[3, "these"] != hashes[4, "these"]


def forward_study(*, people: int = 5, missing: int = 0) -> Study:
    """Each of the people predicts the output on each of twelve inputs, but for the last ``missing`` predictions."""
    study = make_study(hit_type="forward_simulation", redundancy=people)
    rows = [
        {"key": f"a{n}", "instance": f"x{n}", "input": f"Film {n}.", "explanation": "It is.", "real_output": "yes", "system": "s"}
        for n in range(12)
    ]  # fmt: skip
    imported(study, *rows)
    rng = np.random.default_rng(6)
    asked = [(item, who) for who in range(people) for item in study.items.order_by("key")]
    for item, who in asked[: len(asked) - missing]:
        record_judgment(item, make_rater(f"r{who}"), {"prediction": "yes" if rng.random() < 0.6 else "no"})
    return study


@pytest.mark.parametrize(
    ("study", "choices", "expected"),
    [
        ({}, {"items": "these"}, Estimand("these")),
        ({"missing": 2}, {"items": "these"}, Estimand("these")),
        ({}, {"raters": "like"}, Estimand("like", "like")),
        ({"people": 3}, {"raters": "like"}, None),
    ],
)
def test_forward_accuracy_says_what_it_is_about(
    study: dict[str, int], choices: dict[str, str], expected: Estimand | None
) -> None:
    content = computed(forward_study(**study), replicates=100, **choices).content
    cells = [c for c in cells_of(content, "forward-simulation").values() if c.get("interval")]
    assert len(cells) == 2  # of majority labels and of single predictions
    for cell in cells:
        assert estimand_of(cell["interval"]) == expected
        assert (cell["low"] is not None and cell["low"] == cell["high"]) == (
            choices == {"items": "these"} and not study
        )
