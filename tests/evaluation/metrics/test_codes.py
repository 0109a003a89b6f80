"""Codes of names, and what a part of a table or a table with other columns shares with the whole."""

from dataclasses import fields, replace

import numpy as np
import pytest

from evaluation.metrics import FollowUps, resample
from evaluation.metrics.masks import Masks
from evaluation.metrics.resample import codes_of
from tests.evaluation.metrics.factories import random_followups


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


MASKS = [one.name for one in fields(Masks)]


def masks(table: FollowUps) -> dict[str, list[bool]]:
    return {name: getattr(table, name).tolist() for name in MASKS}


@pytest.mark.parametrize("other", [{}, {"ties_wrong": True}, {"refusals_left_out": True}])
def test_a_part_has_the_masks_of_its_own_columns(other):
    whole = random_followups(np.random.default_rng(5))
    real = ["refusal" if n % 7 == 3 else value for n, value in enumerate(whole.real)]
    whole = replace(whole.with_columns(real=real, missing=["raters tie"] * len(whole)), **other)
    part = whole.take(np.arange(1, len(whole)))
    columns = {name: getattr(part, name) for name in ("unit", "explanation", "instance", "system")}
    fresh = FollowUps(
        **columns, simulated=part.simulated, real=part.real, missing=part.missing, abstain=part.abstain, **other
    )  # fmt: skip
    assert masks(part) == masks(fresh)
    assert sum(map(any, masks(part).values())) == len(MASKS), "a mask without a single row tests nothing"


def test_a_part_with_other_labels_has_the_masks_of_those_labels():
    part = random_followups(np.random.default_rng(6)).take(np.arange(0, 40, 2))
    assert not part.labelled.all()
    changed = part.with_columns(simulated=["yes"] * len(part), real=["yes"] * len(part))
    assert changed.labelled.all()
    assert changed.right.all()
    assert replace(changed, abstain={"yes"}).simulatable.sum() == 0
