"""Behaviour signals: what a browser measures while a person answers, and the one list of them.

`static/js/timing.js` measures them, ``stage_submit`` keeps them with the judgment, and the judgment's page, the exports
and the live page read them. A client can send anything, so a signal is a hint for researchers and never decides
anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Unit = Literal["ms", "count", "characters"]

#: The longest time, in seconds, that a browser may report for one page: it was left open for a week.
LONGEST = 7 * 24 * 3600.0
_MOST: dict[Unit, float] = {"ms": LONGEST * 1000, "count": 1e6, "characters": 1e8}


@dataclass(frozen=True)
class Signal:
    """One measurement of one page. ``old`` is its name and scale in rows that are older than this list."""

    name: str
    unit: Unit
    title: str
    meaning: str
    old: str = ""
    old_scale: float = 1


#: Every signal there is. A page that is loaded again starts from zero.
SIGNALS: tuple[Signal, ...] = (
    Signal("page_ms", "ms", "Time on the page", "from the moment the task was shown until it was sent"),
    Signal(
        "hidden_ms",
        "ms",
        "Time away",
        "the part of that time in which another tab or window was in front",
        old="away",
        old_scale=1000,
    ),
    Signal(
        "left", "count", "Left the page", "how often another tab or window came to the front", old="leaves"
    ),
    Signal("first_ms", "ms", "Until the first answer", "from the moment the task was shown"),
    Signal("changes", "count", "Answers chosen or changed", "choices and edited texts, corrections included"),
    Signal("keys", "count", "Keyboard shortcuts", "options that were chosen with a number key"),
    Signal("pastes", "count", "Pasted", "how often something was pasted into an answer", old="pastes"),
    Signal("pasted", "characters", "Pasted text", "how many characters were pasted in total"),
    Signal("drawer", "count", "Instructions opened", "how often the instructions were opened or closed"),
)
NAMES: tuple[str, ...] = tuple(signal.name for signal in SIGNALS)


def signals_clean(raw: Any) -> dict[str, int]:
    """Keep declared signals that are in range, as whole numbers; a client can send anything.

    >>> signals_clean({"page_ms": 1200.4, "left": -1, "pastes": True, "mood": 3})
    {'page_ms': 1200}
    """
    if not isinstance(raw, Mapping):
        return {}
    kept = {}
    for signal in SIGNALS:
        value = raw.get(signal.name)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 <= value <= _MOST[signal.unit]
        ):
            kept[signal.name] = round(value)
    return kept


def signals_total(pages: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add up the signals of a task's pages (its stages, in order). ``first_ms`` is that of the first page.

    >>> signals_total([{"first_ms": 900, "left": 1}, {"first_ms": 400, "left": 2}])
    {'left': 3, 'first_ms': 900}
    """
    pages = list(pages)
    total = {}
    for signal in SIGNALS:
        values = [page[signal.name] for page in pages if signal.name in page]
        if values:
            total[signal.name] = values[0] if signal.name == "first_ms" else sum(values)
    return total


def signals_read(stored: Mapping[str, Any]) -> dict[str, int]:
    """The signals of a stored judgment, under their current names even if it was stored by an earlier version.

    >>> signals_read({"stages": {"only": 3.5}, "away": 2.5, "pastes": 1})
    {'hidden_ms': 2500, 'pastes': 1}
    """
    values = {}
    for signal in SIGNALS:
        if isinstance(stored.get(signal.name), int | float):
            values[signal.name] = round(stored[signal.name])
        elif signal.old and isinstance(stored.get(signal.old), int | float):
            values[signal.name] = round(stored[signal.old] * signal.old_scale)
    return values


def signal_words(signal: Signal, value: int) -> str:
    """A value with its unit, for people.

    >>> signal_words(SIGNALS[0], 1234), signal_words(SIGNALS[2], 2)
    ('1.2 s', '2')
    """
    if signal.unit == "ms":
        return f"{value / 1000:.1f} s"
    return f"{value} characters" if signal.unit == "characters" else str(value)
