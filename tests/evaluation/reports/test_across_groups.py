"""Reports across studies that are divided into groups of items or raters."""

import pytest

from annotator.models import Rater, Study
from tests.evaluation.reports.across_studies import across, judged_plausible, same_inputs, simulated
from tests.evaluation.reports.paper_studies import p3_properties_study, p3_utility_study
from tests.evaluation.reports.studies import cells_of, small_study, table_of
from tests.factories import make_rater

pytestmark = pytest.mark.django_db


def _parts(of: str, *studies: Study) -> str:
    """Put every other item (or rater) of each study into part a, the others into part b; returns the attribute's name."""
    for study in studies:
        rows = study.items.order_by("pk") if of == "items" else Rater.objects.filter(judgments__study=study)
        for number, row in enumerate(rows.order_by("pk").distinct()):
            row.attributes = row.attributes | {"part": "ab"[number % 2]}
            row.save(update_fields=["attributes"])
    return "part" if of == "items" else "rater:part"


def _plausibility_and_precision() -> list[Study]:
    keys = [(instance, system) for instance in "wxyz" for system in "abc"]
    right = {key: (number % 3, 2) for number, key in enumerate(keys)}
    scores = {key: ("yes", "moderate", "no")[number % 4 % 3] for number, key in enumerate(keys)}
    return [simulated(right, title="Simulated"), judged_plausible(scores)]


def _one_dataset() -> list[Study]:
    keys = [(instance, system) for instance in "wxyz" for system in "ab"]
    first = {key: (1 + number % 2, 3) for number, key in enumerate(keys)}
    second = {(instance, system): (2, 2) for instance, system in keys if system == "a"}
    return [simulated(first, title="One"), simulated(second, title="Two")]


def _judged_again(study: Study, rater: Rater) -> None:
    """The rater judges all items of the first rater, in the same way."""
    if study.judgments.filter(rater=rater).exists():
        return
    first = study.judgments.order_by("pk").values_list("rater", flat=True)[0]
    for judgment in list(study.judgments.filter(rater=first)):
        judgment.pk, judgment.rater = None, rater
        judgment._state.adding = True
        judgment.save()


JOINED = {
    "p1-precision-plausibility": _plausibility_and_precision,
    "p1-systems-across": _one_dataset,
    "p3-table-13": lambda: [p3_properties_study(only="association"), p3_properties_study(only="novelty")],
    "p3-table-14": lambda: [p3_utility_study(), p3_properties_study()],
}


@pytest.mark.parametrize("section", JOINED)
@pytest.mark.parametrize("of", ["items", "raters"])
def test_sections_across_studies_have_columns_for_each_group(section: str, of: str):
    """Each group's columns have the values of a report across the same studies on that group alone."""
    studies = JOINED[section]()
    same_inputs(*studies)
    if of == "raters":  # a second rater who agrees with the first, so that there are two groups
        for study in studies:
            _judged_again(study, make_rater("bob"))
    by = _parts(of, *studies)
    cut = across(*studies, by=by)
    whole = across(*studies)
    compared = 0
    for group in "ab":
        alone = across(*studies, only=f"{by}={group}")
        tables = [
            b for s in alone["sections"] if s["id"] == section for b in s["blocks"] if b["kind"] == "table"
        ]
        for table in tables:
            cells = cells_of(cut, table["id"])
            for key, cell in cells_of(whole, table["id"]).items():
                assert cells[key].get("value") == cell.get("value"), (table["id"], key)
            for (head, column), cell in cells_of(alone, table["id"]).items():
                found = cells.get((head, f"part {group} {column}")) or cells.get(
                    (head, f"part {group} \u00b7 {column}")
                )
                if found is None:  # a system of two studies is named after its study in every group
                    continue
                assert [found.get(k) for k in ("value", "text")] == [cell.get(k) for k in ("value", "text")]
                compared += 1
    assert compared >= 4


def test_groups_of_several_studies_are_cut_at_the_same_numbers():
    studies = [small_study(title=title) for title in ("One", "Two", "Three")]
    number = 0
    for study in studies:
        for item in study.items.order_by("pk"):
            item.attributes = {"length": str(number)}
            item.save(update_fields=["attributes"])
            number += 1
    content = across(*studies, by="length")
    named = {column["group"] for column in table_of(content, "groups-simulation")["columns"]}
    heads = [row["head"][0] for row in table_of(content, "groups-simulation")["rows"]]
    assert named == {""}
    assert len(set(heads)) <= 4
    assert all(head.startswith(("0 to", "above")) for head in heads), heads


def test_a_study_without_the_attribute_is_named():
    one, two = small_study(title="One"), small_study(title="Two")
    _parts("items", one)
    with pytest.raises(ValueError, match=f"{two.slug}: no item or rater of the study has a value of 'part'"):
        across(one, two, by="part")
