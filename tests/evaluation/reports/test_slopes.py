"""The figure of slopes: intervals beside each other, and labels that don't cover each other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from evaluation.reports.plots import _LINE_OF_TEXT, _labels_apart, _slope_ends, draw


def data(values: list[float]) -> dict[str, Any]:
    def end(value: float) -> dict[str, float]:
        return {"value": value, "low": value - 0.1, "high": value + 0.1}

    points = [
        {"label": f"s{n}", "group": "People", "first": end(value), "second": end(value + 0.2)}
        for n, value in enumerate(values)
    ]
    return {"first": "without", "second": "with it", "y": "Right, %", "points": points}


@pytest.mark.parametrize("number", [1, 2, 4, 12])
def test_no_two_intervals_are_at_one_place_and_no_label_covers_another(number: int) -> None:
    ends = _slope_ends(data([0.3 + n * 0.001 for n in range(number)]))
    _labels_apart(ends, 4.0)
    for side in (0, 1):
        own = [end for end in ends if end["end"] == side]
        assert len({end["at"] for end in own}) == number
        assert all(abs(end["at"] - side) <= 0.16 for end in own)
        places = sorted(end["place"] for end in own)
        assert all(b - a >= 4.0 - 1e-9 for a, b in pairwise(places))
        assert {end["beside"] for end in own} == {(max if side else min)(end["at"] for end in own)}
    assert next(end["label"] for end in ends if end["end"] == 1) == "s0 50.0"


def test_labels_with_room_stay_where_they_are() -> None:
    ends = _slope_ends(data([0.1, 0.5]))
    _labels_apart(ends, 100 * _LINE_OF_TEXT)
    assert all(end["place"] == end["value"] for end in ends)


def test_lines_without_both_values_are_left_out_and_the_figure_is_drawn() -> None:
    drawn = data([0.2, 0.4])
    drawn["points"][0]["second"] = {"value": None, "low": None, "high": None}
    drawn["points"][1]["second"] |= {"low": None, "high": None}
    assert [end["line"] for end in _slope_ends(drawn)] == ["People 0", "People 0"]
    picture = draw({"form": "slopes", "data": drawn, "title": "T", "alt": "T"})
    assert "with it" in picture.light
    assert "s1 60.0" in picture.dark
