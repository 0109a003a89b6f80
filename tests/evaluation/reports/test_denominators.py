"""The denominators of a report's values, under every table and figure and in every format; simulators alone; each rater
alone."""

import pytest

from evaluation.core.estimate import Estimate
from evaluation.reports.content import Cell, Table, TableColumn, TableRow
from evaluation.reports.denominators import Basis, denominator_notes
from evaluation.reports.exports import export
from evaluation.reports.pages import page_of
from tests.evaluation.reports.studies import cells_of, computed, small_study, table_of
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


def test_sizes_by_column_by_row_or_value_by_value():
    by_column = [Basis("a", "P", 4), Basis("b", "P", 4), Basis("a", "S", 9), Basis("b", "S", 9)]
    assert denominator_notes(by_column) == ["n: P 4; S 9."]
    by_row = [Basis("a", "P", 4), Basis("b", "P", 5), Basis("a", "S", 4), Basis("b", "S", 5)]
    assert denominator_notes(by_row) == ["n: a 4; b 5."]
    mixed = [Basis("a", "P", 4), Basis("b", "P", 5), Basis("a", "S", 6), Basis("b", "S", 5)]
    assert denominator_notes(mixed) == ["n: a, P 4; b, P 5; a, S 6; b, S 5."]
    assert denominator_notes([Basis(str(n), "P", n) for n in range(1, 60)]) == ["n is from 1 to 59."]
    assert denominator_notes([Basis("a", "P", 0)]) == []


def test_a_note_on_what_was_left_out_stays_short_enough_to_read():
    """A table of statistics with a different exclusion in each row had a note of eleven lines."""
    few = [Basis(str(n), "P", 4, {"ties": n % 2 + 2}) for n in range(20)]
    assert denominator_notes(few)[1] == "Left out: 2 ties (10 values); 3 ties (10 values)."
    many = [Basis(str(n), "P", 4, {"ties": n + 2}) for n in range(5)]
    assert denominator_notes(many)[1].startswith(
        "Something was left out of 5 values; the details of each value"
    )
    assert denominator_notes(many[:4])[1].startswith("Left out: 2 ties (0); 3 ties (1);")


def test_sizes_that_a_column_shows_are_not_repeated():
    def table(*sizes: tuple[int, int]) -> dict:
        rows = [
            TableRow([str(n)], [Cell.of(Estimate(0.5, n=n, left_out={"tie": 1})), Cell.count(shown)])
            for n, shown in sizes
        ]
        columns = [TableColumn("P", "all"), TableColumn("Units", "all")]
        return Table(id="t", title="T", head=["Row"], columns=columns, rows=rows).to_json()

    assert table((4, 4), (5, 5))["denominators"] == ["Left out of every value: 1 tie."]
    assert table((4, 4), (5, 6))["denominators"] == ["n: 4 4; 5 5.", "Left out of every value: 1 tie."]
    assert table((4, 4))["denominators"][0] == "n = 4 for every value."


def test_each_format_gives_the_denominators_and_what_was_left_out():
    content = computed(small_study(simulator=True)).content
    said = table_of(content, "p1-table-4-details")["denominators"]
    assert said[0].startswith("n: ")
    assert "cannot guess" in said[1]
    assert "gpt-4 · robot-a" in said[0]  # the simulator's are there too
    for name in ("text", "html"):
        assert said[0] in export(content, {}, name), name
    assert "Left out: " in export(content, {}, "latex")
    page = page_of(content, lambda name: "")
    blocks = [block for section in page.sections for block in section.blocks]
    assert all(block.denominators for block in blocks if block.id in ("p1-table-4", "p1-table-4-precision"))
    assert all(block.denominators for block in blocks if block.id == "agreement-simulation-labels")


def simulators_only():
    study = make_study()
    gpt = make_rater("gpt-4", kind="simulator", source="simulator")
    for number in range(4):
        item = make_item(
            study, key=f"k{number}", instance=f"x{number}", real_output="yes" if number else "no"
        )
        make_judgment(item, gpt, "yes")
    return study


def test_a_report_on_simulators_alone_says_so():
    content = computed(simulators_only()).content
    assert content["warnings"][0].startswith("Only simulators have judged this study (gpt-4).")
    assert dict(content["facts"])["Counted"] == "simulators"
    sections = {section["id"]: section for section in content["sections"]}
    assert sections["p1-table-4"]["prose"][0].startswith(
        "On all systems and instances together, gpt-4’s simulation precision is 75.0 %"
    )
    assert [row["head"][-1] for row in table_of(content, "p1-table-4")["rows"]] == ["gpt-4"]
    cells = cells_of(content, "p1-table-6")
    row = next(row for row, _ in cells if row.endswith("robot-a"))
    assert cells[row, "Simulation precision"]["rule"] == "single:gpt-4"
    assert (
        "Only simulators have judged: this section uses the labels of gpt-4 alone."
        in sections["p1-table-6"]["notes"]
    )
    assert "people" not in " ".join(sections["p1-table-1"]["prose"] + sections["p1-table-4"]["prose"]).lower()
    assert [row["head"] for row in table_of(content, "data-raters")["rows"]] == [["gpt-4"]]


def test_agreement_in_a_study_of_simulators_alone_is_theirs():
    study = make_study()
    for name, answers in (("gpt-4", "yyyynnnnyynn"), ("llama", "yyynnnnnyynn")):
        rater = make_rater(name, kind="simulator", source="simulator")
        for number, answer in enumerate(answers):
            found = study.items.filter(key=f"k{number}").first()
            item = found or make_item(study, key=f"k{number}", instance=f"x{number}")
            make_judgment(item, rater, "yes" if answer == "y" else "no")
    content = computed(study).content
    sections = {section["id"]: section for section in content["sections"]}
    assert sections["agreement"]["prose"][0].startswith(
        "On “Simulated answer”, among simulators, mean Cohen’s κ is 0.833"
    )
    cells = {
        row: cell
        for (row, column), cell in cells_of(content, "agreement-simulation").items()
        if column.endswith("Value")
    }
    assert cells["Cohen’s κ, simulators with each other"]["value"] == pytest.approx(5 / 6)
    assert cells["Krippendorff’s α, simulators"]["n"] == 24
    assert not {"calibration", "p1-table-3", "prediction-powered"} & set(sections)
    assert sections["conduct"]["prose"][0].endswith("Only simulators judged items.")


def each_judges_other_systems():
    """ann judges robot-a, bob robot-b, on the same two instances; two follow-ups an explanation."""
    study = make_study()
    for system, name in (("robot-a", "ann"), ("robot-b", "bob")):
        for instance in ("x", "y"):
            for number in range(2):
                item = make_item(study, key=f"{system}{instance}{number}", instance=instance, system=system)
                make_judgment(item, make_rater(name), "yes" if number or system == "robot-a" else "no")
    return study


def test_raters_who_judge_different_systems_are_compared_on_their_instances():
    content = computed(each_judges_other_systems(), rule="per_rater").content
    cells = cells_of(content, "p1-table-4-details")
    assert cells["People robot-a", "Macro precision Common instances"]["value"] == 1
    assert cells["People robot-b", "Macro precision Common instances"]["value"] == 0.5


def test_explanations_are_counted_once_however_many_raters_judge_them():
    content = computed(small_study(), rule="per_rater").content
    cells = cells_of(content, "p1-table-4-details")
    # robot-a: two explanations, four follow-ups; ann and bob judged them all.
    assert cells["People robot-a", "Explanations"]["value"] == 2
    assert cells["People robot-a", "Follow-ups"]["value"] == 4
    section = next(s for s in content["sections"] if s["id"] == "p1-table-4")
    assert "each measured alone, of 4 explanations." in section["prose"][0]
    assert "means over 2 raters, each measured alone" in section["prose"][0]


def test_sections_that_use_another_rule_than_per_rater_say_so():
    content = computed(small_study(), rule="per_rater").content
    for name in ("p1-table-6", "p1-table-2"):
        notes = next(s for s in content["sections"] if s["id"] == name)["notes"]
        assert any("needs one label for each unit and uses the majority" in note for note in notes), name
    notes = next(s for s in content["sections"] if s["id"] == "p1-table-4")["notes"]
    assert not any("uses the majority" in note for note in notes)


def test_systems_without_a_shared_instance_say_what_to_do():
    study = make_study()
    for system, instance in (("robot-a", "x"), ("robot-b", "y")):
        make_judgment(make_item(study, key=system, instance=instance, system=system), make_rater("ann"))
    section = next(s for s in computed(study).content["sections"] if s["id"] == "p1-table-4")
    assert any("choose “All instances”" in text for text in section["prose"])
