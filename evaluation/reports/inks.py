"""The colours of figures, in light and in dark: shades of one ink, and numbers that are readable on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Ink:
    """A theme's colours, the same as in the style sheet's tokens."""

    paper: str
    ink: str
    quiet: str
    line: str
    mark: str
    wash: tuple[str, ...]


INKS: dict[Theme, Ink] = {
    "light": Ink("#fdfcf9", "#1b1d22", "#61636a", "#dad5c9", "#1b1d22", ("#efece4", "#b3ac9b", "#35332e")),
    "dark": Ink("#1f1e1b", "#e9e4d9", "#a39d90", "#383530", "#e9e4d9", ("#2a2824", "#756f63", "#e3ddd0")),
}


def filled(ink: Ink, value: float | None, low: float, high: float) -> dict[str, str]:
    """A cell's colour, and a colour for its number with enough contrast."""
    if value is None or high <= low:
        return {"fill": ink.paper, "text": ink.quiet}
    fill = _mix(ink.wash, min(max((value - low) / (high - low), 0.0), 1.0))
    return {"fill": fill, "text": readable(ink, fill)}


def readable(ink: Ink, fill: str) -> str:
    """Ink or paper, whichever has the higher contrast (WCAG) with the fill."""
    return max((ink.ink, ink.paper), key=lambda colour: _contrast(colour, fill))


def _contrast(one: str, two: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _rgb(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def shades(ink: Ink, size: int) -> list[str]:
    """Shades from the lightest to the darkest wash, evenly."""
    if size <= 1:
        return [ink.wash[1]]
    return [_mix(ink.wash, step / (size - 1)) for step in range(size)]


def _mix(stops: tuple[str, ...], at: float) -> str:
    place = at * (len(stops) - 1)
    left = min(int(place), len(stops) - 2)
    share = place - left
    pairs = zip(_rgb(stops[left]), _rgb(stops[left + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
