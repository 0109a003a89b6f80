"""A report's tables as LaTeX with booktabs, ready to be put into a paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from string import ascii_lowercase
from typing import Any

from evaluation.reports import words

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "“": "``",
    "”": "''",
    "’": "'",
    "…": r"\ldots{}",
    "·": r"\textperiodcentered{}",
    "×": r"$\times$",
    "κ": r"$\kappa$",
    "α": r"$\alpha$",
    "η": r"$\eta$",
    "ρ": r"$\rho$",
    "Δ": r"$\Delta$",
    "ε": r"$\varepsilon$",
    "→": r"$\rightarrow$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
}
_PATTERN = re.compile("|".join(re.escape(ch) for ch in _SPECIAL))
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def escape(text: str) -> str:
    r"""Text as LaTeX prints it: no character keeps a meaning of its own.

    >>> print(escape(r"100% of \input{x} & $y_1$"))
    100\% of \textbackslash{}input\{x\} \& \$y\_1\$
    """
    plain = " ".join(_CONTROL.sub("", text).split())
    return _PATTERN.sub(lambda found: _SPECIAL[found.group()], plain)


def render(content: Mapping[str, Any]) -> str:
    """All tables as ``table`` environments, with the lines that the preamble needs as comments."""
    parts = [
        f"% {_comment(content['title'])}",
        *(f"% {_comment(name)}: {_comment(value)}" for name, value in content["facts"]),
        r"% Needs \usepackage[T1]{fontenc}, \usepackage{textcomp} and \usepackage{booktabs} in the preamble.",
    ]
    for section in content["sections"]:
        parts += [_table(block) for block in section["blocks"] if block["kind"] == "table" and block["rows"]]
    return "\n\n".join(parts) + "\n"


def _comment(text: str) -> str:
    return " ".join(str(text).split())


def _table(table: Mapping[str, Any]) -> str:
    reasons: dict[str, str] = {}
    body = _body(table, reasons)
    heads, columns = len(table["head"]), len(table["columns"])
    title = f"{table['number']}. {table['title']}" if table["number"] else table["title"]
    lines = [
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{escape(title)}}}",
        f"  \\label{{tab:{re.sub('[^a-z0-9-]', '', table['id'])}}}",
        f"  \\begin{{tabular}}{{{'l' * heads}{'r' * columns}}}",
        r"    \toprule",
        *_header(table),
        r"    \midrule",
        *body,
        r"    \bottomrule",
        r"  \end{tabular}",
    ]
    notes = [
        *(f"\\textsuperscript{{{mark}}}Not defined: {escape(reason)}." for reason, mark in reasons.items()),
        *(escape(note) for note in [*table["notes"], *table.get("denominators", ())]),
    ]
    if notes:
        lines.append(rf"  \par\smallskip\footnotesize {' '.join(notes)}")
    return "\n".join([*lines, r"\end{table}"])


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
    return [*lines, "    " + " & ".join(escape(label) for label in labels) + r" \\"]


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
        lines.append("    " + " & ".join(cells) + r" \\")
    return lines


def _cell(cell: Mapping[str, Any], reasons: dict[str, str]) -> str:
    if cell["kind"] == "text":
        return escape(cell["text"])
    if cell["value"] is None:
        mark = reasons.setdefault(cell["reason"], _mark(len(reasons)))
        return f"n.d.\\textsuperscript{{{mark}}}"
    value = escape(words.number(cell["value"], cell["shape"]))
    value = f"\\textbf{{{value}}}" if cell["strong"] else value
    between = words.interval(cell["low"], cell["high"], cell["shape"])
    return f"{value} {{\\scriptsize {escape(between)}}}" if between else value


def _mark(number: int) -> str:
    return ascii_lowercase[number % 26] * (number // 26 + 1)
