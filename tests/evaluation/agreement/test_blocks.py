"""Statistics that take a table block by block give what they give of the whole table."""

import numpy as np
import pytest

from evaluation.agreement import comparison
from evaluation.agreement import counts as counts_module
from evaluation.agreement import raters as raters_module
from evaluation.agreement.counts import count_units
from evaluation.agreement.raters import agreement_with_rest
from evaluation.core import ratings_table
from evaluation.core.ratings_table import Ratings, sorted_together
from evaluation.metrics.resample import _renumbered


@pytest.fixture
def table() -> Ratings:
    """Ratings by people and a simulator, with units that one rater, or nobody but the simulator, has rated."""
    rng = np.random.default_rng(11)
    rows = [
        (rater, f"u{unit:02}", "abc"[rng.integers(3)])
        for unit in range(40)
        for rater in rng.choice(["p", "q", "r", "bot"], size=rng.integers(1, 5), replace=False).tolist()
    ]
    return Ratings.from_rows(rows, simulators=["bot"])


@pytest.mark.parametrize("rest", ["all", "people"])
def test_agreement_with_the_rest(table, rest, monkeypatch):
    whole = agreement_with_rest(table, rest=rest)
    for block in (1, 7, 30):
        monkeypatch.setattr(raters_module, "_BLOCK", block)
        found = agreement_with_rest(table, rest=rest)
        assert found.n.tolist() == whole.n.tolist()
        assert found.agreement.tolist() == whole.agreement.tolist()  # to the last digit
        assert found.kappa == pytest.approx(whole.kappa, rel=1e-12)


def test_agreement_with_the_rest_is_that_of_its_definition(table):
    labels = {
        (table.raters[r], table.units[u]): v
        for r, u, v in zip(table.rater, table.unit, table.value, strict=True)
    }
    found = agreement_with_rest(table)
    for code, rater in enumerate(table.raters):
        shares = []
        for (who, unit), label in labels.items():
            others = [v for (other, u), v in labels.items() if u == unit and other != rater]
            if who == rater and others:
                shares.append(sum(v == label for v in others) / len(others))
        assert found.n[code] == len(shares)
        assert found.agreement[code] == pytest.approx(np.mean(shares))


def test_counts_of_labels(table, monkeypatch):
    whole = count_units(table)
    for block in (1, 3, 39):
        monkeypatch.setattr(counts_module, "BLOCK_UNITS", block)
        found = count_units(table)
        for name in ("unit", "label", "count", "sizes"):
            assert getattr(found, name).tolist() == getattr(whole, name).tolist()


def test_columns_are_sorted_together_in_pieces(monkeypatch):
    monkeypatch.setattr(ratings_table, "_PIECE", 4)
    rng = np.random.default_rng(5)
    pairs = rng.permutation(50)
    first, second = (pairs // 10).astype(np.int32), (pairs % 10).astype(np.int32)
    third = rng.integers(0, 3, 50).astype(np.int32)
    order = np.lexsort((second, first))
    found = sorted_together(first, second, third)
    for column, wanted in zip(found, (first, second, third), strict=True):
        assert column.tolist() == wanted[order].tolist()
    assert all(one is two for one, two in zip(sorted_together(*found), found, strict=True))


@pytest.mark.parametrize("codes", [[0, 1, 1, 2], [3, 9, 3], [-1, 5, 5], [10**9, 0, 7], [4]])
def test_numbers_of_codes_are_those_of_unique(codes):
    names, wanted = np.unique(codes, return_inverse=True)
    size, found = _renumbered(np.array(codes))
    assert (size, found.tolist()) == (len(names), wanted.tolist())


@pytest.mark.parametrize(("clusters", "ways"), [(30, 700), (900, 700), (5, 32)])
def test_ways_to_swap_are_those_of_one_look_up_after_the_other(clusters, ways, monkeypatch):
    monkeypatch.setattr(comparison, "_LOOKED_UP", 250)
    monkeypatch.setattr(comparison, "_NEAR", 3)
    moved = np.random.default_rng(2).random((clusters, 2)) * [1.0, 0.0]
    alone = list(comparison._shifts(moved, ways, np.random.default_rng(4)))
    monkeypatch.setattr(comparison, "_TOGETHER", 1)
    found = list(comparison._shifts(moved, ways, np.random.default_rng(4)))
    assert np.concatenate(alone).tolist() == np.concatenate(found).tolist()
    groups = -(-clusters // 8)
    drawn, step = np.random.default_rng(4), max(1, 250 // groups)
    rows = [min(step, ways - start) for start in range(0, ways, step)]
    swapped = np.concatenate(
        [np.frombuffer(drawn.bytes(n * groups), np.uint8).reshape(n, groups) for n in rows]
    )
    wanted = np.unpackbits(swapped, axis=1)[:, :clusters].astype(float) @ moved
    assert np.concatenate(found) == pytest.approx(wanted)
