"""Follow-ups by two generators: every table of a report is based on one mix of them, so one figure has one value."""

from __future__ import annotations

import numpy as np
import pytest

from annotator.models import Dataset
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute
from evaluation.reports.method_titles import method_title
from tests.evaluation.reports.paper_studies import p1_study, system_is, typed
from tests.evaluation.reports.studies import cells_of, table_of
from tests.factories import make_item, make_judgment, make_rater, make_study, simulation_payload

pytestmark = pytest.mark.django_db
SYSTEMS = {"post-hoc of m": "post-hoc", "cot of m": "cot", "forced of m": "forced"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_system_has_one_precision_in_all_tables(seed: int) -> None:
    """Eight follow-ups by each of two generators, of which at most ten count, with outcomes that differ by row."""
    study, rater, rng = make_study(), make_rater("ann"), np.random.default_rng(seed)
    for instance in "xy":
        for system in SYSTEMS:
            for number in range(16):
                text = f"{system} {instance} {number}"
                item = make_item(
                    study, key=text, instance=instance, system=system, generator=f"g{number % 2}",
                    real_output=rng.choice(["yes", "no"]), payload=simulation_payload(number) | {"follow_up": text},
                )  # fmt: skip
                make_judgment(item, rater, rng.choice(["yes", "no", "cannot_guess"]))
    for name, method in SYSTEMS.items():
        system_is(name, "m", method)
    typed(study, "simulation")
    choices = Choices.parse({"min_overlap": 1, "replicates": 0, "seed": seed})
    content = compute(study=study, choices=choices, figures=False).content

    paper = cells_of(content, "p1-table-4")
    precision = {label: cell for (_, label), cell in paper.items()}
    (pair,) = table_of(content, "systems-compared")["rows"]
    for name, cell in zip(pair["head"], pair["cells"], strict=False):
        assert cell["value"] == precision[f"m {method_title(SYSTEMS[name])}"]["value"], name
    forced = cells_of(content, "p1-table-2")
    assert {column for _, column in forced} >= {"Normal", "Forced"}

    details = cells_of(content, "p1-table-4-details")
    counted = [cell["value"] for (_, column), cell in details.items() if column == "Follow-ups"]
    assert counted == [20, 20, 40], "ten of each explanation"
    (mixed,) = [
        c
        for (row, column), c in cells_of(content, "p1-table-1").items()
        if "mixed" in row and column == "Simulatable"
    ]
    shares = [cell["value"] for (_, column), cell in details.items() if column == "Simulatable"]
    assert mixed["value"] == pytest.approx(shares[-1])
    assert shares[-1] == pytest.approx(sum(shares[:2]) / 2)


def test_rows_have_the_datasets_name_and_columns_the_methods_title() -> None:
    """Not the study's short name, which every import gives a dataset of its own, and not a method's name in the code."""
    study = p1_study(title="Do explanations help?")
    choices = Choices.parse({"min_overlap": 1, "replicates": 0})

    def heads() -> set[str]:
        content = compute(study=study, choices=choices, figures=False).content
        table = table_of(content, "p1-table-4")
        assert {column["label"] for column in table["columns"]} == {"Chain of thought", "Post-hoc"}
        return {row["head"][0] for row in table["rows"]}

    assert heads() == {"Do explanations help?"}
    Dataset.objects.filter(instances__items__study=study).update(name="StrategyQA")
    assert heads() == {"StrategyQA"}
