"""Compile a report's LaTeX as a paper would, where Debian's TeX is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from evaluation.reports.exports.latex import PREAMBLE

INSTALLED = shutil.which("pdflatex") is not None
#: How far a line may stick out, in points (a third of a millimetre), which is too little to be seen.
TOLERANCE = 1.0


def tex_problems(body: str) -> list[str]:
    """What is wrong with a report's LaTeX in an ordinary article: errors, missing characters, and lines or tables wider
    than the text."""
    source = "\n".join([r"\documentclass{article}", *PREAMBLE, r"\begin{document}", body, r"\end{document}"])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "report.tex").write_text(source, encoding="ascii")
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"],
            cwd=folder, capture_output=True, text=True, errors="replace", timeout=300, check=False,
        )  # fmt: skip
    if done.returncode:
        return [done.stdout[-2000:]]
    problems = [line for line in done.stdout.splitlines() if "Missing character" in line]
    for line in done.stdout.splitlines():
        wide = re.match(r"Overfull \\hbox \(([0-9.]+)pt too wide\)", line)
        if wide and float(wide[1]) > TOLERANCE:
            problems.append(line)
    return problems
