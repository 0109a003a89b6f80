"""Reports cut and filtered by attributes, means and medians, accuracy against correct labels: by hand."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from annotator.models import Rater, Study
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from evaluation.core.filter_text import parse_filter
from evaluation.ratings.attributes import attribute_load, attribute_names
from evaluation.ratings.judgments import judgments_load
from tests.evaluation.reports.studies import cells_of, computed, small_study, table_of
from tests.factories import make_study

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
    assert cells["Imported raters, one label a unit", "% correct"]["value"] == 1.0
    wrong = cells_of(computed(study, ties="wrong").content, "accuracy-score")
    assert wrong["Imported raters, one label a unit", "% correct"]["value"] == pytest.approx(1 / 3)


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


def test_attributes_that_are_not_there_are_refused_with_those_that_are(study: Study) -> None:
    with pytest.raises(ValueError, match=r"the attributes are 'condition', 'kind', .*'rater:age'"):
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


def test_the_metrics_command_gives_what_there_is() -> None:
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
