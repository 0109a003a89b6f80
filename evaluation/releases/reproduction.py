"""The comparison of two contents of a report: the released one, and the one computed from the released data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.core.version import software
from evaluation.models import Report
from evaluation.reports.comparison import ComparedReports, compare
from evaluation.reports.words import count


@dataclass(frozen=True)
class Reproduction:
    """The comparison of a released report with the one that was computed from the released data.

    ``exact``: all figures and sentences are the same to the last digit. ``sentences`` say how many values differ,
    then each of them, those of the headline table and the largest changes first. ``content`` is the
    computed report. ``problems`` are all differences between the files of the release and those made again, each with its place;
    ``checked`` and ``unchecked`` say what was and wasn't compared.
    """

    exact: bool
    values: int
    differing: int
    sentences: Sequence[str]
    released_with: str
    computed_with: str
    content: dict[str, Any] = field(default_factory=dict, repr=False)
    problems: Sequence[str] = ()
    checked: Sequence[str] = ()
    unchecked: Sequence[str] = ()


def reproduction(released: Mapping[str, Any], computed: Mapping[str, Any]) -> Reproduction:
    """Compare two contents of a report."""
    compared = compared_contents(released, computed)
    values = sum(len(table.lines) for table in compared.tables)
    differing = sum(len(table.differing) for table in compared.tables)
    return Reproduction(
        exact=figures_of(released) == figures_of(computed),
        values=values,
        differing=differing,
        sentences=[compared.sentences[0], *compared.every_change],
        released_with=dict(released["facts"]).get("Software", ""),
        computed_with=software(),
        content=dict(computed),
    )


def compared_contents(a: Mapping[str, Any], b: Mapping[str, Any]) -> ComparedReports:
    """Two contents cell by cell, as two stored reports are compared."""
    return compare(
        Report(content=dict(a), choices=a["choices"]), Report(content=dict(b), choices=b["choices"])
    )


def figures_of(content: Mapping[str, Any]) -> list[Any]:
    """Everything that a report says, apart from the versions of the software that computed it."""
    return [section for section in content["sections"] if section["id"] != "method"]


def in_words(found: Reproduction) -> str:
    """The result of a comparison in a sentence.

    >>> in_words(Reproduction(True, 2, 0, [], "", ""))
    'All 2 values were reproduced to the last digit.'
    """
    if found.exact:
        return f"All {count(found.values, 'value')} were reproduced to the last digit."
    if not found.differing:
        return f"All {count(found.values, 'value')} were reproduced as they are shown; some differ in later digits."
    return f"{found.differing:,} of {count(found.values, 'value')} could not be reproduced."
