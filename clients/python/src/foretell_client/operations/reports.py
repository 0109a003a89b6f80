"""Operations on reports. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Unpack

from foretell_client.operations.shared import ReportState
from foretell_client.transport import Download, Transport, part

CannotGuess = Literal["wrong", "left_out"]
Count = Literal["people", "rehearsal"]
Counted = Literal["left_out", "wrong"]
Epsilon = Literal["0.2", "0.15", "0.1"]
Items = Literal["like", "these"]
Labels = Literal["all", "statements"]
Of = Literal["items", "raters"]
Raters = Literal["these", "like"]
Refusals = Literal["wrong", "left_out"]
Restriction = Literal["common", "all"]


class ChangedCell(TypedDict):
    row: str
    column: str
    first: str
    second: str
    change: str


class Choices(TypedDict, total=False):
    """The choices of a report; omitted ones have their defaults."""

    count: Count
    rule: str
    adjudicated: bool
    labels: Labels
    restriction: Restriction
    refusals: Refusals
    ties: Counted
    blanks: Counted
    cannot_guess: CannotGuess
    by: str
    only: str
    epsilon: Epsilon
    items: Items
    raters: Raters
    money: int
    min_overlap: int
    replicates: int
    seed: int
    encoder: str
    exclusions: bool
    studies: list[str]


class ChosenDifferently(TypedDict):
    choice: str
    first: str
    second: str


class Coefficient(TypedDict):
    title: str
    value: float | None
    reason: str
    n: int


class ColumnValue(TypedDict):
    """A value of a column."""

    text: str
    count: int


class ComparedTable(TypedDict):
    number: str
    title: str
    cells: list[ChangedCell]


class Contribution(TypedDict):
    name: str
    item: int | None
    ratings: int
    share_of_disagreement: float | None
    share_of_ratings: float | None
    relative: float | None
    contribution: float | None
    without: float | None
    reason: str


class Disagreement(TypedDict):
    ready: bool
    variable: str
    simulator: str
    coefficient: Coefficient | None
    tables: list[DisagreementTable]


class DisagreementTable(TypedDict):
    by: str
    all: int
    rows: list[Contribution]


class Report(TypedDict):
    """A report without its content."""

    id: int
    study: int
    others: list[int]
    state: ReportState
    progress: str
    error: str
    choices: dict[str, Any]
    inputs_hash: str
    software: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    content_url: str | None
    page_url: str


class ReportColumn(TypedDict):
    """A column that reports can group (``by``) and filter (``only``) by."""

    name: str
    of: Of
    distinct: int
    values: list[ColumnValue]


class ReportsCompared(TypedDict):
    same_inputs: bool
    choices: list[ChosenDifferently]
    tables: list[ComparedTable]


class ReportsOperations:
    """Operations on reports."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def read(self, id: int, /) -> Report:
        """The state of the report."""
        reply: Report = self._http.json("GET", f"reports/{id}/")
        return reply

    def delete(self, id: int, /) -> None:
        """Delete the report."""
        self._http.nothing("DELETE", f"reports/{id}/")

    def compare(self, id: int, other: int, /) -> ReportsCompared:
        """Choices and cells that differ, the largest change first; 409 unless both are done."""
        reply: ReportsCompared = self._http.json("GET", f"reports/{id}/compare/{other}/")
        return reply

    def content(self, id: int, /) -> dict[str, Any]:
        """Sections, tables and figures with every cell's value, interval, n, reason, rule and what was left
        out.
        """
        reply: dict[str, Any] = self._http.json("GET", f"reports/{id}/content/")
        return reply

    def export(self, id: int, as_format: Literal["csv", "html", "json", "latex", "text"], /) -> Download:
        """The report as CSV, JSON, LaTeX, plain text or one HTML file."""
        return self._http.download("GET", f"reports/{id}/export/{part(as_format)}/")

    def disagreement(
        self,
        study: str,
        /,
        *,
        rehearsal: bool | None = None,
        simulator: str | None = None,
        variable: str | None = None,
    ) -> Disagreement:
        """What systems, kinds of follow-up, raters and items contribute to one minus alpha, or kappa with a
        simulator.
        """
        reply: Disagreement = self._http.json(
            "GET",
            f"studies/{part(study)}/disagreement/",
            query={"rehearsal": rehearsal, "simulator": simulator, "variable": variable},
        )
        return reply

    def report_columns(self, study: str, /) -> list[ReportColumn]:
        """The columns that the study's reports can group and filter by, with their most frequent values. Those
        of raters have no values for a token that may not read participants' data.
        """
        reply: list[ReportColumn] = self._http.json("GET", f"studies/{part(study)}/report-columns/")
        return reply

    def all(self, study: str, /) -> list[Report]:
        """The reports of a study, newest first (at most 200)."""
        reply: list[Report] = self._http.json("GET", f"studies/{part(study)}/reports/")
        return reply

    def create(self, study: str, /, **sent: Unpack[Choices]) -> Report:
        """Request a report; a background job computes it. 400 names each invalid choice."""
        reply: Report = self._http.json("POST", f"studies/{part(study)}/reports/", body=sent)
        return reply
