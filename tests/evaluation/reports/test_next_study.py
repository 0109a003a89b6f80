"""The section on the next study: items by raters for the same money, from the study's own judgments."""

from __future__ import annotations

from decimal import Decimal

import pytest

from evaluation.agreement import Ratings
from evaluation.planning.by_money import components_of, plan_money
from evaluation.reports.exports import export
from tests.evaluation.reports.studies import cells_of, computed, table_of
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


def judged_study(*, people: int = 5, items: int = 20, pay: str = "0.25"):
    """The study, and a row for each judgment that is a prediction: rater, item, 1 if it is right."""
    study = make_study(pay_per_item=Decimal(pay))
    raters = [make_rater(f"r{n}") for n in range(people)]
    rows = []
    for number in range(items):
        real = "yes" if number % 2 else "no"
        item = make_item(
            study, key=f"i{number:02}", instance=f"x{number:02}", system="robot", real_output=real
        )
        for place, rater in enumerate(raters):
            wrong = (number % 6 == 0 and place != 1) or (3 * number + place) % 7 == 0
            label = (
                "cannot_guess"
                if number + place == 9
                else ("no" if real == "yes" else "yes")
                if wrong
                else real
            )
            make_judgment(item, rater, label)
            if label != "cannot_guess":
                rows.append((rater.name or f"r{place}", f"i{number:02}", str(int(label == real))))
    return study, rows


def test_the_plan_is_that_of_the_studys_own_components() -> None:
    study, rows = judged_study()
    content = computed(study, replicates=0, figures=True)
    components, _ = components_of(Ratings.from_rows(rows, level="interval"))
    assert components is not None
    cells = cells_of(content.content, "next-study-components")
    assert cells["Items", "Variance"]["value"] == pytest.approx(components.items)
    assert cells["Rest", "Variance"]["value"] == pytest.approx(components.rest)
    assert cells["Items", "Variance"]["n"] == len(rows)

    # 100 judgments were paid; those that cannot guess give no number.
    price = 0.25 * 100 / len(rows)
    assert len(rows) < 100
    plan = {row.raters: row for row in plan_money(components, 100 * 0.25, price=price)}
    table = table_of(content.content, "next-study")
    assert [row["head"][0] for row in table["rows"]] == [str(k) for k in plan]
    assert len(plan) == 20
    shown = cells_of(content.content, "next-study")
    for k in (2, 5, 20):
        assert shown[str(k), "Items"]["value"] == plan[k].items
        assert shown[str(k), "Cost"]["value"] == pytest.approx(plan[k].cost)
        assert shown[str(k), "Width, raters like these"]["value"] == pytest.approx(plan[k].width)
    assert "does not show how much others differ" in shown["1", "Width, raters like these"]["reason"]
    for name in ("next-study-widths.light.svg", "next-study-widths.dark.svg"):
        assert content.files[name][1].startswith(b"<svg")
    for name in ("html", "latex", "csv", "text"):
        assert "Items by raters for" in export(content.content, content.files, name), name


def test_the_money_is_a_choice() -> None:
    study, rows = judged_study()
    content = computed(study, replicates=0, money=100).content
    assert cells_of(content, "next-study")["4", "Items"]["value"] == len(
        rows
    )  # of 400 judgments, as many in a hundred
    assert "100.00" in table_of(content, "next-study")["title"]


def test_without_pay_the_plan_counts_judgments() -> None:
    study, rows = judged_study(pay="0")
    content = computed(study, replicates=0).content
    table = table_of(content, "next-study")
    assert table["title"] == "Items by raters for 100 judgments"
    assert f"Of this study’s 100 judgments, {len(rows)} give a number" in " ".join(table["notes"])
    assert "Cost" not in [column["label"] for column in table["columns"]]


def test_too_few_items_or_raters_have_no_plan() -> None:
    for fields in ({"items": 7}, {"people": 1}):
        study, _ = judged_study(**fields)
        assert "next-study" not in [
            section["id"] for section in computed(study, replicates=0).content["sections"]
        ]
