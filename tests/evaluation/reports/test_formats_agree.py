"""One figure is the same in every format of a report, and in the ``agreement`` command, whatever the design and the names."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.core.csv_cells import cell_restored
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from evaluation.core.estimate import Estimate, undefined
from evaluation.reports import words
from evaluation.reports.content import Cell, Document, Section, Table, TableColumn, TableRow
from evaluation.reports.exports import FORMATS, export
from evaluation.reports.exports.tex_characters import escape
from evaluation.reports.pages import page_of
from tests.evaluation.reports.studies import computed
from tests.factories import make_study

JSON = dict[str, Any]
TEXTS = st.text(
    st.sampled_from([*"ab=+-@'\"\\,;\n\t&%_#{}[]*$~^<>|/ ", "ש", "🦉", "é", "\u200b", "\u202e"]),
    min_size=1, max_size=12,
)  # fmt: skip
NUMBERS = st.floats(-10, 10, allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, 0.0005, 1e-9, 12345.678])


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    left_out = draw(st.dictionaries(TEXTS, st.integers(1, 9_999), max_size=2))
    n = draw(st.integers(0, 2_000_000))
    if draw(st.booleans()):
        return undefined(draw(TEXTS), n=n, left_out=left_out)
    value = draw(NUMBERS)
    if draw(st.booleans()):
        return Estimate(value, n=n, left_out=left_out)
    low, high = value - draw(st.floats(0, 3)), value + draw(st.floats(0, 3))
    return Estimate(value, low, high, n=n, left_out=left_out, interval=draw(TEXTS))


@st.composite
def documents(draw: st.DrawFn) -> JSON:
    columns = [TableColumn(draw(TEXTS), draw(st.just("") | TEXTS)) for _ in range(draw(st.integers(1, 3)))]
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        shapes = [draw(st.sampled_from(["number", "percent", "count", "p", "money"])) for _ in columns]
        cells = [Cell.of(draw(estimates()), shape=shape, rule=draw(TEXTS)) for shape in shapes]
        rows.append(TableRow([draw(TEXTS)], cells, group=draw(st.just("") | TEXTS)))
    table = Table(id="t", title=draw(TEXTS), head=[draw(TEXTS)], columns=columns, rows=rows)
    section = Section(id="s", title=draw(TEXTS), blocks=[table], notes=[draw(TEXTS)])
    return Document(title=draw(TEXTS), sections=[section], warnings=[draw(TEXTS)]).to_json()


def numbers_of(content: JSON) -> list[JSON]:
    """The cells of numbers, in the order of the tables."""
    return [
        cell
        for section in content["sections"]
        for block in section["blocks"]
        for row in block.get("rows", ())
        for cell in row["cells"]
        if cell["kind"] == "number"
    ]


def check_formats(content: JSON) -> None:
    """Every number, its interval, n, exclusions and reason are the same in all formats."""
    cells = numbers_of(content)
    written = {name: export(content, {}, name) for name in FORMATS}
    assert [
        {key: cell[key] for key in ("value", "low", "high", "n", "left_out", "reason")} for cell in cells
    ] == [
        {key: cell[key] for key in ("value", "low", "high", "n", "left_out", "reason")}
        for cell in numbers_of(json.loads(written["json"]))
    ]
    lines = [line for line in csv.DictReader(io.StringIO(written["csv"], newline="")) if line["n"]]
    assert len(lines) == len(cells)
    for line, cell in zip(lines, cells, strict=True):
        assert [line[key] for key in ("value", "low", "high")] == [
            "" if cell[key] is None else str(cell[key]) for key in ("value", "low", "high")
        ]
        assert line["n"] == str(cell["n"])
        assert cell_restored(line["reason"]) == cell["reason"]
        assert cell_restored(line["left_out"]) == words.left_out(cell["left_out"])
    page = [
        cell
        for section in page_of(content, lambda name: "").sections
        for block in section.blocks
        for row in getattr(block, "rows", ())
        for cell in row.cells
    ]
    shown = [cell for cell in page if cell.detail or cell.interval or cell.reason]
    plain = " ".join(written["text"].split())
    for cell in cells:
        if cell["value"] is None:
            assert escape(cell["reason"]) in written["latex"]
            continue
        number = words.number(cell["value"], cell["shape"])
        between = words.interval(cell["low"], cell["high"], cell["shape"])
        assert any((one.text, one.interval) == (number, between) for one in (*page, *shown))
        assert f"{number} {between}".strip() in plain
        assert escape(number) in written["latex"]
        assert escape(between) in written["latex"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(documents())
def test_formats_agree_on_random_tables(content: JSON) -> None:
    check_formats(content)


HOSTILE = [
    "=1+1",
    'a "quoted", label',
    "two\nlines",
    "50 % & a_b#{~^}\\",
    "שלום",
    "🦉",
    "[x]",
    "very long " * 15,
]


def design(name: str) -> list[tuple[str, str, str, str]]:
    """Rows of (item, rater, label, condition)."""
    items, raters = [f"i{n}" for n in range(12)], ["ann", "bob", "cleo"]
    if name == "one rater":
        return [(item, "ann", "xy"[n % 2], "a") for n, item in enumerate(items)]
    if name == "one item":
        return [("i0", rater, "xyx"[n], "a") for n, rater in enumerate(raters)]
    if name == "all ties":
        return [(item, rater, label, "a") for item in items for rater, label in (("ann", "x"), ("bob", "y"))]
    if name == "one label":
        return [(item, rater, "x", "a") for item in items for rater in raters]
    if name == "a condition without labels":
        return [
            (item, rater, "" if n % 2 else "xyz"[n % 3], "ab"[n % 2])
            for n, item in enumerate(items)
            for rater in raters
        ]
    if name == "raters share no condition":
        return [
            (item, f"{rater} {n % 2}", "xyz"[(n + m) % 3 // 2], "ab"[n % 2])
            for n, item in enumerate(items)
            for m, rater in enumerate(raters)
        ]
    if name == "300 labels":
        return [
            (f"i{n}", rater, f"label {n - n % 7 * (rater == 'bob')}", "a")
            for n in range(300)
            for rater in ("ann", "bob")
        ]
    named = dict(zip(raters, ("=cmd|x", "c&d [1] %", "\u202eevil"), strict=True))
    return [
        (f"{item} {HOSTILE[n % 8]}", named[rater], HOSTILE[(n + m % 2) % 8], HOSTILE[n % 2])
        for n, item in enumerate(items)
        for m, rater in enumerate(raters)
    ]


DESIGNS = ["one rater", "one item", "all ties", "one label", "a condition without labels", "raters share no condition",
           "300 labels", "hostile names"]  # fmt: skip
#: Rows of a report, and what the command calls them.
STATISTICS = {
    "Krippendorff’s α": "krippendorff_alpha",
    "Gwet’s AC1": "gwet_ac1",
    "Percent agreement": "percent_agreement",
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", DESIGNS)
def test_formats_agree_on_any_design(name: str, tmp_path: Path) -> None:
    """The report of an import in all formats, by condition, each rater alone; and the command on the same file."""
    file = tmp_path / "ratings.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("item", "who", "says", "cond"), *design(name)])
    study = make_study(hit_type="external_labels", slug="design", title=f"Design {HOSTILE[3]}")
    columns = JudgmentColumns("item", (ValueColumn("says"),), "who", attributes=("cond",))
    judgments_import(study=study, file=io.BytesIO(file.read_bytes()), name="r.csv", columns=columns)
    content = computed(study, rule="per_rater", by="cond", replicates=100).content
    check_formats(content)
    said = io.StringIO()
    arguments = ["--rater", "who", "--unit", "item", "--value", "says", "--bootstrap", "100", "--seed", "1"]
    call_command("agreement", str(file), *arguments, "--format", "json", stdout=said, stderr=io.StringIO())
    command = json.loads(said.getvalue())
    tables = {block["id"]: block for section in content["sections"] for block in section["blocks"]}
    compared = 0
    for row in tables["agreement-says"]["rows"]:
        statistic = STATISTICS.get(row["head"][0].partition(",")[0])
        if statistic:
            cell, found = row["cells"][0], command[statistic]
            assert [cell[key] for key in ("value", "n", "reason")] == [
                found[key] for key in ("value", "n", "reason")
            ]
            assert [cell["low"], cell["high"]] == pytest.approx([found["low"], found["high"]])
            compared += 1
    assert compared == len(STATISTICS)
