"""Adjudicated labels in a report: before the rule's, with their denominators, and how far adjudicators agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.agreement.adjudicated import AdjudicatedRule
from evaluation.agreement.aggregate import TIES, OneTable, parse_rule
from evaluation.core.ratings_table import Ratings
from evaluation.releases.importing import release_import
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from tests.evaluation.releases.releases import built, everything, renamed_away, rows_of
from tests.evaluation.reports.adjudicated import adjudicated_study
from tests.evaluation.reports.studies import computed, stored
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

ROWS = [
    ("a", "u", "yes"),
    ("b", "u", "no"),
    ("a", "v", "no"),
    ("b", "v", "no"),
    ("a", "w", "yes"),
    ("b", "w", "no"),
]


def rule_named(name: str) -> OneTable:
    found = parse_rule(name)
    assert isinstance(found, OneTable)
    return found


@pytest.mark.parametrize("name", ["majority", "dawid_skene"])
def test_adjudicated_labels_go_before_the_rules(name: str) -> None:
    ratings = Ratings.from_rows(ROWS)
    found = AdjudicatedRule(rule_named(name), {"u": "yes", "elsewhere": "no"}).apply(ratings)
    assert found.by_unit()["u"] == "yes"
    plain = rule_named(name).apply(ratings)
    assert {u: found.by_unit()[u] for u in "vw"} == {u: plain.by_unit()[u] for u in "vw"}
    assert found.rule == f"adjudicated, else {name}"
    assert found.n + sum(found.left_out.values()) == len(ratings.units)


def test_only_ties_that_were_settled_leave_the_count() -> None:
    found = AdjudicatedRule(rule_named("majority"), {"u": "yes"}).apply(Ratings.from_rows(ROWS))
    assert found.left_out == {TIES: 1}
    new = AdjudicatedRule(rule_named("majority"), {"u": "maybe"}).apply(Ratings.from_rows(ROWS))
    assert new.by_unit()["u"] == "maybe", "a label that no rater gave"


def test_means_take_the_adjudicated_number() -> None:
    ratings = Ratings.from_rows(
        [("a", "u", "1"), ("b", "u", "5"), ("a", "v", "2"), ("b", "v", "4")], level="interval"
    )
    found = AdjudicatedRule(rule_named("mean"), {"u": "5"}).apply(ratings)
    assert found.by_unit() == {"u": "5", "v": "3"}
    assert np.all(found.value >= 0)


def section(content: dict[str, Any], name: str) -> Any:
    return next(one for one in content["sections"] if one["id"] == name)


@pytest.mark.django_db
def test_a_report_uses_adjudicated_labels_only_if_it_is_asked_to() -> None:
    study = adjudicated_study()
    plain, asked = computed(study), computed(study, adjudicated=True)
    assert plain.inputs_hash != asked.inputs_hash
    said = [note for one in asked.content["sections"] for note in one["notes"]]
    assert any("Adjudicated labels go before the rule’s on 11 of 12 units" in note for note in said)
    assert not any(
        "go before the rule’s on" in note for one in plain.content["sections"] for note in one["notes"]
    )
    assert "turn on “Adjudicated labels”" in section(plain.content, "adjudication")["prose"][0]


@pytest.mark.django_db
def test_the_section_counts_units_and_says_kappa_or_why_not() -> None:
    study = adjudicated_study()
    decided, agreed = section(computed(study, replicates=100).content, "adjudication")["blocks"]
    counts = [cell["value"] for cell in decided["rows"][0]["cells"]]
    assert counts == [12, 11, 0, 1, 0], "labelled, decided by two, by a third, open, undecided"
    each, crowd = agreed["rows"][:2]
    assert each["cells"][1]["value"] == pytest.approx(11 / 12)
    assert each["cells"][0]["value"] == pytest.approx(1 - (1 / 12) / (1 - (23**2 + 1) / 24**2))
    assert each["cells"][0]["interval"].startswith("none: at least 3 instances with another label")
    assert each["cells"][1]["low"] is not None
    assert crowd["cells"][0]["value"] is None
    assert crowd["cells"][0]["reason"]
    few = section(computed(study, min_overlap=20).content, "adjudication")["blocks"][1]["rows"][0]["cells"][0]
    assert few["reason"] == "12 units of at least 20"


@pytest.mark.django_db
def test_studies_without_adjudications_have_the_hash_and_sections_that_they_had() -> None:
    study = make_study()
    make_judgment(make_item(study), make_rater("ann"), "yes")
    assert not [one for one in computed(study).content["sections"] if one["id"] == "adjudication"]


@pytest.mark.django_db
def test_a_release_has_them_under_numbers_and_reproduces_and_imports() -> None:
    study = adjudicated_study(items=3)
    file = built(stored(study, adjudicated=True, replicates=0))[1]
    rows = rows_of(file, "adjudication")
    assert {(row["adjudicator"], row["seat"]) for row in rows} == {(1, 1), (2, 2)}
    assert len(rows) == 6
    assert "privat" not in everything(file)
    found = release_reproduce(release_open(file))
    assert (found.exact, list(found.problems)) == (True, [])
    renamed_away()
    [again] = release_import(release_open(file), by=make_user("far", staff=True))
    assert {one.digest for one in again.adjudications.all()} == {
        one.digest for one in study.adjudications.all()
    }
    assert {one.by for one in again.adjudications.all()} == {None}
