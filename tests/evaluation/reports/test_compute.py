"""A report's numbers, worked out by hand, and the reasons it gives for what can't be computed."""

import json

import pytest

from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import Exclusion, Judgment, Rater
from evaluation.models import Call, Endpoint, Run
from evaluation.reports.registry import parts
from tests.evaluation.reports.studies import cells_of, computed, small_study, table_of
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


def test_agreement_by_hand():
    cells = cells_of(computed(small_study()).content, "agreement-simulation")
    # ann: yes yes cg yes no no; bob: yes yes cg no no no. Po = 5/6, Pe = (3*2 + 2*3 + 1*1)/36 = 13/36,
    # kappa = (30 - 13)/(36 - 13) = 17/23.
    kappa = cells["Cohen’s κ, people with each other", "All labels Value"]
    assert kappa["value"] == pytest.approx(17 / 23)
    assert kappa["n"] == 1
    assert cells["Percent agreement, people", "All labels Value"]["value"] == pytest.approx(5 / 6)
    # Without the item that both could not guess: five items, yes yes yes no no against yes yes no no no:
    # Po = 4/5, Pe = (3*2 + 2*3)/25 = 12/25, kappa = (20 - 12)/(25 - 12) = 8/13.
    other = cells["Cohen’s κ, people with each other", "Without “cannot guess” Value"]
    assert other["value"] == pytest.approx(8 / 13)


def test_precision_by_hand():
    content = computed(small_study()).content
    cells = cells_of(content, "p1-table-4-details")

    def value(system: str, column: str) -> float:
        return cells[f"People {system}", column]["value"]

    # robot-a on x: xa1 right, xa2 wrong: 1/2; on y: one cannot guess, one tie: not defined.
    # robot-b: right on x, wrong on y. Only x is defined in both.
    assert value("robot-a", "Macro precision All instances") == 0.5
    assert value("robot-b", "Macro precision All instances") == 0.5
    assert value("robot-a", "Macro precision Common instances") == 0.5
    assert value("robot-b", "Macro precision Common instances") == 1.0
    assert value("robot-a", "Micro precision") == 0.5
    assert value("robot-a", "Simulatable") == pytest.approx(2 / 3)  # of three labelled; the tie is left out
    assert cells["People robot-a", "Simulatable"]["left_out"] == {"raters tie": 1}
    assert cells["People robot-a", "Macro precision All instances"]["rule"] == "majority"
    headline = cells_of(content, "p1-table-4")
    dataset = table_of(content, "p1-table-4")["rows"][0]["head"][0]
    assert headline[f"{dataset} People", "robot-b"]["value"] == 1.0


def test_restriction_changes_only_the_headline():
    study = small_study()
    common = cells_of(computed(study, restriction="common").content, "p1-table-4")
    everywhere = cells_of(computed(study, restriction="all").content, "p1-table-4")
    key = next(key for key in common if key[1] == "robot-b")
    assert (common[key]["value"], everywhere[key]["value"]) == (1.0, 0.5)


def test_refusals_and_ties_count_as_chosen_and_the_report_says_how():
    study = small_study()
    item = make_item(study, key="za1", instance="z", system="robot-a", real_output="refusal")
    for name in ("ann", "bob"):
        make_judgment(item, make_rater(name), "yes")

    def micro(**choices: str) -> tuple[dict, str]:
        content = computed(study, **choices).content
        method = next(part for part in content["sections"] if part["id"] == "method")
        notes = table_of(content, "p1-table-4-details")["notes"]
        cells = cells_of(content, "p1-table-4-details")
        return cells["People robot-a", "Micro precision"], " ".join([*method["prose"], *notes])

    # robot-a: xa1 right, xa2 wrong, ya1 cannot guess, ya2 a tie, za1 refused
    cell, said = micro()
    assert (cell["value"], cell["n"]) == (pytest.approx(1 / 3), 3)
    assert "so they count as wrong" in said
    cell, said = micro(refusals="left_out")
    assert (cell["value"], cell["n"]) == (0.5, 2)
    assert cell["left_out"]["refused or answered with neither answer"] == 1
    assert "Follow-ups that the system refused are left out of precision." in said
    cell, said = micro(ties="wrong")
    assert (cell["value"], cell["n"]) == (0.25, 4)
    assert "Units on which raters tie are counted as wrong." in said


def test_a_simulator_is_shown_beside_people():
    content = computed(small_study(simulator=True)).content
    cells = cells_of(content, "p1-table-3")
    dataset = table_of(content, "p1-table-3")["rows"][0]["head"][0]
    # gpt-4 says yes throughout. With ann: Po = 3/6, Pe = 3/6, kappa 0; with bob: Po = 2/6, Pe = 2/6, kappa 0.
    assert cells[f"{dataset} All labels", "H–gpt-4"]["value"] == pytest.approx(0.0)
    assert cells[f"{dataset} All labels", "H–H"]["value"] == pytest.approx(17 / 23)
    # its own precision: yes is right on xa1, ya1, ya2, yb1: robot-a (1/2 + 1)/2, robot-b (0 + 1)/2
    own = cells_of(content, "p1-table-4-details")
    assert own["gpt-4 robot-a", "Macro precision All instances"]["value"] == 0.75
    assert own["gpt-4 robot-b", "Macro precision All instances"]["value"] == 0.5
    assert own["gpt-4 robot-a", "Macro precision All instances"]["rule"] == "single:gpt-4"


def test_a_single_raters_labels_can_be_the_rule():
    cells = cells_of(computed(small_study(), rule="single:ann").content, "p1-table-4-details")
    # ann alone guesses ya2 right: robot-a 1/2 on x and 1 on y
    assert cells["ann robot-a", "Macro precision All instances"]["value"] == 0.75


def test_per_rater_is_the_mean_over_raters():
    cells = cells_of(computed(small_study(), rule="per_rater").content, "p1-table-4-details")
    # ann .75 (see above); bob says no on ya2 and is wrong: (1/2 + 0)/2 = .25; mean .5
    assert cells["People robot-a", "Macro precision All instances"]["value"] == 0.5


def test_a_rule_that_names_nobody_is_an_error():
    with pytest.raises(ValueError, match="'zoe' is not a rater"):
        computed(small_study(), rule="single:zoe")


def test_exclusions_on_and_off():
    study = small_study()
    Exclusion.objects.create(study=study, rater=Rater.objects.get(name="bob"), reason="too fast")
    without, within = computed(study), computed(study, exclusions=False)
    assert without.inputs_hash != within.inputs_hash
    assert cells_of(without.content, "data-left-out")["rater excluded: too fast", "Judgments"]["value"] == 6
    kappa = cells_of(without.content, "agreement-simulation")[
        "Cohen’s κ, people with each other", "All labels Value"
    ]
    assert kappa["value"] is None
    assert kappa["reason"]
    again = cells_of(within.content, "agreement-simulation")
    assert again["Cohen’s κ, people with each other", "All labels Value"]["value"] == pytest.approx(17 / 23)


def undefined_everywhere(content: dict) -> set[str]:
    """The reasons of all values that are not defined; no value may be blank without one."""
    reasons = set()
    for section in content["sections"]:
        for block in section["blocks"]:
            for row in block.get("rows", []):
                for cell in row["cells"]:
                    if cell["kind"] == "number" and cell["value"] is None:
                        assert cell["reason"]
                        reasons.add(cell["reason"])
    return reasons


def test_a_report_on_an_empty_study_says_so():
    content = computed(make_study()).content
    data = content["sections"][0]
    assert data["prose"] == ["No judgment counts yet, so no figure below is defined."]
    cells = cells_of(content, "agreement-simulation")
    statistics = [cell for (_, column), cell in cells.items() if column.endswith("Value")]
    assert statistics
    assert all(cell["value"] is None for cell in statistics)
    assert undefined_everywhere(content)


def test_items_that_nobody_judged():
    content = computed(make_study(items=3)).content
    assert all(
        cell["value"] is None
        for (_, column), cell in cells_of(content, "p1-table-4-details").items()
        if "precision" in column or column == "Simulatable"
    )


def test_one_rater_has_nobody_to_agree_with():
    study = make_study()
    for number in range(3):
        make_judgment(make_item(study, instance=f"x{number}"), make_rater("ann"))
    content = computed(study).content
    kappa = cells_of(content, "agreement-simulation")["Cohen’s κ, people with each other", "All labels Value"]
    assert kappa["value"] is None
    assert "no such pair" in kappa["reason"]
    # what one rater can give is given
    assert cells_of(content, "p1-table-4-details")["People robot-a", "Micro precision"]["value"] == 1.0


def test_all_the_same_label_is_not_perfect_agreement():
    study = make_study()
    for number in range(3):
        item = make_item(study, instance=f"x{number}")
        make_judgment(item, make_rater("ann"))
        make_judgment(item, make_rater("bob"))
    cells = cells_of(computed(study).content, "agreement-simulation")
    alpha = cells["Krippendorff’s α, people", "All labels Value"]
    assert alpha["value"] is None
    assert "same label" in alpha["reason"]
    assert cells["Percent agreement, people", "All labels Value"]["value"] == 1.0


def test_a_simulator_of_which_nothing_could_be_parsed():
    study = make_study(items=2)
    rater = make_rater("gpt-4", kind="simulator", source="simulator")
    endpoint = Endpoint.objects.create(name="e", base_url="http://127.0.0.1:9/v1", model="gpt-4")
    run = Run.objects.create(
        kind="simulate", study=study, endpoint=endpoint, model="m", prompt="p", prompt_digest="d", rater=rater
    )
    for key in "ab":
        Call.objects.create(run=run, key=key, state="unparsable", error_kind="refusal")
    content = computed(study).content
    assert cells_of(content, "data-unparsable")["gpt-4 not parsable: refusal", "Calls"]["value"] == 2


def test_material_without_explanations_has_agreement_but_no_precision():
    study = make_study()
    for number in range(3):
        item = make_item(study)
        type(item).objects.filter(pk=item.pk).update(explanation=None, follow_up=None)
        make_judgment(item, make_rater("ann"), "yes")
        make_judgment(item, make_rater("bob"), "no" if number else "yes")
    content = computed(study).content
    assert "p1-table-4" not in {section["id"] for section in content["sections"]}
    percent = cells_of(content, "agreement-simulation")["Percent agreement, people", "All labels Value"]
    assert percent["value"] == pytest.approx(1 / 3)


def test_rehearsal_raters_are_never_called_people():
    study = make_study()
    for name in ("r1", "r2"):
        rater = Rater.objects.create(kind="human", source="rehearsal", name=name, rehearsal=True)
        for key in ("one", "two"):
            item = study.items.filter(key=key).first() or make_item(study, key=key)
            make_judgment(item, rater, "yes" if key == "one" else "no")
    content = computed(study).content
    assert any("rehearsal raters" in warning for warning in content["warnings"])
    text = json.dumps(content["sections"], ensure_ascii=False).lower()
    assert "rehearsal raters with each other" in text
    assert "people" not in text.replace("h: rehearsal raters", "")


def test_the_same_inputs_give_the_same_bytes():
    study = small_study(simulator=True)
    one, two = (computed(study, figures=True, replicates=200, seed=5) for _ in range(2))
    assert one.content == two.content
    assert one.inputs_hash == two.inputs_hash
    assert one.files == two.files
    other = computed(study, replicates=200, seed=6)
    assert other.inputs_hash != one.inputs_hash


def test_intervals_surround_their_value():
    study, ann = make_study(), make_rater("ann")
    for number in range(10):
        item = make_item(
            study, key=f"k{number}", instance=f"x{number}", real_output="yes" if number % 3 else "no"
        )
        make_judgment(item, ann, "yes")
    cells = cells_of(computed(study, replicates=200).content, "p1-table-4-details")
    found = [cell for cell in cells.values() if cell["low"] is not None]
    assert found
    assert all(cell["low"] <= cell["value"] <= cell["high"] for cell in found)
    assert all(cell["interval"].startswith(("95 % t interval", "95 % Wilson")) for cell in found)


def test_every_figure_is_drawn_twice_and_as_png():
    found = computed(small_study(simulator=True), figures=True)
    figures = [b["id"] for s in found.content["sections"] for b in s["blocks"] if b["kind"] == "figure"]
    assert figures
    assert set(found.files) == {
        f"{name}.{end}" for name in figures for end in ("light.svg", "dark.svg", "png")
    }
    for name, (media_type, body) in found.files.items():
        assert body.startswith(b"\x89PNG" if media_type == "image/png" else b"<svg"), name
        assert b"<script" not in body


def test_content_is_plain_json():
    json.dumps(
        computed(
            small_study(simulator=True),
        ).content,
        allow_nan=False,
    )


def test_judgments_left_out_are_counted_in_words():
    study = small_study()
    Judgment.objects.filter(item__key="xa1", rater__name="ann").update(standing="surplus")
    prose = computed(study).content["sections"][0]["prose"][0]
    assert prose.endswith("1 more judgment left out; the table below says why.")


def test_people_and_rehearsal_raters_are_counted_one_or_the_other():
    study = small_study()
    synthetic = Rater.objects.create(kind="human", source="login", name="synthetic", rehearsal=True)
    for item in study.items.all():
        make_judgment(item, synthetic, "yes")
    of_people, of_rehearsal = computed(study).content, computed(study, count="rehearsal").content
    judged = "data-raters"
    assert cells_of(of_people, judged)["People", "Judgments"]["value"] == 12
    assert cells_of(of_rehearsal, judged)["Rehearsal raters", "Judgments"]["value"] == 6
    assert not [w for w in of_people["warnings"] if "rehearsal" in w]
    assert [w for w in of_rehearsal["warnings"] if w.startswith("This is a rehearsal")]
    assert dict(of_people["facts"])["Counted"] == "people"
    assert dict(of_rehearsal["facts"])["Counted"] == "rehearsal raters"
    left = cells_of(of_rehearsal, "data-left-out")
    assert left["by a person, in a report on the rehearsal", "Judgments"]["value"] == 12


def test_a_report_without_a_rehearsal_says_so():
    content = computed(small_study(), count="rehearsal").content
    assert [w for w in content["warnings"] if w.startswith("No rehearsal rater")]
    assert (
        cells_of(content, "data-left-out")["by a person, in a report on the rehearsal", "Judgments"]["value"]
        == 12
    )


def test_every_measure_that_a_section_needs_is_declared_by_a_hit_type():
    declared = set().union(*(hit_type.measures for hit_type in hit_types().values()))
    assert {part.measure for part in parts()} - {""} <= declared


def test_a_hit_type_has_the_sections_of_what_it_measures(monkeypatch):
    kind = hit_type_get("question_validation")
    assert "p1_table4" not in {part.name for part in parts() if part.serves(kind)}
    monkeypatch.setattr(type(kind), "measures", frozenset({"simulatability"}))
    assert "p1_table4" in {part.name for part in parts() if part.serves(kind)}


def test_imported_raters_are_never_called_people():
    study = make_study()
    for name in ("ann", "bob"):
        for number in range(3):
            item = study.items.filter(key=str(number)).first() or make_item(study, key=str(number))
            make_judgment(item, make_rater(name, source="import:study"), "yes" if number else "no")
    content = computed(study).content
    sections = {section["id"]: section for section in content["sections"]}
    assert sections["data"]["prose"][0].startswith("2 imported raters made 6 judgments")
    assert [row["head"] for row in table_of(content, "data-raters")["rows"]] == [["Imported raters"]]
    assert "imported raters’ simulation precision" in sections["p1-table-4"]["prose"][0]
    said = " ".join(text for s in content["sections"] if s["id"] != "conduct" for text in s["prose"])
    assert "people" not in said.lower()
