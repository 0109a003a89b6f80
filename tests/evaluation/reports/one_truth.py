"""Every figure that two places of a report share, read from both: a figure has one value, one interval and one denominator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from evaluation.reports import words
from tests.evaluation.reports.studies import cells_of, table_of

STATED = re.compile(
    r"(?P<value>−?\d+\.\d+)(?P<percent> (%|percentage points))?( bits)?(?P<interval> \[[^\]]+\])? \(n = (?P<n>[\d,]+)[^;)]*(; no interval: (?P<why>[^()]+))?\)"
)
#: What has decimals and is no figure: the name and address of a scripted model, and what the labels of a scale count.
MODEL = re.compile(r"scripted\?\S*( at [\d.:]+)?|\([\w ]+ \d[\d.]*(, [\w ]+ \d[\d.]*)+\)")
#: Any figure with decimals, but those of an interval and settings of a test.
FIGURE = re.compile(r"(?<![\d.\[])(?<!ε = )−?\d+\.\d+(?! ?[\d\]])")

Content = dict[str, Any]
Cell = dict[str, Any]
#: What a figure is: its measure, whose labels, of what, on which basis.
Identity = tuple[str, ...]
#: A figure at a place.
Found = tuple[Identity, Cell]


def rows_of(content: Content, name: str) -> Iterator[tuple[str, list[str], dict[str, Cell]]]:
    """Each row's group, head, and cells by the label of their column."""
    table = table_of(content, name)
    for row in table["rows"]:
        labels = [" ".join(filter(None, [c["group"], c["label"]])) for c in table["columns"]]
        yield row["group"], row["head"], dict(zip(labels, row["cells"], strict=True))


def _details(content: Content) -> Iterator[Found]:
    for judge, (system,), cells in rows_of(content, "p1-table-4-details"):
        yield ("precision", judge, system, "common"), cells["Macro precision Common instances"]
        yield ("precision", judge, system, "all"), cells["Macro precision All instances"]
        yield ("simulatable", judge, system), cells["Simulatable"]


def _table4(content: Content) -> Iterator[Found]:
    """Its columns are the systems in the order of the details' rows."""
    systems: dict[str, list[str]] = {}
    for judge, (system,), _ in rows_of(content, "p1-table-4-details"):
        systems.setdefault(judge, []).append(system)
    for row in table_of(content, "p1-table-4")["rows"]:
        for system, cell in zip(systems[row["head"][1]], row["cells"], strict=False):
            yield ("precision", row["head"][1], system, "common"), cell


def _first_judge(content: Content) -> str:
    return str(table_of(content, "p1-table-4")["rows"][0]["head"][1])


def _table6(content: Content) -> Iterator[Found]:
    for _, (_, system), cells in rows_of(content, "p1-table-6"):
        if system != "Mean over systems":
            yield ("precision", _first_judge(content), system, "common"), cells["Simulation precision"]


def _systems_compared(content: Content) -> Iterator[Found]:
    for _, (first, second), cells in rows_of(content, "systems-compared"):
        yield ("precision", _first_judge(content), first, "common"), cells["First"]
        yield ("precision", _first_judge(content), second, "common"), cells["Second"]


def _mixed(content: Content) -> Iterator[Found]:
    """The mix of several generators, or the only generator, is what systems are compared on."""
    found = [(head[1], cells) for _, head, cells in rows_of(content, "p1-table-1")]
    explained = [pair for pair in found if "baseline" not in pair[0]]
    name, cells = explained[-1]
    if len(explained) == 1 or name.startswith("mixed: "):
        yield ("simulatable", _first_judge(content), "All systems"), cells["Simulatable"]


def _plausibility(name: str, column: str) -> Callable[[Content], Iterator[Found]]:
    def read(content: Content) -> Iterator[Found]:
        for group, head, cells in rows_of(content, name):
            if group in ("", "By system") and head != ["All"]:
                yield ("plausibility", head[0]), cells[column]

    return read


def _kappa(content: Content) -> Iterator[Found]:
    for _, head, cells in rows_of(content, "p1-table-3"):
        yield ("mean kappa", head[-1]), next(iter(cells.values()))


def _agreement(content: Content) -> Iterator[Found]:
    table = table_of(content, "agreement-simulation")
    row = next(row for row in table["rows"] if row["head"][0].startswith("Cohen’s κ, "))
    for column, cell in zip(table["columns"], row["cells"], strict=True):
        if column["label"] == "Value":
            yield ("mean kappa", column["group"]), cell


def _p2_methods(content: Content) -> Iterator[Found]:
    for _, (_, method), cells in rows_of(content, "p2-table-1"):
        for measure in ("Generality", "Precision"):
            yield (measure, method), cells[measure]


def _p2_models(content: Content) -> Iterator[Found]:
    """With one model, a method is one system."""
    found = list(rows_of(content, "p2-table-3"))
    if len({head[1] for _, head, _ in found}) == 1:
        for label, cell in found[0][2].items():
            for measure in ("Generality", "Precision"):
                if label.endswith(f" {measure}"):
                    yield (measure, label.removesuffix(f" {measure}")), cell


def _buckets(content: Content) -> Iterator[Found]:
    for (row, _), cell in cells_of(content, "p2-table-5").items():
        if row in ("1.00", "Total"):
            yield (row,), {"value": cell["value"]}


def _growth(content: Content) -> Iterator[Found]:
    """The last column that is filled has all follow-ups."""
    for _, head, cells in rows_of(content, "p2-table-6"):
        filled = [cell for cell in cells.values() if cell["kind"] == "number"]
        name = {"Simulatable follow-ups": "1.00", "All follow-ups": "Total"}.get(head[1])
        if name:
            yield (name,), {"value": filled[-1]["value"]}


def _classes(content: Content) -> Iterator[Found]:
    for _, (_, name), cells in rows_of(content, "p3-table-3"):
        for column, cell in cells.items():
            if column.endswith(" %"):
                yield ("share", name, column.removesuffix(" %")), cell


def _trained(content: Content) -> Iterator[Found]:
    names = {"% Useful": "Useful", "% Not useful": "Not useful", "% Unsure": "Unsure"}
    for _, (_, measure), cells in rows_of(content, "p3-table-7"):
        for system, cell in cells.items():
            if measure in names:
                yield ("share", names[measure], system), cell
            elif measure == "Task accuracy":
                yield ("task accuracy", system), cell


def _accuracy(content: Content) -> Iterator[Found]:
    for _, _, cells in rows_of(content, "p3-table-2"):
        for system, cell in cells.items():
            yield ("task accuracy", system), cell


def _table4_u(content: Content) -> Iterator[Found]:
    for _, (_, measure), cells in rows_of(content, "p3-table-4"):
        yield ("overall", measure), cells["Correlation Overall"]


def _table6_u(content: Content) -> Iterator[Found]:
    ((_, _, cells),) = rows_of(content, "p3-table-6")
    for measure in ("Task accuracy", "BERTScore"):
        yield ("overall", measure), cells[measure]


def _questions(content: Content) -> Iterator[Found]:
    for _, (kind, system), cells in rows_of(content, "p3-table-20"):
        for label, cell in cells.items():
            yield ("after", kind, system, label.removeprefix("Generalization accuracy ").lower()), cell


def _question_details(content: Content) -> Iterator[Found]:
    for kind, (system, name), cells in rows_of(content, "p3-table-20-details"):
        yield ("after", kind, system, name), cells["After"]


def _alpha_of_answers(content: Content) -> Iterator[Found]:
    for _, (name,), cells in rows_of(content, "p3-table-18"):
        yield ("alpha", "before" if name.startswith("Before") else "after"), cells["All"]


def _alpha_of(*variables: str) -> Callable[[Content], Iterator[Found]]:
    def read(content: Content) -> Iterator[Found]:
        for variable in variables:
            table = table_of(content, f"agreement-{variable}")
            rows = [row for row in table["rows"] if row["head"][0].startswith("Krippendorff’s α")]
            # Two studies can share a table; P3's first is the study of utility.
            yield ("alpha", variable), rows[0]["cells"][0]

    return read


PROPERTIES = ("grammaticality", "validity", "association", "contrast", "leakage", "novelty", "conciseness", "coherence")  # fmt: skip


def _alpha_of_properties(content: Content) -> Iterator[Found]:
    for _, (system,), cells in rows_of(content, "p3-table-13"):
        if system == "All":
            for name, cell in cells.items():
                if name != "Average":
                    yield ("alpha", name.lower()), cell


#: Tables that have the same figures, each with how they are read.
PLACES: list[dict[str, Callable[[Content], Iterator[Found]]]] = [
    {
        "p1-table-4-details": _details,
        "p1-table-4": _table4,
        "p1-table-6": _table6,
        "systems-compared": _systems_compared,
        "p1-table-1": _mixed,
    },
    {
        "p1-plausibility": _plausibility("p1-plausibility", "Plausibility"),
        "means-plausibility": _plausibility("means-plausibility", "Mean"),
    },
    {"p1-table-3": _kappa, "agreement-simulation": _agreement},
    {"p2-table-1": _p2_methods, "p2-table-3": _p2_models},
    {"p2-table-5": _buckets, "p2-table-6": _growth},
    {"p3-table-3": _classes, "p3-table-7": _trained, "p3-table-2": _accuracy},
    {"p3-table-4": _table4_u, "p3-table-6": _table6_u},
    {"p3-table-20": _questions, "p3-table-20-details": _question_details},
    {"p3-table-18": _alpha_of_answers, "agreement-before": _alpha_of("before", "after")},
    {"p3-table-13": _alpha_of_properties, "agreement-leakage": _alpha_of(*PROPERTIES)},
]


def figures_shared(content: Content) -> dict[Identity, dict[str, Cell]]:
    """Each figure that several tables of the report have: place -> its cell there."""
    there = {
        block["id"]
        for section in content["sections"]
        for block in section["blocks"]
        if block["kind"] == "table"
    }
    found: dict[Identity, dict[str, Cell]] = {}
    for places in PLACES:
        if len(there & set(places)) < 2:
            continue
        for place, read in places.items():
            if place in there:
                for identity, cell in read(content):
                    found.setdefault(identity, {}).setdefault(place, cell)
    return {identity: cells for identity, cells in found.items() if len(cells) > 1}


def check_tables(content: Content) -> int:
    """Every figure of a table says why it isn't defined, or has an interval or says why not; p values of several rows are corrected.

    Returns how many figures that are.
    """
    checked = 0
    for table in (b for s in content["sections"] for b in s["blocks"] if b["kind"] == "table"):
        labels = [column["label"] for column in table["columns"]]
        for row in table["rows"]:
            for label, cell in zip(labels, row["cells"], strict=True):
                if cell["kind"] != "number":
                    continue
                where = (table["id"], row["head"], label, cell)
                assert cell["value"] is not None or cell["reason"], where
                assert cell["low"] is None or cell["n"], where
                checked += 1
        tested = [label for label in labels if re.match(r"p( |$)", label)]
        if tested and len(table["rows"]) > 1:
            assert {"p (Holm)", "p (adjusted)"} & set(tested), (table["id"], labels)
    return checked


def check_one_truth(content: Content) -> int:
    """Compare every figure that several places of a report share; returns how many that are."""
    assert check_tables(content)
    shared = figures_shared(content)
    for identity, cells in shared.items():
        values = {place: _said(cell) for place, cell in cells.items()}
        first = next(iter(values.values()))
        assert all(value == first for value in values.values()), (identity, values)
    return len(shared) + _figures_repeat_tables(content)


def _said(cell: Cell) -> tuple[Any, ...]:
    """What a reader sees of a figure: value and interval to ten digits, and its denominator."""
    numbers = [cell.get(name) for name in ("value", "low", "high")]
    rounded = (None if number is None else round(number, 10) for number in numbers)
    return (*rounded, cell.get("n") if numbers[0] is not None else None)


def _figures_repeat_tables(content: Content) -> int:
    """Each value that a plot with intervals shows is in a table of the report too."""
    cells = {
        _said(cell)
        for section in content["sections"]
        for block in section["blocks"]
        if block["kind"] == "table"
        for row in block["rows"]
        for cell in row["cells"]
        if cell["kind"] == "number"
    }
    plotted = 0
    for section in content["sections"]:
        for block in section["blocks"]:
            if block["kind"] == "figure" and block["form"] == "intervals":
                for point in block["data"]["points"]:
                    if point["value"] is not None:
                        assert _said(point) in cells, (block["id"], point)
                        plotted += 1
    return plotted


def check_sentences(content: dict[str, Any]) -> int:
    """Every figure stated in a sentence is in a table, with the same interval and n; returns how many there are."""
    cells = [
        cell
        for section in content["sections"]
        for block in section["blocks"]
        if block["kind"] == "table"
        for row in block["rows"]
        for cell in row["cells"]
        if cell["kind"] == "number"
    ]
    shown = {(_shown(cell), cell["n"], cell["shape"] == "percent") for cell in cells}
    found = 0
    for section in content["sections"]:
        for sentence in section["prose"] if section["id"] not in ("method", "data") else ():
            stated = list(STATED.finditer(sentence))
            for one in stated:
                value = one["value"] + (one["interval"] or "")
                key = (value, int(one["n"].replace(",", "")), bool(one["percent"]))
                assert key in shown, (section["id"], sentence)
                assert bool(one["interval"]) != bool(one["why"]), (section["id"], sentence)
            bare = FIGURE.findall(re.sub(r"\[[^\]]*\]", "", STATED.sub("", MODEL.sub("", sentence))))
            assert not bare, (section["id"], sentence)
            found += len(stated)
    return found


def _shown(cell: dict[str, Any]) -> str:
    between = words.interval(cell["low"], cell["high"], cell["shape"])
    return f"{words.number(cell['value'], cell['shape'])} {between}".strip()
