"""Exports lose nothing, run nothing and escape everything."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest

from evaluation.core.estimate import Estimate, undefined
from evaluation.reports.content import Cell, Document, Figure, Section, Table, TableColumn, TableRow
from evaluation.reports.exports import FORMATS, export
from evaluation.reports.exports.json import with_provenance
from evaluation.reports.exports.tex_characters import escape
from tests.evaluation.reports import tex

NASTY = [
    '=HYPERLINK("http://evil.example","x")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    r"\input{/etc/passwd} $x_1^2$ 100% & #1 ~{}",
    "{{ settings.SECRET_KEY }}{% debug %}",
    "\x1b[31mred\x07",
]


def document(text: str) -> dict:
    cells = [
        Cell.of(
            Estimate(0.5042, 0.41, 0.61, n=120, left_out={text: 3}, interval="percentile"), rule="majority"
        ),
        Cell.of(undefined(text, n=0)),
        Cell(text=text),
    ]
    table = Table(
        id="t-1",
        number="P1 Table 3",
        title=text,
        head=["Dataset"],
        columns=[TableColumn(text, group=text), TableColumn("b"), TableColumn("c")],
        rows=[TableRow([text], cells, group=text)],
        notes=[text],
    )
    figure = Figure(id="f-1", title=text, alt=text, form="intervals", data={"x": text, "points": []})
    section = Section(id="s", title=text, prose=[text], blocks=[table, figure], notes=[text])
    return Document(title=text, sections=[section], facts=[("Study", text)], warnings=[text]).to_json()


@pytest.mark.parametrize("text", NASTY)
def test_csv_cells_are_never_formulas(text):
    rows = list(csv.reader(io.StringIO(export(document(text), {}, "csv"))))
    assert len({len(row) for row in rows}) == 1
    for row in rows:
        for cell in row:
            assert not re.match(r"^\s*[=+@\t\r]", cell), cell
            assert not cell.startswith("-") or re.fullmatch(r"-?[\d.e-]+", cell)


def test_csv_keeps_every_digit_and_the_reason():
    rows = list(csv.DictReader(io.StringIO(export(document("plain"), {}, "csv"))))
    first, second = rows[1], rows[2]
    assert (first["value"], first["low"], first["high"], first["n"]) == ("0.5042", "0.41", "0.61", "120")
    assert (first["rule"], first["left_out"]) == ("majority", "3 plain")
    assert (second["value"], second["reason"]) == ("", "plain")


def test_csv_has_the_notes_and_warnings_too():
    rows = list(csv.DictReader(io.StringIO(export(document("plain"), {}, "csv"))))
    notes = [(row["section"], row["table"] != "", row["text"]) for row in rows if row["row"] == "note"]
    assert notes == [("s", True, "plain"), ("s", False, "plain")]
    assert [row["text"] for row in rows if row["section"] == "warnings"] == ["plain"]


@pytest.mark.parametrize("text", NASTY)
def test_json_is_the_content(text):
    content = document(text)
    found = json.loads(export(content, {}, "json"))
    assert found == with_provenance(content)
    numbers = [
        cell
        for section in found["sections"]
        for block in section["blocks"]
        for row in block.get("rows", [])
        for cell in row["cells"]
        if cell["kind"] == "number"
    ]
    facts = dict(content["facts"])
    assert numbers
    assert all(cell["inputs"] == facts.get("Inputs", "") for cell in numbers)


@pytest.mark.parametrize("text", NASTY)
def test_texts_cannot_add_latex_commands(text):
    found = export(document(text), {}, "latex")
    body = [line for line in found.splitlines() if not line.startswith("%")]  # TeX does not read comments
    for command in re.findall(r"\\[a-zA-Z]+", "\n".join(body)):
        assert command in ALLOWED, command
    assert not any(re.search(r"(?<!\\)[#~^]", line) for line in body)
    assert found.count("{") - found.count(r"\{") == found.count("}") - found.count(r"\}")


ALLOWED = {
    rf"\{name}"
    for name in [
        "begin",
        "end",
        "centering",
        "caption",
        "label",
        "toprule",
        "midrule",
        "bottomrule",
        "cmidrule",
        "addlinespace",
        "multicolumn",
        "emph",
        "textsuperscript",
        "par",
        "smallskip",
        "footnotesize",
        "scriptsize",
        "textbf",
        "usepackage",
        "textbackslash",
        "textasciitilde",
        "textasciicircum",
        "textless",
        "textgreater",
        "textbar",
        "textquotedbl",
        "kappa",
        "alpha",
        "eta",
        "rho",
        "Delta",
        "varepsilon",
        "times",
        "rightarrow",
        "geq",
        "leq",
        "ldots",
        "textperiodcentered",
        "linewidth",
        "raggedright",
        "arraybackslash",
        "allowbreak",
    ]
}


def test_a_latex_table_uses_booktabs():
    found = export(document("plain"), {}, "latex")
    assert r"\toprule" in found
    assert r"0.504 {\scriptsize [0.410, 0.610]}" in found
    assert r"n.d.\textsuperscript{a}" in found
    assert r"\textsuperscript{a}Not defined: plain." in found
    assert escape("a_b & 50% − κ") == r"a\_b \& 50\% $-$ $\kappa$"


#: Greek, accents, mathematics, other scripts, emoji, what cannot be seen.
CHARACTERS = "λ Ω ϵ é ñ ő ł ß Ç i̇ ≥ ± ½ “quoted” – 中文 Привет 🙂 \u200bzero\u00a0width ﬁ"


def test_latex_is_ascii_whatever_the_text():
    found = export(document(CHARACTERS), {}, "latex")
    assert found.isascii()
    assert r"$\lambda$ $\Omega$ $\epsilon$ \'{e} \~{n} \H{o} \l{} \ss{} \c{C}" in found
    assert r"[U+4E2D]\allowbreak{}[U+6587]" in found
    assert "zero width fi" in found


def wide_table(columns: int, rows: int) -> dict:
    number = Cell.of(Estimate(0.5, 0.4, 0.6, n=9))
    table = Table(
        id="t", title="Wide", head=["Row"], columns=[TableColumn(f"column {n}") for n in range(columns)],
        rows=[TableRow([f"row {n}"], [number] * columns) for n in range(rows)],
    )  # fmt: skip
    return Document(title="Wide", sections=[Section(id="s", title="S", blocks=[table])]).to_json()


def test_latex_tables_fit():
    assert r"\begin{table}" in export(wide_table(3, 3), {}, "latex")
    assert r"\begin{sidewaystable}" in export(wide_table(8, 3), {}, "latex")
    both = export(wide_table(8, 60), {}, "latex")
    assert both.count(r"\begin{sidewaystable}") == 3
    assert "(continued, part 3 of 3)" in both
    assert all(f"row {n} &" in both for n in range(60))
    long = export(wide_table(3, 60), {}, "latex")
    assert r"\begin{longtable}{lrrr}" in long
    assert r"\endhead" in long


@pytest.mark.skipif(not tex.INSTALLED, reason="needs pdflatex (Debian: texlive-latex-extra)")
@pytest.mark.parametrize(
    "content",
    [
        document(CHARACTERS),
        document("[1pt] بوب"),
        document("* [x]"),
        wide_table(14, 3),
        wide_table(3, 60),
        wide_table(14, 60),
    ],
)
def test_latex_compiles_without_a_warning_about_characters_or_width(content):
    assert tex.tex_problems(export(content, {}, "latex")) == []


class Loads(HTMLParser):
    """Collects what a browser would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "srcset", "href", "data", "action") and not (value or "").startswith(
                ("data:", "#")
            ):
                self.found.append(f"{tag} {name}={value}")
            if name.startswith("on"):
                self.found.append(f"{tag} {name}")
        if tag in ("script", "iframe", "object", "embed", "link", "form"):
            self.found.append(tag)


@pytest.mark.parametrize("text", NASTY)
def test_the_html_file_loads_and_runs_nothing(text):
    files = {"f-1.light.svg": ("image/svg+xml", b"<svg/>"), "f-1.dark.svg": ("image/svg+xml", b"<svg/>")}
    found = export(document(text), files, "html")
    loads = Loads()
    loads.feed(found)
    assert loads.found == []
    assert re.sub(r"url\(data:font/woff2;base64,", "", found).count("url(") == 0
    assert "data:image/svg+xml;base64,PHN2Zy8+" in found
    assert "0.504" in found
    assert "not defined" in found


@pytest.mark.parametrize("text", NASTY)
def test_text_has_no_control_characters(text):
    found = export(document(text), {}, "text")
    assert all(ch == "\n" or ch.isprintable() for ch in found)


def test_line_breaks_in_texts_do_not_break_lines():
    """A label of an imported file can have any."""
    content = document("first\nsecond \u2028third")
    assert content["warnings"]
    plain = export(content, {}, "text")
    assert "first second  third" in plain
    assert not [line for line in plain.splitlines() if line.strip().startswith(("second", "third"))]
    latex = export(content, {}, "latex")
    assert all(line.startswith("%") for line in latex.split("\\begin")[0].splitlines() if line.strip())


def test_latex_has_warnings_and_notes_of_sections_in_comments():
    found = export(document("plain"), {}, "latex")
    assert "% WARNING: plain" in found
    assert "% plain: plain" in found


def test_an_unknown_format_is_an_error():
    assert set(FORMATS) == {"html", "latex", "csv", "json", "text"}
    with pytest.raises(KeyError):
        export(document("x"), {}, "docx")


def test_the_html_file_carries_its_fonts():
    found = export(document("plain"), {}, "html")
    assert found.count("@font-face") == 3
    assert found.count("url(data:font/woff2;base64,") == 3
    assert "font-src data:" in found
    assert "url(../" not in found
