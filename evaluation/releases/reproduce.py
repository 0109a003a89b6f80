"""Compute a release's report again from its data, and compare every value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.core.version import software
from evaluation.models import Report
from evaluation.releases.archive import Archive, ArchiveError
from evaluation.releases.scratch import scratch
from evaluation.reports.choices import Choices, ChoicesError
from evaluation.reports.comparison import ComparedReports, compare
from evaluation.reports.compute import Computed, compute_across
from evaluation.reports.words import count

#: Ids of an installation's rows, with which pages link to items and raters.
_LINKS = ("item", "raters")


@dataclass(frozen=True)
class Reproduction:
    """The comparison of a released report with the one that was computed from the released data.

    ``exact``: all figures and sentences are the same to the last digit. ``sentences`` say what differs. ``content`` is the
    computed report.
    """

    exact: bool
    values: int
    differing: int
    sentences: Sequence[str]
    released_with: str
    computed_with: str
    content: dict[str, Any] = field(default_factory=dict, repr=False)


def release_reproduce(release: Archive) -> Reproduction:
    """Compute the report of a release from its rows and compare it with the released one.

    Nothing is stored. Raises ``ArchiveError`` if the file is damaged, or asks for what this version doesn't have.
    """
    try:
        choices = Choices.parse(release.manifest["choices"])
        computed = content_from(release.rows(), choices)
    except ArchiveError:
        raise
    except (ChoicesError, KeyError, ValueError) as error:
        raise ArchiveError(f"the release can't be computed: {error}") from error
    return reproduction(release.report, computed)


def content_from(rows: Mapping[str, Iterable[Mapping[str, Any]]], choices: Choices) -> dict[str, Any]:
    """The content of the report on a release's rows."""
    with scratch(rows) as studies:
        found: Computed = compute_across(studies=studies, choices=choices, figures=False)
    return without_links(found.content)


def reproduction(released: Mapping[str, Any], computed: Mapping[str, Any]) -> Reproduction:
    """Compare two contents of a report."""
    compared = compared_contents(released, computed)
    values = sum(len(table.lines) for table in compared.tables)
    differing = sum(len(table.differing) for table in compared.tables)
    return Reproduction(
        exact=figures_of(released) == figures_of(computed),
        values=values,
        differing=differing,
        sentences=compared.sentences,
        released_with=dict(released["facts"]).get("Software", ""),
        computed_with=software(),
        content=dict(computed),
    )


def compared_contents(a: Mapping[str, Any], b: Mapping[str, Any]) -> ComparedReports:
    """Two contents cell by cell, as two stored reports are compared."""
    return compare(
        Report(content=dict(a), choices=a["choices"]), Report(content=dict(b), choices=b["choices"])
    )


def without_links(content: Mapping[str, Any]) -> dict[str, Any]:
    """A report's content without the database ids of items and raters, to which its pages link."""

    def block(one: Mapping[str, Any]) -> dict[str, Any]:
        if one["kind"] != "table":
            return dict(one)
        rows = [{name: value for name, value in row.items() if name not in _LINKS} for row in one["rows"]]
        return {**one, "rows": rows}

    sections = [{**section, "blocks": list(map(block, section["blocks"]))} for section in content["sections"]]
    return {**content, "sections": sections}


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
