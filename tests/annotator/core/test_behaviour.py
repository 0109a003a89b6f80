"""The declared signals match the script that measures them, and old rows can still be read."""

from __future__ import annotations

import re

from annotator.core.behaviour import NAMES, SIGNALS, signals_clean, signals_read
from foretell import env


def test_the_script_measures_exactly_what_is_declared() -> None:
    script = (env.ROOT / "static/js/timing.js").read_text(encoding="utf-8")
    block = re.search(r"signals: \{(.*?)\}", script, re.DOTALL)
    assert block is not None
    assert tuple(re.findall(r"(\w+):", block.group(1))) == NAMES
    assert {name for name in re.findall(r"signals\.(\w+)", script) if name != "value"} == set(NAMES)


def test_values_out_of_range_are_dropped() -> None:
    for signal in SIGNALS:
        assert signals_clean({signal.name: 1}) == {signal.name: 1}
        for value in (-1, 1e12, float("nan"), float("inf"), "1", True, None, [1]):
            assert signals_clean({signal.name: value}) == {}
    assert signals_clean(["page_ms"]) == {}


def test_rows_older_than_the_list_can_be_read() -> None:
    assert signals_read({"stages": {"only": 1}, "visible": 9.0, "away": 1.5, "leaves": 2, "pastes": 1}) == {
        "hidden_ms": 1500,
        "left": 2,
        "pastes": 1,
    }
