"""A report's tables as LaTeX with booktabs, ready for a paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from string import ascii_lowercase
from typing import Any

from evaluation.reports import words
from evaluation.reports.exports.tex_characters import escape

#: Tables wider than this many characters are turned sideways; texts wider than ``PARAGRAPH`` are broken into lines.
SIDEWAYS, PARAGRAPH = 100, 34
#: Tables with more rows than this break across pages.
LONG = 45
#: The mark of a value that a sealed plan names.
PLANNED = r"\textsuperscript{P}"
#: Rows of each part of a table that is long and wide.
PART = 25
PREAMBLE = (
    r"\usepackage[T1]{fontenc}", r"\usepackage{textcomp}", r"\usepackage{array}", r"\usepackage{booktabs}",
    r"\usepackage{longtable}", r"\usepackage{rotating}", r"\usepackage{adjustbox}",
)  # fmt: skip


def render(content: Mapping[str, Any]) -> str:
    """All tables, each in a suitable environment. ASCII only. The necessary preamble, warnings and the notes of sections are in
    comments."""
    parts = [
        f"% {_comment(content['title'])}",
        *(f"% {_comment(name)}: {_comment(value)}" for name, value in content["facts"]),
        *(f"% WARNING: {_comment(warning)}" for warning in content["warnings"]),
        "\n".join(["% The preamble needs:", *(f"%   {line}" for line in PREAMBLE)]),
    ]
    for section in content["sections"]:
        tables = [_table(block) for block in section["blocks"] if block["kind"] == "table" and block["rows"]]
        notes = [f"% {_comment(section['title'])}: {_comment(note)}" for note in section["notes"]]
        parts += [*tables, "\n".join(notes)] if tables and notes else tables
    return "\n\n".join(parts) + "\n"


def _comment(text: str) -> str:
    return escape(" ".join(text.splitlines()))


def _table(table: Mapping[str, Any]) -> str:
    reasons: dict[str, str] = {}
    body = _body(table, reasons)
    title = f"{table['number']}. {table['title']}" if table["number"] else table["title"]
    caption = [
        f"  \\caption{{{escape(title)}}}",
        f"  \\label{{tab:{re.sub('[^a-z0-9-]', '', table['id'])}}}",
    ]
    widths = _widths(table)
    kinds = [_kind(width, head=n < len(table["head"])) for n, width in enumerate(widths)]
    head = [r"    \toprule", *_header(table), r"    \midrule"]
    planned = any(cell.get("analysis") == "planned" for row in table["rows"] for cell in row["cells"])
    notes = [
        *([PLANNED + "Planned before the data."] if planned else []),
        *(f"\\textsuperscript{{{mark}}}Not defined: {escape(reason)}." for reason, mark in reasons.items()),
        *(escape(note) for note in [*table["notes"], *table.get("denominators", ())]),
    ]
    wide = sum(min(width, PARAGRAPH) + 2 for width in widths) > SIDEWAYS
    if len(table["rows"]) <= LONG:
        return _float("".join(kinds), caption, head, body, notes, wide=wide)
    if not wide:
        return _long_table("".join(kinds), caption, head, body, notes)
    return "\n\n".join(_sideways_parts(table, "".join(kinds), caption, head, notes))


def _float(
    kinds: str,
    caption: Sequence[str],
    head: Sequence[str],
    body: Sequence[str],
    notes: Sequence[str],
    *,
    wide: bool,
) -> str:
    """A table on one page, sideways if it is wide, and made smaller if it is wider still."""
    name = "sidewaystable" if wide else "table"
    lines = [
        f"\\begin{{{name}}}",
        r"  \centering\footnotesize",
        *caption,
        r"  \begin{adjustbox}{max width=\linewidth}",
        f"  \\begin{{tabular}}{{{kinds}}}",
        *head,
        *body,
        r"    \bottomrule",
        r"  \end{tabular}",
        r"  \end{adjustbox}",
    ]
    if notes:
        lines.append(rf"  \par\smallskip {' '.join(notes)}")
    return "\n".join([*lines, f"\\end{{{name}}}"])


def _sideways_parts(
    table: Mapping[str, Any], kinds: str, caption: Sequence[str], head: Sequence[str], notes: Sequence[str]
) -> list[str]:
    """A table that is long and wide: parts of it, each sideways on a page of its own, with the notes below the last."""
    rows, reasons = table["rows"], dict[str, str]()
    parts = [rows[begin : begin + PART] for begin in range(0, len(rows), PART)]
    made = []
    for number, some in enumerate(parts, 1):
        said = [*caption]
        if number > 1:
            said = [f"{caption[0].removesuffix('}')} (continued, part {number} of {len(parts)})}}"]
        body = _body({**table, "rows": some}, reasons)
        made.append(_float(kinds, said, head, body, notes if number == len(parts) else (), wide=True))
    return made


def _long_table(
    kinds: str, caption: Sequence[str], head: Sequence[str], body: Sequence[str], notes: Sequence[str]
) -> str:
    """A table over several pages, with its head on each."""
    lines = [
        r"{\footnotesize",
        f"\\begin{{longtable}}{{{kinds}}}",
        *caption[:-1],
        caption[-1] + r" \\",
        *head,
        r"    \endhead",
        *body,
        r"    \bottomrule",
        r"\end{longtable}",
    ]
    return "\n".join([*lines, *([rf"\noindent {' '.join(notes)}\par"] if notes else []), "}"])


def _widths(table: Mapping[str, Any]) -> list[int]:
    """The width in characters of the widest text in each column, including its head."""
    names = [*table["head"], *(column["label"] for column in table["columns"])]
    rows = [[*row["head"], *(_plain(cell) for cell in row["cells"])] for row in table["rows"]]
    return [max(len(row[n]) for row in [names, *rows]) for n in range(len(names))]


def _plain(cell: Mapping[str, Any]) -> str:
    return "n.d. a" if cell["kind"] == "number" and cell["value"] is None else words.cell(cell)


def _kind(width: int, *, head: bool) -> str:
    """A column's kind: texts that are too wide for one line become paragraphs."""
    if width > PARAGRAPH:
        return r">{\raggedright\arraybackslash}p{0.28\linewidth}"
    return "l" if head else "r"


def _header(table: Mapping[str, Any]) -> list[str]:
    heads, columns = table["head"], table["columns"]
    lines = []
    if any(column["group"] for column in columns):
        groups = [(name, len(list(run))) for name, run in groupby(columns, key=lambda c: c["group"])]
        cells = [f"\\multicolumn{{{n}}}{{c}}{{{escape(name)}}}" for name, n in groups]
        lines.append("    " + " & ".join(["" for _ in heads] + cells) + r" \\")
        at, rules = len(heads) + 1, []
        for name, n in groups:
            if name:
                rules.append(f"\\cmidrule(lr){{{at}-{at + n - 1}}}")
            at += n
        lines.append("    " + " ".join(rules))
    labels = [*heads, *(column["label"] for column in columns)]
    return [*lines, _row([escape(label) for label in labels])]


def _body(table: Mapping[str, Any], reasons: dict[str, str]) -> list[str]:
    lines: list[str] = []
    width = len(table["head"]) + len(table["columns"])
    group = ""
    for row in table["rows"]:
        if row["group"] != group:
            group = row["group"]
            lines += [r"    \addlinespace"] if lines else []
            lines.append(f"    \\multicolumn{{{width}}}{{l}}{{\\emph{{{escape(group)}}}}} \\\\")
        cells: Sequence[str] = [escape(head) for head in row["head"]]
        cells = [*cells, *(_cell(cell, reasons) for cell in row["cells"])]
        lines.append(_row(cells))
    return lines


def _row(cells: Sequence[str]) -> str:
    """A line of cells. After the end of a line or a rule, LaTeX would take [ or * as belonging to that command."""
    guard = "{}" if cells and cells[0].startswith(("[", "*")) else ""
    return f"    {guard}{' & '.join(cells)} \\\\"


def _cell(cell: Mapping[str, Any], reasons: dict[str, str]) -> str:
    if cell["kind"] == "text":
        return escape(cell["text"])
    if cell["value"] is None:
        mark = reasons.setdefault(cell["reason"], _mark(len(reasons)))
        return f"n.d.\\textsuperscript{{{mark}}}{PLANNED if cell.get('analysis') == 'planned' else ''}"
    value = escape(words.number(cell["value"], cell["shape"]))
    value = f"\\textbf{{{value}}}" if cell["strong"] else value
    value += PLANNED if cell.get("analysis") == "planned" else ""
    between = words.interval(cell["low"], cell["high"], cell["shape"])
    between = between or ("(no interval)" if words.no_interval(cell) else "")
    return f"{value} {{\\scriptsize {escape(between)}}}" if between else value


def _mark(number: int) -> str:
    return ascii_lowercase[number % 26] * (number // 26 + 1)
