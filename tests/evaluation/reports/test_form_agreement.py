"""The agreement table of a report for sets, rankings, spans and preferences."""

from __future__ import annotations

import io
import json
from typing import cast

import numpy as np
import pytest

from annotator.hit_types.base import Level, Variable
from annotator.hit_types.registry import hit_type_get
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create
from evaluation.agreement import Ratings
from evaluation.agreement.by_form import summarize_form
from evaluation.agreement.value_forms import FORMS, Form, form_of
from evaluation.reports.form_agreement import form_tables
from tests.evaluation.agreement.form_rows import rows_of
from tests.evaluation.reports.studies import computed, table_of
from tests.factories import make_item, make_rater, make_study, record_judgment

HEADS = {
    "set": ["Krippendorff’s α, MASI distance", "Krippendorff’s α, Jaccard distance", "Krippendorff’s α, equal sets or not"],
    "ranking": ["Kendall’s W, mean over units", "Kendall’s τ-b, mean over pairs of raters"],
    "span": [
        "Krippendorff’s α over characters, marked or not", "Krippendorff’s α over characters, set of categories",
        "Krippendorff’s α over characters, marked as style", "Krippendorff’s α over characters, marked as wrong",
        "F1 of pairs of annotators, equal spans", "F1 of pairs of annotators, overlapping spans", "Same severity, of equal spans",
    ],
    "pairwise": [
        "Strength (log, mean 0) of fox", "Strength (log, mean 0) of hen", "Strength (log, mean 0) of owl", "Parameter of ties (Davidson’s ν)",
    ],
}  # fmt: skip
MORE = {
    "span": ["agreement-picked-confusion", "agreement-picked-pairs"],
    "pairwise": ["agreement-picked-comparisons"],
}


@pytest.mark.parametrize("form", FORMS)
def test_the_table_has_the_statistics_of_the_level(form: Form) -> None:
    rows = rows_of(form)
    table = Ratings.from_rows([(one["rater"], one["unit"], one["value"]) for one in rows], simulators=["m1"])
    by_name = {one["unit"]: {"a": one["one"], "b": one["two"]} for one in rows}
    sides = [by_name[table.units[unit]] for unit in table.unit.tolist()] if form == "pairwise" else None
    found = summarize_form(table, form, sides=sides, rng=np.random.default_rng(0), replicates=50)
    variable = Variable("picked", "Picked", cast("Level", form))
    sentence, tables = form_tables(variable, found, people="rehearsal raters")
    assert sentence.startswith("On “Picked”, among rehearsal raters, ")
    assert tables[0].title == f"Agreement on “Picked” ({form})"
    assert [row.head[0] for row in tables[0].rows] == HEADS[form]
    assert [one.id for one in tables[1:]] == MORE.get(form, [])
    groups = list(dict.fromkeys(column.group for column in tables[0].columns))
    assert groups == ["rehearsal raters", "m1" if form == "pairwise" else "rehearsal raters and m1"]
    for row in tables[0].rows:
        for value, n in zip(row.cells[::2], row.cells[1::2], strict=True):
            assert value.estimate is not None
            assert n.estimate is not None
            assert value.estimate.n == n.estimate.value
    json.dumps([one.to_json() for one in tables], allow_nan=False)


def test_undefined_agreement_is_said_with_its_reason() -> None:
    for form, reason in (("set", "no unit has two ratings"), ("pairwise", "a won every comparison")):
        value = '["x"]' if form == "set" else "a"
        found = summarize_form(Ratings.from_rows([("ann", "u", value)]), cast("Form", form))
        sentence, _ = form_tables(Variable("v", "V", cast("Level", form)), found, people="people")
        assert "can’t be computed" in sentence
        assert reason in sentence


def _has_forms(name: str) -> bool:
    return any(form_of(one.level) for one in hit_type_get(name).variables)


@pytest.mark.django_db
@pytest.mark.skipif(not _has_forms("pairwise_preference"), reason="no type declares such a variable")
def test_a_report_names_the_systems_of_a_comparison() -> None:
    kind = hit_type_get("pairwise_preference")
    study = study_create(by=None, hit_type=kind.name, slug="pairs", title="Pairs")
    systems = ["owl", "fox", "hen"]
    rows = [
        {
            "request": f"Request {n}?", "response_a": f"One {n}.", "response_b": f"Two {n}.",
            "system_a": systems[n % 3], "system_b": systems[(n + 1) % 3],
        }
        for n in range(9)
    ]  # fmt: skip
    material_import(
        study=study,
        file=io.BytesIO("\n".join(map(json.dumps, rows)).encode()),
        name="pairs.jsonl",
        attributes=("system_a", "system_b"),
    )
    sides = ["response_a", "response_b", "equal"]
    for number, item in enumerate(study.items.order_by("pk")):
        for place, name in enumerate(("ann", "bob", "cat")):
            better = sides[(number * 2 + place * place) % 3]
            record_judgment(item, make_rater(name), {"better": better, "why": "It helps."})
    plain = computed(study)
    table = table_of(plain.content, "agreement-better_pair")
    assert [row["head"][0] for row in table["rows"]] == HEADS["pairwise"]
    assert table["rows"][0]["cells"][0]["value"] is not None
    assert "the strengths of systems (log, mean 0) are" in json.dumps(
        plain.content["sections"], ensure_ascii=False
    )
    item = study.items.order_by("pk").first()
    assert item is not None
    item.attributes = item.attributes | {"system_a": "hen"}
    item.save()
    assert computed(study).inputs_hash != plain.inputs_hash


@pytest.mark.django_db
@pytest.mark.skipif(not _has_forms("pairwise_preference"), reason="no type declares such a variable")
def test_only_judged_items_need_their_systems() -> None:
    study = make_study(hit_type="pairwise_preference")
    payload = {"request": "R?", "response_a": "A.", "response_b": "B."}
    shown = [{"system_a": "owl", "system_b": "fox"}, {"system_a": "owl", "system_b": "fox"}, {}]
    items = [
        make_item(study, key=f"i{n}", payload=payload, attributes=attributes)
        for n, attributes in enumerate(shown)
    ]
    for item, better in zip(items, ("response_a", "response_b", "response_a"), strict=True):
        if item.attributes:
            record_judgment(item, make_rater("ann"), {"better": better, "why": "It helps."})
    table = table_of(computed(study).content, "agreement-better_pair")
    heads = [row["head"][0] for row in table["rows"]]
    assert heads[:2] == ["Strength (log, mean 0) of fox", "Strength (log, mean 0) of owl"]
    assert not any("compared, not systems" in note for note in table["notes"])
    record_judgment(items[2], make_rater("ann"), {"better": "response_a", "why": "It helps."})
    table = table_of(computed(study).content, "agreement-better_pair")
    heads = [row["head"][0] for row in table["rows"]]
    assert heads[:2] == ["Strength (log, mean 0) of a", "Strength (log, mean 0) of b"]
    note = "The sides a and b are compared, not systems: 1 judged item has no system_a or system_b."
    assert note in table["notes"]


def test_pairs_of_annotators_are_listed_only_if_raters_have_names() -> None:
    rows = rows_of("span")
    table = Ratings.from_rows([(one["rater"], one["unit"], one["value"]) for one in rows])
    found = summarize_form(table, "span")
    _, tables = form_tables(Variable("picked", "Picked", "span"), found, people="people", named=False)
    assert [one.id for one in tables] == ["agreement-picked", "agreement-picked-confusion"]
