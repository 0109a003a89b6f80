"""Intervals of a report: all use the same draws, each cell names what was drawn, and there are none if none were requested."""

import json
import re

import pytest

from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from tests.evaluation.reports.paper_studies import (
    p1_study,
    p2_study,
    p3_generalization_study,
    p3_properties_study,
    p3_utility_study,
)
from tests.evaluation.reports.studies import cells_of, computed, small_study
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db

#: An interval as it is written in sentences and notes.
BRACKETS = re.compile(r"\[[−\d.]+, [−\d.]+\]")


def numbers_of(content):
    """Every number of a report with where it is shown: cells of tables, points of figures."""
    for section in content["sections"]:
        for block in section["blocks"]:
            if block["kind"] == "table":
                for row in block["rows"]:
                    for column, cell in zip(block["columns"], row["cells"], strict=True):
                        if cell["kind"] == "number":
                            yield f"{block['id']} {row['head']} {column['label']}", cell
            else:
                for point in block["data"].get("points", []):
                    yield f"{block['id']} {point['label']}", point


STUDIES = {
    "simulation": lambda: [small_study(simulator=True)],
    "p1": lambda: [p1_study()],
    "p2": lambda: [p2_study()],
    "p3 generalization": lambda: [p3_generalization_study()],
    "p3 utility and properties": lambda: [p3_utility_study(), p3_properties_study()],
}


@pytest.mark.parametrize("which", STUDIES)
def test_no_replicates_no_interval_anywhere(which):
    choices = Choices.parse({"min_overlap": 1, "replicates": 0})
    content = compute_across(studies=STUDIES[which](), choices=choices, figures=False).content
    found = [
        where for where, cell in numbers_of(content) if cell["low"] is not None or cell["high"] is not None
    ]
    assert found == []
    assert BRACKETS.findall(json.dumps([s["prose"] for s in content["sections"]], ensure_ascii=False)) == []


@pytest.mark.parametrize("which", STUDIES)
def test_each_interval_says_how_it_was_made(which):
    choices = Choices.parse({"min_overlap": 1, "replicates": 100})
    content = compute_across(studies=STUDIES[which](), choices=choices, figures=False).content
    silent = [
        where for where, cell in numbers_of(content) if cell["low"] is not None and not cell["interval"]
    ]
    assert silent == []
    drawn = [c["interval"] for _, c in numbers_of(content) if "replicates of" in c["interval"]]
    assert [how for how in drawn if "instances" not in how] == []


def twelve_instances():
    """Two people, one system, one explanation on each of twelve instances; the simulator agrees now and then."""
    study = make_study()
    ann, bob, gpt = (
        make_rater("ann"),
        make_rater("bob"),
        make_rater("gpt", kind="simulator", source="simulator"),
    )
    for number in range(12):
        for system in ("robot-a", "robot-b"):
            item = make_item(
                study, key=f"{system}{number}", instance=f"x{number:02d}", system=system,
                real_output="yes" if number % 3 else "no",
            )  # fmt: skip
            for rater, every in ((ann, 5), (bob, 4), (gpt, 2)):
                make_judgment(item, rater, "no" if number % every == 0 else "yes")
    return study


def test_one_figure_has_one_interval_in_every_table():
    content = computed(twelve_instances(), replicates=200, restriction="all").content

    def shown(table, row, column):
        cell = cells_of(content, table)[row, column]
        return cell["value"], cell["low"], cell["high"]

    of_a = shown("p1-table-4-details", "People robot-a", "Macro precision All instances")
    assert of_a[1] < of_a[0] < of_a[2]
    assert shown("systems-compared", "robot-a robot-b", "First") == of_a
    title = next(row for row, _ in cells_of(content, "p1-table-6") if row.endswith("robot-a"))
    assert shown("p1-table-6", title, "Simulation precision") == of_a
    assert shown("prediction-powered", "gpt Precision, macro", "People alone")[0] is not None
    assert shown("p1-table-4", title.replace("robot-a", "People"), "robot-a") == of_a


def test_the_same_seed_gives_the_same_intervals_and_another_seed_others():
    study = twelve_instances()
    first, again, other = (
        computed(study, replicates=100, seed=seed).content["sections"] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
