"""Write numbers, intervals and counts in the same way on pages, in exports and in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from annotator.core.words import listed as listed
from annotator.core.words import plural
from evaluation.core.counted import counted
from evaluation.core.estimate import NOT_ASKED, Estimate

MINUS = "−"
#: A finding on fewer cases than this isn't repeated in a summary.
LEAST_CASES = 8

#: A count and its noun: ``count(2, "study", "studies")``.
count = plural

#: The unit of a difference of percentages.
POINTS = " percentage points"
#: Why a study without judgments has nothing to show.
NOBODY = "Nobody has judged yet."


def number(value: float | None, shape: str = "number") -> str:
    """A number written in its shape; empty for nan or None.

    >>> number(0.5042), number(0.7731, "percent"), number(12345.0, "count"), number(0.0004, "p"), number(1.5, "money")
    ('0.504', '77.3', '12,345', '< .001', '1.50')
    """
    if value is None or math.isnan(value):
        return ""
    if shape == "money":
        return _minus(f"{value:,.2f}")
    if shape == "count":
        return f"{value:,.0f}".replace("-", MINUS)
    if shape == "percent":
        return _minus(f"{100 * value:.1f}")
    if shape == "p":
        return "< .001" if value < 0.001 else f"{value:.3f}".lstrip("0") if value < 1 else "1"
    return _minus(f"{value:.3f}")


def _minus(text: str) -> str:
    if text.startswith("-"):
        return MINUS + text[1:] if any(ch not in "-0." for ch in text) else text[1:]
    return text


def interval(low: float | None, high: float | None, shape: str = "number") -> str:
    """The interval in brackets; empty if there is none.

    >>> interval(0.41, 0.62)
    '[0.410, 0.620]'
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    return f"[{number(low, shape)}, {number(high, shape)}]"


def cell(data: Mapping[str, Any]) -> str:
    """A stored cell in one line of text.

    >>> cell({"kind": "number", "shape": "number", "value": None, "reason": "one rater"})
    'not defined: one rater'
    """
    if data["kind"] == "text":
        return str(data["text"])
    if data["value"] is None:
        return f"not defined: {data['reason']}"
    shape = data["shape"]
    ends = interval(data.get("low"), data.get("high"), shape) or (
        "(no interval)" if no_interval(data) else ""
    )
    return " ".join(filter(None, [number(data["value"], shape), ends]))


def estimate(found: Estimate, shape: str = "number", unit: str = "") -> str:
    """An estimate inside a sentence: value, unit, interval; or "not defined" with the reason.

    >>> estimate(Estimate(0.5, 0.4, 0.6, n=10))
    '0.500 [0.400, 0.600]'
    >>> estimate(Estimate(0.2, 0.1, 0.3, n=10), "percent", POINTS)
    '20.0 percentage points [10.0, 30.0]'
    """
    if not found.defined:
        return f"not defined ({found.reason})"
    text = number(found.value, shape) + (unit or (" %" if shape == "percent" else ""))
    return " ".join(filter(None, [text, interval(found.low, found.high, shape)]))


def stated(found: Estimate, of: str | tuple[str, str], shape: str = "number", unit: str = "") -> str:
    """An estimate inside a sentence with what it is based on: value, interval, n, and why there is no interval. ``of`` is the
    noun of what n counts, or its singular and plural; of pairs, it says how many there are in all.

    >>> stated(Estimate(0.5, 0.4, 0.6, n=10), "pair")
    '0.500 [0.400, 0.600] (n = 10 pairs)'
    >>> stated(Estimate(0.5, n=1, interval="none: at least 8 items are needed, found 3"), "pair", "percent")
    '50.0 % (n = 1 pair; no interval: at least 8 items are needed, found 3)'
    """
    if not found.defined:
        return f"not defined ({found.reason})"
    why = no_interval(found.to_dict())
    noun = (of,) if isinstance(of, str) else of
    pairs = sum(n for why, n in found.left_out.items() if why.startswith("pairs ")) if of == "pair" else 0
    basis = f"n = {found.n:,} of {count(found.n + pairs, *noun)}" if pairs else f"n = {count(found.n, *noun)}"
    basis += f"; no interval: {why}" if why else ""
    return f"{estimate(found, shape, unit)} ({basis})"


def no_interval(data: Mapping[str, Any]) -> str:
    """Why a value, as a stored cell has it, has no interval; empty if it has one, needs none or no reason is known.

    >>> no_interval(Estimate(0.5, n=10, interval="none: the units do not vary").to_dict())
    'the units do not vary'
    """
    how = str(data.get("interval") or "")
    if data.get("value") is None or data.get("low") is not None or how == NOT_ASKED:
        return ""
    return how.removeprefix("none: ") if how.startswith("none: ") else ""


class CountedSentence(str):
    """A sentence on figures that are based on this many ``cases``, counted as what intervals draw or less."""

    cases: int

    def __new__(cls, text: str, cases: int) -> CountedSentence:
        found = super().__new__(cls, text)
        found.cases = cases
        return found


def enough_cases(sentence: str) -> bool:
    """Whether a sentence states no finding, or one on enough cases to be repeated in a summary."""
    return not isinstance(sentence, CountedSentence) or sentence.cases >= LEAST_CASES


def left_out(counts: Mapping[str, int]) -> str:
    """What was left out, in one clause; empty if nothing was.

    >>> left_out({"cannot guess": 3, "not rated": 1})
    '3 cannot guess, 1 not rated'
    """
    return ", ".join(counted(n, reason) for reason, n in counts.items() if n)
