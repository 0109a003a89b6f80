"""What intervals are about: these items or items like these, these raters or raters like these, in every format."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from annotator.models import Study
from evaluation.core.estimand import Estimand, estimand_of
from evaluation.reports.choices import Choices, ChoicesError
from evaluation.reports.denominators import Basis, estimand_notes
from evaluation.reports.exports import export
from evaluation.reports.pages import page_of
from tests.evaluation.reports.studies import cells_of, computed, table_of
from tests.factories import make_item, make_judgment, make_rater, make_study

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
