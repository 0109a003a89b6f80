"""Conger's kappa: irrCAC's values, the definition, what it must not depend on, degenerate tables, and its interval."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc

import numpy as np
import pytest

from benchmarks.validation.conger_grid import CROWDS, truth
from evaluation.agreement import Ratings, as_csv, as_json, as_text, cohen_kappa, conger_kappa, summarize
from evaluation.agreement.conger import _Table
from evaluation.agreement.counts import cluster_codes
from evaluation.reports.agreement_data import agreement_of
from tests.evaluation.agreement.conger_tables import IRRCAC, WEIGHTS, by_definition
from tests.evaluation.agreement.simulate import KAPPA_DESIGNS, Panel
from tests.evaluation.agreement.tables import random_matrices, ratings_of, rows_of


@pytest.mark.parametrize("name", IRRCAC)
def test_four_tables_are_as_irrcac_has_them(name):
    matrix, values = IRRCAC[name]
    table = ratings_of(matrix, level="interval")
    found = [conger_kappa(table, weights=weights).value for weights in WEIGHTS]
    assert found == pytest.approx(values, abs=1e-10)


def test_by_hand():
    """Units: yes yes | no yes no | no. Do = (0 + 2/3) / 2; a gives yes 1/2, b 1, c 0: De = (1/2 + 1/2 + 1) / 3."""
    rows = [("a", "u", "yes"), ("b", "u", "yes"), ("a", "v", "no"), ("b", "v", "yes"), ("c", "v", "no")]
    found = conger_kappa(Ratings.from_rows([*rows, ("c", "w", "no")]))
    assert found.value == pytest.approx(1 - (1 / 3) / (2 / 3))
    assert (found.n, found.left_out) == (2, {"units with a single rating": 1})


@pytest.mark.parametrize("weights", WEIGHTS)
def test_random_tables_by_definition(weights):
    for matrix in random_matrices(150, seed=3):
        mine = conger_kappa(ratings_of(matrix, level="interval"), weights=weights).value
        assert mine == pytest.approx(by_definition(matrix, weights), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_two_raters_without_missing_ratings_are_cohens(weights):
    for matrix in random_matrices(40, seed=5, missing=False):
        a, b = ([str(int(v)) for v in row] for row in matrix[:2])
        theirs = cohen_kappa(a, b, weights=weights, labels=[str(n) for n in range(9)]).value
        mine = conger_kappa(ratings_of(matrix[:2], level="interval"), weights=weights).value
        assert mine == pytest.approx(theirs, abs=1e-12, nan_ok=True)


def test_names_and_order_do_not_matter():
    table = KAPPA_DESIGNS["missing"].draw(np.random.default_rng(1))
    found = conger_kappa(table, intervals=True)
    rows, rng = rows_of(table), np.random.default_rng(2)
    cluster_of = {unit: str(code) for unit, code in zip(table.units, table.clusters, strict=True)}
    shuffled = [rows[i] for i in rng.permutation(len(rows))]
    renamed = [(f"z{rater[::-1]}", unit, {"0": "b", "1": "a"}[label]) for rater, unit, label in shuffled]
    for other in (shuffled, renamed):
        again = conger_kappa(Ratings.from_rows(other, cluster_of=cluster_of), intervals=True)
        assert (again.value, again.low, again.high) == pytest.approx((found.value, found.low, found.high))


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_scale_and_origin_of_numbers_do_not_matter(weights):
    matrix = np.array(IRRCAC["five raters, missing"][0], dtype=float)
    found = [
        conger_kappa(ratings_of(part, level="interval"), weights=weights).value
        for part in (matrix, matrix * 1000 + 7, -matrix)
    ]
    assert found == pytest.approx([found[0]] * 3, abs=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_values_without_a_group_are_those_of_the_table_without_it(weights):
    for matrix in random_matrices(25, seed=4):
        table = ratings_of(matrix, level="interval")
        codes, _clusters = cluster_codes(table)
        for group in (codes, np.where(codes >= 0, codes % 3, -1)):
            whole = _Table(table, weights)
            if whole.constant:
                continue
            found = whole.without_groups(group, int(group.max()) + 1)
            expected = [
                conger_kappa(table.where(group[table.unit] != left), weights=weights).value
                for left in range(found.size)
            ]
            assert found == pytest.approx(expected, abs=1e-11, nan_ok=True)


def test_what_has_no_value_says_why():
    for rows, reason in (
        ([], "unit"),
        ([("a", "u", "x"), ("b", "v", "y")], "unit"),
        ([("a", "u", "x"), ("b", "u", "x"), ("a", "v", "x")], "same"),
    ):
        found = conger_kappa(Ratings.from_rows(rows), intervals=True)
        assert not found.defined
        assert reason in found.reason


def test_total_agreement_is_one():
    rows = [(rater, str(u), "xyz"[u % 3]) for u in range(30) for rater in "abc"]
    assert conger_kappa(Ratings.from_rows(rows)).value == 1.0


@pytest.mark.parametrize("name", CROWDS)
def test_few_of_many_raters_have_an_interval_where_the_mean_of_pairs_has_none(name):
    studies, covered = 100, 0
    for rng in np.random.default_rng(11).spawn(studies):
        found = conger_kappa(CROWDS[name].draw(rng), intervals=True)
        covered += found.low <= truth(CROWDS[name]) <= found.high
    assert covered / studies >= 0.89  # of 95 %, 100 studies show 90 to 99 %
    means = summarize(CROWDS[name].draw(rng), rng=rng, replicates=20).kappa["nominal"].mean
    assert np.isnan(means["all"].low)


def test_the_interval_for_new_raters_is_wider_and_covers():
    panel, studies, covered, wider = Panel(12, 100, 4), 60, 0, 0
    for rng in np.random.default_rng(12).spawn(studies):
        table = panel.draw(rng)
        these = conger_kappa(table, intervals=True)
        new = conger_kappa(table, intervals=True, new_raters=True)
        covered += new.low <= panel.truth <= new.high
        wider += new.high - new.low >= these.high - these.low - 1e-12
    assert wider == studies
    assert covered / studies >= 0.88
    few = conger_kappa(Panel(4, 100, 4).draw(rng), intervals=True, new_raters=True)
    assert few.interval == "none: 4 raters are too few to generalise to new ones"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(r, str(u), "xy"[(u + (r == "c")) % 2]) for u in range(7) for r in "abc"], "at least 8 units"),
        ([(r, str(u), "y" if u == 3 else "x") for u in range(40) for r in "abc"], "another label than 'x'"),
        ([(r, str(u), "xy"[u % 2]) for u in range(40) for r in "abc"], "do not vary"),
    ],
)
def test_no_interval_says_why(rows, why):
    found = conger_kappa(Ratings.from_rows(rows), intervals=True)
    assert found.defined
    assert np.isnan(found.low)
    assert found.interval.startswith("none: ")
    assert why in found.interval


def test_many_raters_and_numbers_take_little_memory():
    rng = np.random.default_rng(3)
    units, raters = 4_000, 300
    table = Ratings(
        tuple(f"r{r:03}" for r in range(raters)), tuple(f"{u:06}" for u in range(units)), tuple(map(str, range(1_001))),
        rng.permuted(np.tile(np.arange(raters, dtype=np.int32), (units, 1)), axis=1)[:, :3].ravel(),
        np.arange(units, dtype=np.int32).repeat(3), rng.integers(0, 1_001, units * 3).astype(np.int32), level="interval",
    )  # fmt: skip
    table.grouped  # noqa: B018 -- made before memory is measured
    tracemalloc.start()
    try:
        conger_kappa(table, weights="linear", intervals=True)
        assert tracemalloc.get_traced_memory()[1] < 150 * 2**20
    finally:
        tracemalloc.stop()


def test_every_format_has_it_beside_the_mean_of_pairs():
    table = CROWDS["3 of 8 raters"].draw(np.random.default_rng(1))
    found = summarize(table, rng=np.random.default_rng(0), replicates=100)
    value = found.everyone.further["conger_kappa"]
    text = as_text(found)
    (line,) = (line.split() for line in text.splitlines() if line.startswith("Conger's kappa"))
    assert line[2:5] == [f"{number:.4f}" for number in (value.value, value.low, value.high)]
    assert text.index("Cohen's kappa, weighted by units") < text.index("Conger's kappa  ")
    assert json.loads(as_json(found))["conger_kappa"]["low"] == value.low
    (row,) = (row for row in csv.DictReader(io.StringIO(as_csv(found))) if row["statistic"] == "conger_kappa")
    assert float(row["high"]) == value.high


def test_ordered_labels_have_the_weighted_ones_and_people_their_own():
    rows = [(r, str(u), str((u + (r > "b") * (u % 5 == 0)) % 4)) for u in range(30) for r in "abcd"]
    table = Ratings.from_rows(rows, labels=list("0123"), level="ordinal", simulators=["d"])
    found = summarize(table)
    assert {"conger_kappa", "conger_kappa_linear", "conger_kappa_quadratic"} <= set(found.everyone.further)
    people = conger_kappa(table.people(), weights="quadratic").value
    assert found.people is not None
    assert found.people.further["conger_kappa_quadratic"].value == people
    assert "people: Conger's kappa, quadratic" in as_text(found)
    report = agreement_of(table, min_overlap=10, replicates=0, rng=None)
    assert report.conger is not None
    assert report.conger.value == people


def test_raters_without_names_have_none():
    table = CROWDS["3 of 8 raters"].draw(np.random.default_rng(1))
    found = summarize(table, named=False)
    assert not [name for name in found.everyone.further if name.startswith("conger")]
    assert "Conger" not in as_text(found)
