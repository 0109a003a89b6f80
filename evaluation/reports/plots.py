"""Figures drawn with altair and turned into SVG and PNG by vl-convert, in light and in dark.

Five forms: dots with intervals, a matrix, bars of shares, a reliability diagram, and slopes between two values. Values are written beside their
marks, so that no legend is needed and colour is never the only carrier of meaning. The job that makes the report draws
the figures; the web process serves the stored files and never imports altair.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from evaluation.reports import words
from evaluation.reports.inks import INKS, Theme, filled, readable, shades

if TYPE_CHECKING:
    import altair as alt

FONT = "Liberation Sans, Helvetica Neue, Arial, sans-serif"
WIDTH = 420
ROW = 26
#: The width of the longest label, in pixels and about as many characters as it holds.
LABEL_WIDTH, MOST_LETTERS = 220, 40


@dataclass(frozen=True)
class Picture:
    """A drawn figure: SVG for both themes, PNG of the light one at twice its size."""

    light: str
    dark: str
    png: bytes


def draw(figure: Mapping[str, Any]) -> Picture:
    """Draw a stored figure (see ``content.Figure``); the same data give the same bytes.

    The last figures are remembered: a release draws its report's again, and so does a report made anew of what has not changed.
    """
    return _drawn(json.dumps(figure, sort_keys=True))


@lru_cache(maxsize=64)
def _drawn(text: str) -> Picture:
    import vl_convert
    from altair.utils.schemapi import debug_mode

    # Altair validates each part of a chart against its schema, which takes most of the time. Tests validate our charts
    # instead.
    figure = json.loads(text)
    with debug_mode(False):
        svg = {
            theme: vl_convert.vegalite_to_svg(chart(figure, theme).to_dict(validate=False)) for theme in INKS
        }
    return Picture(svg["light"], svg["dark"], vl_convert.svg_to_png(svg["light"], scale=2))


def chart(figure: Mapping[str, Any], theme: Theme) -> alt.TopLevelMixin:
    """The altair chart of a stored figure."""
    import altair as alt

    forms = {
        "intervals": _intervals, "matrix": _matrix, "bars": _bars, "reliability": _reliability, "slopes": _slopes,
    }  # fmt: skip
    drawn = forms[figure["form"]](figure["data"], theme)
    ink = INKS[theme]
    axis = {
        "labelColor": ink.ink,
        "titleColor": ink.quiet,
        "gridColor": ink.line,
        "domain": False,
        "ticks": False,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": LABEL_WIDTH,
    }
    configured: alt.TopLevelMixin = (
        drawn.configure(font=FONT, background=ink.paper, padding=_padding(figure))
        .configure_axis(**axis)
        .configure_view(stroke=None)
        .configure_header(
            labelColor=ink.quiet,
            labelFontSize=12,
            labelFontWeight="bold",
            labelAnchor="start",
            labelAngle=0,
            labelOrient="top",
            labelPadding=2,
            title=None,
        )
    )
    alt.data_transformers.disable_max_rows()
    return configured


def _padding(figure: Mapping[str, Any]) -> dict[str, int]:
    """Room around the drawing, in pixels. Texts are measured in the first of ``FONT``; a browser without it and the similar ones
    takes a wider font, by up to a pixel and a half for each character."""
    data = figure["data"]
    points = data.get("points", ()) if figure["form"] == "intervals" else ()
    labels = [*data.get("rows", ()), *(point["label"] for point in points)]
    above = data.get("columns", ())  # slanted: they end to the right of their column
    shown = [_point(0, point, 1.0, data.get("shape", "number"))["shown"] for point in points]

    def room(texts: Sequence[str]) -> int:
        return 8 + round(1.5 * min(max(map(len, texts), default=0), MOST_LETTERS))

    return {"top": room(above), "bottom": 8, "left": room(labels), "right": room([*shown, *above])}


def _intervals(data: Mapping[str, Any], theme: Theme) -> Any:
    """Dots with intervals on one scale, one row per point, with its value on the right."""
    import altair as alt

    ink, shape = INKS[theme], data.get("shape", "number")
    scale = 100.0 if shape == "percent" else 1.0
    points = [_point(number, point, scale, shape) for number, point in enumerate(data["points"])]
    domain = _domain(points, data, scale)
    x = alt.X(
        "value:Q",
        scale=alt.Scale(domain=domain, nice=False, zero=False),
        title=data["x"],
        axis=alt.Axis(tickCount=5, grid=True),
    )
    y = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(grid=False, labelPadding=8))
    base = alt.Chart().encode(y=y)
    defined = base.transform_filter("datum.value !== null")
    layers = [
        defined.mark_rule(strokeWidth=2, color=ink.mark).encode(
            x=alt.X("low:Q", title=data["x"]), x2="high:Q"
        ),
        defined.mark_point(filled=True, size=70, opacity=1, color=ink.mark).encode(x=x),
        base.mark_text(align="left", dx=8, color=ink.ink, fontSize=12).encode(
            x=alt.value(WIDTH), text="shown:N"
        ),
    ]
    if data.get("reference") is not None:
        layers.insert(
            0,
            alt.Chart()
            .mark_rule(strokeDash=[4, 3], color=ink.quiet)
            .encode(x=alt.datum(data["reference"]["value"] * scale)),
        )
    whole = alt.layer(*layers, data=alt.Data(values=points)).properties(width=WIDTH, height=alt.Step(ROW))
    if any(point["group"] for point in points):
        groups = list(dict.fromkeys(point["group"] for point in points))
        whole = whole.facet(row=alt.Row("group:N", sort=groups, title=None), spacing=14).resolve_scale(
            y="independent"
        )
    return whole


def _point(number: int, point: Mapping[str, Any], scale: float, shape: str) -> dict[str, Any]:
    def scaled(value: float | None) -> float | None:
        return None if value is None else value * scale

    value = point["value"]
    shown = words.number(value, shape) or "not defined"
    between = words.interval(point.get("low"), point.get("high"), shape)
    return {
        "label": point["label"],
        "group": point.get("group", ""),
        "value": scaled(value),
        "low": scaled(point["low"] if point.get("low") is not None else value),
        "high": scaled(point["high"] if point.get("high") is not None else value),
        "shown": f"{shown} {between}".strip(),
        "number": number,
    }


def _domain(points: list[dict[str, Any]], data: Mapping[str, Any], scale: float) -> list[float]:
    """The given domain, extended to all defined points; without defined points, the given one or 0 to 1."""
    wanted = [end * scale for end in data.get("domain") or ()]
    seen = [p[key] for p in points for key in ("value", "low", "high") if p[key] is not None]
    if data.get("reference") is not None:
        seen.append(data["reference"]["value"] * scale)
    ends = [*wanted, *seen] or [0.0, scale]
    low, high = min(ends), max(ends)
    pad = 0.0 if wanted else 0.04 * (high - low or scale)
    return [low - pad, high + pad] if high > low else [low - 0.05 * scale, high + 0.05 * scale]


def _reliability(data: Mapping[str, Any], theme: Theme) -> Any:
    """The share that is right over the mean confidence, with intervals; a dashed diagonal where both are the same."""
    import altair as alt

    ink = INKS[theme]
    points = [
        point | {"low": point.get("low") or point["value"], "high": point.get("high") or point["value"]}
        for point in data["points"]
    ]
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("confidence:Q", scale=scale, title=data["x"], axis=alt.Axis(tickCount=5, grid=True))
    y = alt.Y("value:Q", scale=scale, title=data["y"], axis=alt.Axis(tickCount=5, grid=True))
    ends = alt.Data(values=[{"confidence": 0, "value": 0}, {"confidence": 1, "value": 1}])
    diagonal = alt.Chart(ends).mark_line(strokeDash=[4, 3], color=ink.quiet).encode(x=x, y=y)
    base = alt.Chart(alt.Data(values=points))
    return alt.layer(
        diagonal,
        base.mark_rule(strokeWidth=2, color=ink.mark).encode(
            x=x, y=alt.Y("low:Q", title=data["y"]), y2="high:Q"
        ),
        base.mark_point(filled=True, size=70, opacity=1, color=ink.mark).encode(x=x, y=y),
        base.mark_text(align="left", dx=8, dy=-8, color=ink.ink, fontSize=12).encode(x=x, y=y, text="n:Q"),
    ).properties(width=WIDTH, height=WIDTH * 0.75)


def _slopes(data: Mapping[str, Any], theme: Theme) -> Any:
    """A line from each point's first value to its second, with intervals side by side; the name is written at the second."""
    import altair as alt

    ink = INKS[theme]
    ends = _slope_ends(data)
    seen = [end[name] for end in ends for name in ("value", "low", "high") if end[name] is not None] or [
        0,
        100,
    ]
    low, high = max(min(seen) - 3, 0), min(max(seen) + 3, 100)
    _labels_apart(ends, (high - low) * _LINE_OF_TEXT)
    titles = f"datum.value == 0 ? {json.dumps(data['first'])} : {json.dumps(data['second'])}"
    axis = alt.Axis(values=[0, 1], labelExpr=titles, labelAngle=0, grid=False, ticks=False)
    x = alt.X("at:Q", title=None, axis=axis, scale=alt.Scale(domain=[-0.25, 1.75], nice=False))
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    y = alt.Y("value:Q", scale=scale, title=data["y"], axis=alt.Axis(tickCount=5, grid=True))
    base, beside = alt.Chart().encode(x=x), alt.Chart().encode(x=x.copy())
    beside.encoding.x.shorthand = "beside:Q"
    shown = base.transform_filter("datum.low !== null")
    sides: tuple[tuple[int, Literal["left", "right"], int], ...] = ((0, "right", -10), (1, "left", 10))
    names = [
        beside.transform_filter(f"datum.end == {end}").mark_text(align=align, dx=dx, fontSize=12, **colour)
        .encode(y=alt.Y("place:Q", title=data["y"]), text="label:N")
        for end, align, dx in sides
        # The first is the paper behind the letters, so that no line of the grid goes through them.
        for colour in ({"stroke": ink.paper, "strokeWidth": 5, "color": ink.paper}, {"color": ink.ink})
    ]  # fmt: skip
    whole = alt.layer(
        shown.mark_rule(strokeWidth=1.5, color=ink.quiet).encode(
            y=alt.Y("low:Q", title=data["y"]), y2="high:Q"
        ),
        base.mark_line(strokeWidth=2, color=ink.mark).encode(y=y, detail="line:N"),
        *names,
        base.mark_point(filled=True, size=60, opacity=1, color=ink.mark).encode(y=y),
        data=alt.Data(values=ends),
    ).properties(width=WIDTH, height=WIDTH * 0.6)
    groups = list(dict.fromkeys(end["group"] for end in ends))
    if any(groups):
        whole = whole.facet(row=alt.Row("group:N", sort=groups, title=None), spacing=14)
    return whole


#: The height of a line of text, how far lines are moved apart, and how far all of them together, as shares of the plot.
_LINE_OF_TEXT, _APART, _FAR = 0.06, 0.025, 0.3


def _slope_ends(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Both ends of each line that has both values, in percent; the lines of a group are next to each other, not on top."""
    drawn = [
        point
        for point in data["points"]
        if point["first"]["value"] is not None and point["second"]["value"] is not None
    ]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for point in drawn:
        groups.setdefault(point.get("group", ""), []).append(point)
    ends = []
    for group, points in groups.items():
        middle, apart = (len(points) - 1) / 2, min(_APART, _FAR / len(points))
        for number, point in enumerate(points):
            for end, side in enumerate(("first", "second")):
                found, written = point[side], words.number(point[side]["value"], "percent")
                shown = {
                    name: None if found[name] is None else 100 * found[name]
                    for name in ("value", "low", "high")
                }
                ends.append(
                    {"label": f"{point['label']} {written}" if end else written, "line": f"{group} {number}", "group": group,
                     "end": end, "at": end + (number - middle) * apart, "beside": end + (middle if end else -middle) * apart,
                     "place": shown["value"], **shown}
                )  # fmt: skip
    return ends


def _labels_apart(ends: list[dict[str, Any]], least: float) -> None:
    """Move labels of one group and side up where they would be closer than ``least`` to the one below."""
    for side in {(end["group"], end["end"]) for end in ends}:
        own = sorted(
            (end for end in ends if (end["group"], end["end"]) == side), key=lambda end: float(end["value"])
        )
        for before, end in pairwise(own):
            end["place"] = max(end["place"], before["place"] + least)


def _matrix(data: Mapping[str, Any], theme: Theme) -> Any:
    """A square of values: the darker, the larger; each value is written in its cell."""
    import altair as alt

    ink, shape = INKS[theme], data.get("shape", "number")
    low, high = data.get("domain") or (0.0, 1.0)
    cells = [
        {"row": row, "column": column, "shown": words.number(value, shape) or "–"}
        | filled(ink, value, low, high)
        for row, values in zip(data["rows"], data["values"], strict=True)
        for column, value in zip(data["columns"], values, strict=True)
        if not (value is None and row == column)
    ]
    side = 46 if len(data["columns"]) <= 14 else 36
    base = alt.Chart(alt.Data(values=cells)).encode(
        x=alt.X(
            "column:N",
            sort=list(data["columns"]),
            title=None,
            axis=alt.Axis(orient="top", labelAngle=-40, labelAlign="left", grid=False),
        ),
        y=alt.Y("row:N", sort=list(data["rows"]), title=None, axis=alt.Axis(grid=False)),
    )
    squares = base.mark_rect(stroke=ink.paper, strokeWidth=2).encode(color=alt.Color("fill:N", scale=None))
    numbers = base.mark_text(fontSize=11 if side > 40 else 9.5).encode(
        text="shown:N", color=alt.Color("text:N", scale=None)
    )
    return (squares + numbers).properties(width=alt.Step(side), height=alt.Step(min(side, 32)))


def _bars(data: Mapping[str, Any], theme: Theme) -> Any:
    """Shares of a whole, one bar per row, with the share written inside its part if it fits."""
    import altair as alt

    ink = INKS[theme]
    parts = list(data["parts"])
    fills = shades(ink, len(parts))
    cells = []
    for row, values in zip(data["rows"], data["values"], strict=True):
        start = 0.0
        for part, value, fill in zip(parts, values, fills, strict=True):
            share = 100 * (value or 0.0)
            wide = share > 6 + 1.6 * len(part)
            cells.append(
                {
                    "row": row,
                    "start": start,
                    "end": start + share,
                    "middle": start + share / 2,
                    "shown": f"{part} {share:.0f}" if wide else f"{share:.0f}" if share >= 5 else "",
                    "fill": fill,
                    "text": readable(ink, fill),
                }
            )
            start += share
    base = alt.Chart(alt.Data(values=cells)).encode(
        y=alt.Y("row:N", sort=list(data["rows"]), title=None, axis=alt.Axis(grid=False, labelPadding=8))
    )
    bars = base.mark_bar(stroke=ink.paper, strokeWidth=1, height=ROW - 6).encode(
        x=alt.X("start:Q", title=data["x"], scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5)),
        x2="end:Q",
        color=alt.Color("fill:N", scale=None),
    )
    texts = base.mark_text(fontSize=11).encode(
        x="middle:Q", text="shown:N", color=alt.Color("text:N", scale=None)
    )
    return (bars + texts).properties(width=WIDTH, height=alt.Step(ROW + 4))
