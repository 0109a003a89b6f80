"""What each file of a release is, for the lists of files in its descriptions."""

from __future__ import annotations

from pathlib import PurePosixPath

_ENCODINGS = {
    ".md": "text/markdown",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".csv": "text/csv",
    ".cff": "application/yaml",
    ".tex": "application/x-tex",
    ".py": "text/x-python",
    ".R": "text/x-r",
}
_WHAT = {
    "README.md": "The data card: how the data were collected, columns, what was removed, licence, citation.",
    "report.html": "The report, to be read.",
    "report.json": "The report's numbers, each with interval, denominator and reason if it isn't defined.",
    "ratings.csv": "One row for each rating.",
    "plan.json": "The analysis plan as it was sealed before the first judgment, with its SHA-256.",
    "plan.md": "The sealed analysis plan, to be read.",
    "CITATION.cff": "How to cite the data.",
    "datacite.json": "Metadata for a repository that gives DOIs.",
    "methods.md": "A methods paragraph with the study's own numbers.",
    "methods.tex": "The methods paragraph in LaTeX.",
    "analysis/headline.py": "Headline numbers from ratings.csv, with pandas alone.",
    "analysis/mixed_models.R": "Mixed models on ratings.csv, with lme4.",
    "analysis/variables.json": "What was asked: levels, labels and scores, as the scripts need them.",
}


def encoding(name: str) -> str:
    """The media type of a file."""
    return _ENCODINGS[PurePosixPath(name).suffix]


def what(name: str) -> str:
    """What a file has in it."""
    return (
        _WHAT.get(name) or f"The table {PurePosixPath(name).stem.replace('_', ' ')}, one JSON object a line."
    )
