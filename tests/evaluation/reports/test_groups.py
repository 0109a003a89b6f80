"""Reports grouped and filtered by attributes, means and medians, accuracy against correct labels: by hand."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import call_command

from annotator.models import Rater, Study
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.label_counts import count_columns
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from evaluation.core.filter_text import parse_filter
from evaluation.ratings.attributes import attribute_load, attribute_names
from evaluation.ratings.judgments import judgments_load
from tests.evaluation.reports.paper_studies import (
    p1_study,
    p2_study,
    p3_generalization_study,
    p3_properties_study,
    p3_utility_study,
)
from tests.evaluation.reports.studies import cells_of, computed, small_study, table_of
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db

TEXT = """q,who,score,doc,right,kind,age
1,ann,1,d1,1,easy,30
1,bob,2,d1,1,easy,41
2,ann,3,d1,3,hard,30
2,bob,3,d1,3,hard,41
3,ann,2,d2,,easy,30
3,bob,2,d2,,easy,41
4,ann,1,d2,2,hard,30
4,bob,3,d2,2,hard,41
"""


@pytest.fixture
def study() -> Study:
    return _scores()


def _scores() -> Study:
    study = make_study(hit_type="external_labels", slug="scores")
    columns = JudgmentColumns(
        "q", (ValueColumn("score", gold="right", level="interval"),), "who",
        cluster="doc", attributes=("kind",), rater_attributes=("age",),
    )  # fmt: skip
    judgments_import(study=study, file=io.BytesIO(TEXT.encode()), name="j.csv", columns=columns)
    return study


def test_means_and_medians_by_rater(study: Study) -> None:
    cells = cells_of(computed(study).content, "means-score")
    assert cells["All", "Mean"]["value"] == pytest.approx(17 / 8)
    assert cells["All", "Median"]["value"] == 2.0
    assert cells["By rater ann", "Mean"]["value"] == pytest.approx(7 / 4)
    assert cells["By rater bob", "Median"]["value"] == 2.5


def test_ordinal_scores_have_means_by_system_in_any_type() -> None:
    nominal = computed(small_study()).content
    assert "means" not in [section["id"] for section in nominal["sections"]]


def test_accuracy_by_hand(study: Study) -> None:
    cells = cells_of(computed(study).content, "accuracy-score")
    # ann: 1 and 3 right of three; bob: 3 right of three; labels: only item 2 has a majority with gold
    assert cells["Imported raters, single labels", "% correct"]["value"] == pytest.approx(3 / 6)
    assert cells["Imported raters, single labels", "% correct"]["left_out"] == {"without a correct label": 2}
    assert cells["Raters ann", "% correct"]["value"] == pytest.approx(2 / 3)
    assert cells["Imported raters, one label per unit", "% correct"]["value"] == 1.0
    wrong = cells_of(computed(study, ties="wrong").content, "accuracy-score")
    assert wrong["Imported raters, one label per unit", "% correct"]["value"] == pytest.approx(1 / 3)


def test_groups_of_items_and_of_raters(study: Study) -> None:
    cells = cells_of(computed(study, by="kind").content, "groups-score")
    assert cells["easy", "Mean"]["value"] == pytest.approx(7 / 4)
    assert cells["easy", "Percent agreement"]["value"] == 0.5
    assert cells["hard", "% correct"]["value"] == pytest.approx(1 / 2)
    assert cells["easy", "Units"]["value"] == 2
    by_age = cells_of(computed(study, by="rater:age").content, "groups-score")
    assert by_age["30", "Mean"]["value"] == pytest.approx(7 / 4)
    assert by_age["30", "Raters"]["value"] == 1
    assert "groups" not in [s["id"] for s in computed(study).content["sections"]]


def test_a_filter_leaves_the_rest_out_of_every_table(study: Study) -> None:
    content = computed(study, only="kind=hard").content
    assert cells_of(content, "means-score")["All", "Ratings"]["value"] == 4
    assert ["Only", "kind=hard"] in content["facts"]
    assert "outside the filter kind=hard" in str(content)
    alone = computed(study, only="kind=hard; rater:age=41").content
    assert cells_of(alone, "means-score")["All", "Mean"]["value"] == 3.0


def test_precision_by_group_of_items_and_raters() -> None:
    study = small_study()
    cells = cells_of(computed(study, by="system").content, "groups-precision")
    whole = cells_of(computed(study).content, "p1-table-4-details")
    for system in ("robot-a", "robot-b"):
        expected = whole[f"People {system}", "Macro precision All instances"]["value"]
        assert cells[system, "Macro precision"]["value"] == expected
    Rater.objects.filter(name="ann").update(attributes={"native": "yes"})
    Rater.objects.filter(name="bob").update(attributes={"native": "no"})
    native = cells_of(computed(study, by="rater:native").content, "groups-precision")
    alone = cells_of(computed(study, only="rater:native=yes").content, "p1-table-4-details")
    assert native["yes", "Simulatable"]["value"] == pytest.approx(5 / 6)
    # ann: xa1 right, xa2 wrong, ya2 right; xb1 right, yb1 wrong
    assert native["yes", "Micro precision"]["value"] == pytest.approx(3 / 5)
    assert alone["People robot-a", "Micro precision"]["value"] == pytest.approx(2 / 3)


PAPER_STUDIES = {
    "P1": p1_study, "P2": p2_study, "P3 utility": p3_utility_study, "P3 generalization": p3_generalization_study,
    "P3 properties": p3_properties_study, "scores": lambda: _scores(),
}  # fmt: skip


@pytest.mark.parametrize("name", PAPER_STUDIES)
@pytest.mark.parametrize("of", ["items", "raters"])
def test_every_table_has_columns_for_each_group(name: str, of: str) -> None:
    """Each group's columns hold what the report on that group alone shows, in every table of every section."""
    study = PAPER_STUDIES[name]()
    if of == "items":
        for number, item in enumerate(study.items.order_by("pk")):
            item.attributes = item.attributes | {"part": "ab"[number % 2]}
            item.save(update_fields=["attributes"])
        by = "part"
    else:
        people = Rater.objects.filter(judgments__study=study).exclude(kind=Rater.Kind.SIMULATOR).distinct()
        for number, rater in enumerate(people.order_by("pk")):
            rater.attributes = rater.attributes | {"part": "ab"[number % 2]}
            rater.save(update_fields=["attributes"])
        by = "rater:part"
    simulators = judgments_load(study=study).raters.simulators
    whole = computed(study, min_overlap=1).content
    cut = computed(study, min_overlap=1, by=by).content
    compared = 0
    for group in attribute_load(judgments_load(study=study), by).names:
        # Simulators stay in each group of raters, which a filter by an attribute of raters leaves out.
        skipped = of == "raters" and simulators
        alone = None if skipped else computed(study, min_overlap=1, only=f"{by}={group}")
        for section in whole["sections"]:
            if section["id"] in ("summary", "conduct", "method", "groups"):
                continue
            for block in section["blocks"]:
                if block["kind"] != "table":
                    continue
                cells = cells_of(cut, block["id"])
                for key, cell in cells_of(whole, block["id"]).items():
                    assert cells[key] == cell | {"inputs": cells[key].get("inputs")} or _same(
                        cells[key], cell
                    )
                if alone is None or block["id"].startswith("data-"):
                    continue
                if block["id"] not in _tables(alone.content):
                    continue
                for (head, column), cell in cells_of(alone.content, block["id"]).items():
                    found = cells.get((head, f"part {group} {column}")) or cells.get(
                        (head, f"part {group} · {column}")
                    )
                    assert found is not None, (block["id"], head, column, list(cells))
                    assert _same(found, cell), (block["id"], head, column)
                    compared += 1
    assert compared or simulators


def test_groups_that_do_not_fit_into_tables_have_their_own_section(study: Study) -> None:
    for number in range(14):
        study.items.create(key=f"n{number}", payload={}, attributes={"shade": f"s{number}"})
    for number, item in enumerate(study.items.order_by("pk")[:4]):
        item.attributes = item.attributes | {"shade": f"s{number}"}
        item.save(update_fields=["attributes"])
    content = computed(study, by="shade").content
    assert not any("shade" in column["group"] for column in table_of(content, "means-score")["columns"])
    notes = next(section for section in content["sections"] if section["id"] == "groups")["notes"]
    assert "there are more than 12" in notes[-1]


def _tables(content: dict[str, Any]) -> set[str]:
    return {block["id"] for section in content["sections"] for block in section["blocks"]}


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Cells are the same except for what the study left out before, and the report's hash."""
    return all(one.get(key) == other.get(key) for key in ("kind", "text", "value", "low", "high", "n"))


BLANKS = """q,who,score,tone,right
1,ann,1,1,1
1,bob,2,,1
2,ann,3,3,3
2,bob,3,2,3
3,ann,2,,2
3,bob,1,,2
"""


def _with_blanks() -> Study:
    study = make_study(hit_type="external_labels", slug="blanks")
    columns = JudgmentColumns(
        "q",
        (ValueColumn("score", level="interval"), ValueColumn("tone", gold="right", level="interval")),
        "who",
    )
    judgments_import(study=study, file=io.BytesIO(BLANKS.encode()), name="b.csv", columns=columns)
    return study


def test_blank_answers_count_as_wrong_where_that_is_chosen() -> None:
    """Tone: ann has 1 and 3 right and one blank; bob has 2 wrong and two blank. Nobody answered item 3."""
    study = _with_blanks()
    left_out = cells_of(computed(study).content, "accuracy-tone")
    assert left_out["Imported raters, single labels", "% correct"]["value"] == pytest.approx(2 / 3)
    content = computed(study, blanks="wrong").content
    wrong = cells_of(content, "accuracy-tone")
    assert wrong["Imported raters, single labels", "% correct"]["value"] == pytest.approx(2 / 6)
    assert wrong["Raters ann", "% correct"]["value"] == pytest.approx(2 / 3)
    assert wrong["Raters bob", "% correct"]["value"] == 0.0
    assert table_of(content, "accuracy-tone")["notes"][-1] == (
        "Questions that a rater left blank count as wrong: 3 answers."
    )
    grouped = cells_of(computed(study, blanks="wrong", by="dataset").content, "groups-tone")
    assert grouped["blanks", "% correct"]["value"] == pytest.approx(2 / 6)


def test_rows_without_a_label_are_in_the_denominator_where_they_count_as_wrong() -> None:
    """With one column of labels: ann is right twice and left one blank; bob is right once and has two without a label."""
    study = make_study(hit_type="external_labels", slug="one-column")
    text = (
        "q,who,tone,right\n1,ann,up,up\n1,bob,NA,up\n2,ann,down,down\n2,bob,down,down\n3,ann,,up\n3,bob,,up\n"
    )
    columns = JudgmentColumns("q", (ValueColumn("tone", gold="right"),), "who", missing=("NA",))
    judgments_import(study=study, file=io.BytesIO(text.encode()), name="b.csv", columns=columns)
    left_out = computed(study).content
    cell = cells_of(left_out, "accuracy-tone")["Imported raters, single labels", "% correct"]
    assert (cell["value"], cell["n"]) == (1.0, 3)
    for table in ("accuracy-tone", "agreement-tone"):
        assert "Left out: 3 judgments without an answer." in table_of(left_out, table)["notes"]
    wrong = cells_of(computed(study, blanks="wrong").content, "accuracy-tone")
    cell = wrong["Imported raters, single labels", "% correct"]
    assert (cell["value"], cell["n"]) == (0.5, 6)
    assert wrong["Raters bob", "% correct"]["value"] == pytest.approx(1 / 3)
    out = io.StringIO()
    call_command(
        "metrics", "one-column", "--blanks", "wrong", "--bootstrap", "0", stdout=out, stderr=io.StringIO()
    )
    assert "50.0" in out.getvalue()


def test_medians_and_means_combine_labels_that_have_an_order() -> None:
    """Tone of item 2 is 3 and 2: no majority, a median and mean of 2.5; of item 1, ann's 1 alone."""
    study = _with_blanks()
    for rule in ("median", "mean"):
        content = computed(study, rule=rule, ties="wrong").content
        cells = cells_of(content, "accuracy-tone")
        cell = cells["Imported raters, one label per unit", "% correct"]
        assert (cell["value"], cell["n"], cell["rule"]) == (0.5, 2, rule)
        assert any("Median of" in fact[1] or "Mean of" in fact[1] for fact in content["facts"])
    nominal = computed(small_study(), rule="median").content
    by_majority = computed(small_study(), rule="majority").content
    cells, expected = (cells_of(one, "p1-table-4-details") for one in (nominal, by_majority))
    assert [cell["value"] for cell in cells.values()] == [cell["value"] for cell in expected.values()]
    notes = [note for section in nominal["sections"] for note in section["notes"]]
    assert any(
        "have no order, so there is no median: they are combined by majority" in note for note in notes
    )


def test_soft_labels_and_entropy_of_each_unit() -> None:
    content = computed(_with_blanks()).content
    cells = cells_of(content, "distributions-score")
    assert cells["1", "Entropy, bits"]["value"] == 1.0
    assert cells["1", "% of raters 2"]["value"] == 0.5
    assert cells["1", "Mean"]["value"] == 1.5
    assert cells["2", "Entropy, bits"]["value"] == 0.0
    prose = next(section for section in content["sections"] if section["id"] == "distributions")["prose"]
    assert "entropy of 0.667 bits (n = 3 units" in prose[0]


def test_an_unknown_attribute_is_refused_with_a_list_of_the_known_ones(study: Study) -> None:
    with pytest.raises(ValueError, match="the attributes are 'kind', 'dataset', 'rater:age'"):
        computed(study, by="colour")
    with pytest.raises(ValueError, match="no 'kind' is 'soft'; there are 'easy', 'hard'"):
        computed(study, only="kind=soft")
    with pytest.raises(ValueError, match="expected attribute=value"):
        parse_filter("kind")
    judgments = judgments_load(study=study)
    assert {"kind", "rater:age", "dataset"} <= set(attribute_names(judgments))
    assert attribute_load(judgments, "dataset").names == ("scores",)


def test_the_inputs_hash_covers_the_groups(study: Study) -> None:
    before = computed(study, by="kind").inputs_hash
    assert computed(study, by="kind").inputs_hash == before
    item = study.items.get(key="1")
    item.attributes = {"kind": "hard"}
    item.save(update_fields=["attributes"])
    assert computed(study, by="kind").inputs_hash != before


def test_the_metrics_command_prints_agreement_where_a_type_has_no_metrics() -> None:
    study = make_study(hit_type="external_labels", slug="plain")
    columns = JudgmentColumns("q", (ValueColumn("score"),), "who")
    judgments_import(study=study, file=io.BytesIO(TEXT.encode()), name="j.csv", columns=columns)
    out, error = io.StringIO(), io.StringIO()
    call_command("metrics", "plain", "--bootstrap", "0", stdout=out, stderr=error)
    assert "Krippendorff’s α" in out.getvalue()
    assert "no metrics beyond agreement, which follows" in error.getvalue()


def test_the_report_has_icc_and_ac2_above_nominal_level(study: Study) -> None:
    heads = [row["head"][0] for row in table_of(computed(study).content, "agreement-score")["rows"]]
    assert any("ICC(2,1)" in head for head in heads)
    assert any("AC2, quadratic" in head for head in heads)


def test_raters_without_names_have_no_statistics_of_pairs_or_of_single_raters() -> None:
    """A table of label counts: which labels are one rater's isn't known, and the numbers follow the order of the labels."""
    study = make_study(hit_type="external_labels", slug="counted")
    text = "q,1,2,3,kind\n" + "".join(
        f"{n},{a},{b},{3 - a - b},{'xy'[n % 2]}\n"
        for n, (a, b) in enumerate([(2, 1), (0, 1), (1, 1), (3, 0), (0, 0), (0, 3), (1, 2), (0, 2)] * 2)
    )
    columns = count_columns(item=["q"], counts=["1", "2", "3"], level="interval", attributes=("kind",))
    judgments_import(study=study, file=io.BytesIO(text.encode()), name="c.csv", columns=columns)
    content = computed(study, by="kind", replicates=100).content
    cells = cells_of(content, "agreement-label")
    for head in ("Cohen’s κ without weights, imported raters with each other", "– weighted by shared units"):
        assert cells[head, "All labels Value"]["value"] is None
        assert "raters have no names" in cells[head, "All labels Value"]["reason"]
    assert cells["Krippendorff’s α, imported raters", "All labels Value"]["value"] is not None
    heads = [head for head, _ in cells]
    assert any("ICC(1,1)" in head for head in heads)
    assert not any("ICC(2,1)" in head or "ICC(3,k)" in head for head in heads)
    ids = {block["id"] for section in content["sections"] for block in section["blocks"]}
    assert not ids & {"agreement-label-pairs", "agreement-label-rest", "agreement-label-matrix"}
    assert not any(head.startswith("By rater") for head, _ in cells_of(content, "means-label"))
    group = cells_of(content, "groups-label")["x", "Mean Cohen’s κ"]
    assert group["value"] is None
    assert "raters have no names" in group["reason"]
    notes = next(section for section in content["sections"] if section["id"] == "agreement")["notes"]
    assert any("names no raters" in note for note in notes)
    with pytest.raises(ValueError, match="choose another rule than per_rater"):
        computed(study, rule="per_rater")


def test_groups_without_people_or_with_other_raters_fill_the_rows_of_the_whole_study() -> None:
    """People judge hard items, imported raters easy ones, a simulator all and odd ones alone."""
    study = make_study()
    gpt = make_rater("gpt", kind="simulator", source="simulator")
    by_kind = {
        "easy": [make_rater("ann", source="import:x"), make_rater("bob", source="import:x")],
        "hard": [make_rater("cat"), make_rater("dan")],
        "odd": [],
    }
    for kind, raters in by_kind.items():
        for number in range(12):
            item = make_item(
                study, key=f"{kind}{number}", instance=f"{kind}{number}", attributes={"sort": kind}
            )
            for rater in [*raters, gpt]:
                make_judgment(item, rater, "yes" if number % 3 else "no")
    cells = cells_of(computed(study, by="sort", replicates=0).content, "agreement-simulation")
    assert not {row for row, _ in cells if row.endswith(("α, people", "α, imported raters", "α, simulators"))}
    alpha = {
        column: cell["value"]
        for (row, column), cell in cells.items()
        if row == "Krippendorff’s α, people and imported raters"
    }
    assert {column: alpha[column] for column in alpha if "All labels Value" in column} == {
        "All labels Value": 1.0,
        "sort easy · All labels Value": 1.0,
        "sort hard · All labels Value": 1.0,
        "sort odd · All labels Value": None,
    }
