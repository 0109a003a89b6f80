"""Names as codes: the same whichever way they are told apart, and when rows are taken."""

import numpy as np
import pytest

from evaluation.metrics import FollowUps, resample
from evaluation.metrics.resample import codes_of


@pytest.mark.parametrize("as_array", [False, True])
def test_long_columns_get_the_codes_of_short_ones(as_array, monkeypatch):
    rng = np.random.default_rng(3)
    words = ["", "b", "ä", "a", "B", "\U0001f426", "b "]
    names = [words[i] for i in rng.integers(0, len(words), 200)]
    given = np.array(names, dtype=object) if as_array else names
    plain = codes_of(given)
    monkeypatch.setattr(resample, "_MANY", 1)
    codes, found = codes_of(given)
    assert found == plain[1] == tuple(sorted(words))
    assert codes.tolist() == plain[0].tolist()
    assert [found[code] for code in codes] == names


def test_rows_that_are_taken_keep_their_codes():
    rng = np.random.default_rng(4)
    explanation = [f"e{n}" for n in rng.integers(0, 9, 60)]
    table = FollowUps(
        unit=[str(n) for n in range(60)],
        explanation=explanation,
        instance=[f"x{name}" for name in explanation],
        system=[f"s{int(name[1:]) % 2}" for name in explanation],
        simulated=["yes"] * 60,
        real=["no"] * 60,
    )
    for rows in (np.arange(60) % 3 == 0, np.array([5, 2, 9]), np.ones(60, dtype=bool)):
        for name in ("explanation", "instance", "system"):
            table.codes(name)
            codes, names = table.take(rows).codes(name)
            fresh_codes, fresh_names = codes_of(list(getattr(table, name)[rows]))
            assert (codes.tolist(), names) == (fresh_codes.tolist(), fresh_names)
    changed = table.with_columns(kind=["new"] * 60)
    assert (table.codes("kind")[1], changed.codes("kind")[1]) == (("",), ("new",))
    assert table.codes("kind")[1] == ("",)
