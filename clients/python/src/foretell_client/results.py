"""Runs of models, reports, releases, exports and pipelines: jobs, and what they leave."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Unpack

from foretell_client.jobs import Job, Progress
from foretell_client.operations import Operations
from foretell_client.operations.exports import Export as ExportData
from foretell_client.operations.exports import ExportSent
from foretell_client.operations.pipelines import NewPipeline
from foretell_client.operations.pipelines import Pipeline as PipelineData
from foretell_client.operations.releases import NewRelease, ReleaseText
from foretell_client.operations.releases import Release as ReleaseData
from foretell_client.operations.reports import Choices, ReportColumn, ReportsCompared
from foretell_client.operations.reports import Report as ReportData
from foretell_client.operations.runs import BudgetPatch, NewRun, RunEstimate
from foretell_client.operations.runs import Run as RunData
from foretell_client.operations.shared import Action

ReportFormat = Literal["csv", "html", "json", "latex", "text"]


class Run(Job[RunData]):
    """A simulator's run: a model answers the study's questions."""

    what = "run"
    bad = frozenset({"failed", "cancelled", "paused", "incomplete"})

    @property
    def progress(self) -> Progress:
        found = self.data["progress"]
        failed = found["failed"] + found["unparsable"]
        return Progress(self.state, found["done"], found["total"], f"{failed:,} failed" if failed else "")

    def _read(self) -> RunData:
        return self._operations.runs.read(self.id)

    def estimate(self) -> RunEstimate:
        """Calls, tokens and cost of what is left; nothing is sent to the model."""
        return self._operations.runs.estimate(self.id)

    def start(self) -> Run:
        """Start it. It returns at once; ``wait`` for its end."""
        return self._act("start")

    def pause(self) -> Run:
        """Send no further calls, until ``resume``."""
        return self._act("pause")

    def resume(self) -> Run:
        """Continue after a pause."""
        return self._act("resume")

    def cancel(self) -> Run:
        """End it. What it has is kept."""
        return self._act("cancel")

    def retry(self, calls: list[int] | None = None) -> Run:
        """Send failed calls again; all of them without ``calls``."""
        sent: Action = {} if calls is None else {"calls": calls}
        self.data = self._operations.runs.act(self.id, "retry", **sent)
        return self

    def change(self, **limits: Unpack[BudgetPatch]) -> Run:
        """Raise or lower its limits; None removes a budget."""
        self.data = self._operations.runs.change(self.id, **limits)
        return self

    def calls(self) -> Iterator[dict[str, Any]]:
        """Every request and reply."""
        return self._operations.runs.calls(self.id).rows()

    def _act(self, action: Literal["start", "pause", "resume", "cancel"]) -> Run:
        self.data = self._operations.runs.act(self.id, action)
        return self


class Report(Job[ReportData]):
    """A report of a study: what was measured, with intervals and denominators."""

    what = "report"

    @property
    def progress(self) -> Progress:
        return Progress(self.state, text=self.data["progress"] if self.state == "running" else "")

    def _read(self) -> ReportData:
        return self._operations.reports.read(self.id)

    def content(self) -> dict[str, Any]:
        """Sections with tables and figures, each cell with value, interval, n, reason and what was left out."""
        return self._operations.reports.content(self.id)

    def tables(self) -> Iterator[dict[str, Any]]:
        """All tables, in their order: ``id``, ``title``, ``columns`` and ``rows``."""
        for section in self.content()["sections"]:
            yield from (block for block in section["blocks"] if "rows" in block and "columns" in block)

    def cells(self) -> Iterator[dict[str, Any]]:
        """Every cell as a flat row: ``table``, ``row`` and ``column`` by name, then its value, interval, n and reason."""
        for table in self.tables():
            columns = [" ".join(filter(None, [one["group"], one["label"]])) for one in table["columns"]]
            for row in table["rows"]:
                name = " ".join(filter(None, [row["group"], *row["head"]]))
                for column, cell in zip(columns, row["cells"], strict=True):
                    yield {"table": table["id"], "row": name, "column": column, **cell}

    def save(self, path: str | os.PathLike[str], as_format: ReportFormat | None = None) -> Path:
        """Write it as a file, whose format is that of the path's ending: .html, .json, .csv, .tex or .txt."""
        endings: dict[str, ReportFormat] = {
            ".html": "html", ".json": "json", ".csv": "csv", ".tex": "latex", ".txt": "text",
        }  # fmt: skip
        found = as_format or endings.get(Path(path).suffix)
        if found is None:
            raise ValueError(f"{path} ends in no format of a report; expected one of {', '.join(endings)}")
        return self._operations.reports.export(self.id, found).save(path)

    def compare(self, other: Report) -> ReportsCompared:
        """The choices and cells in which the other report differs."""
        return self._operations.reports.compare(self.id, other.id)

    def release(self, **choices: Unpack[NewRelease]) -> Release:
        """Make an anonymised archive of its data; ``wait`` for it."""
        return Release(self._operations, self._operations.releases.create(self.id, **choices))

    def delete(self) -> None:
        """Delete it."""
        self._operations.reports.delete(self.id)


class Release(Job[ReleaseData]):
    """An anonymised archive. In the state ``review``, free texts wait for your decisions."""

    what = "release"
    good = frozenset({"done", "review"})

    @property
    def progress(self) -> Progress:
        return Progress(self.state, text=self.data["progress"] if self.state == "running" else "")

    def _read(self) -> ReleaseData:
        return self._operations.releases.read(self.id)

    def texts(self) -> list[ReleaseText]:
        """The free texts that it would contain."""
        return self._operations.releases.texts(self.id)

    def decide(self, decisions: dict[int, Literal["approved", "removed"]]) -> Release:
        """Approve or remove texts by their id. The archive is made when each has a decision."""
        sent = {str(pk): decision for pk, decision in decisions.items()}
        self.data = self._operations.releases.texts_create(self.id, decisions=dict(sent))
        return self

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the archive."""
        return self._operations.releases.download(self.id).save(path)


class Export(Job[ExportData]):
    """A file of judgments, built in the background."""

    what = "export"

    def _read(self) -> ExportData:
        return self._operations.exports.read(self.id)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file, which is compressed with gzip."""
        return self._operations.exports.file(self.id).save(path)


class Pipeline(Job[PipelineData]):
    """A recipe at work on a dataset: explanations, follow-ups, outputs, a study, simulators, a report."""

    what = "pipeline"
    bad = frozenset({"cancelled", "paused"})

    @property
    def progress(self) -> Progress:
        return Progress(self.state, self.data["step"])

    def _read(self) -> PipelineData:
        return self._operations.pipelines.read(self.id)

    @property
    def results(self) -> dict[str, Any]:
        """What each finished step left, in numbers."""
        return dict(self.data["results"])

    def report(self, step: str = "report") -> Report:
        """The report that a step of it made."""
        return Report(self._operations, self._operations.reports.read(self.results[step]["report"]))


class Runs:
    """A study's runs."""

    def __init__(self, operations: Operations, slug: str) -> None:
        self._operations, self._slug = operations, slug

    def __iter__(self) -> Iterator[Run]:
        return (Run(self._operations, one) for one in self._operations.runs.all(self._slug))

    def create(self, **choices: Unpack[NewRun]) -> Run:
        """Create a simulator's run. Nothing is sent before ``start``."""
        return Run(self._operations, self._operations.runs.create(self._slug, **choices))

    def get(self, id: int) -> Run:
        """A run by its number."""
        return Run(self._operations, self._operations.runs.read(id))


class Reports:
    """A study's reports."""

    def __init__(self, operations: Operations, slug: str) -> None:
        self._operations, self._slug = operations, slug

    def __iter__(self) -> Iterator[Report]:
        return (Report(self._operations, one) for one in self._operations.reports.all(self._slug))

    def create(self, **choices: Unpack[Choices]) -> Report:
        """Ask for a report; ``wait`` for it."""
        return Report(self._operations, self._operations.reports.create(self._slug, **choices))

    def get(self, id: int) -> Report:
        """A report by its number."""
        return Report(self._operations, self._operations.reports.read(id))

    def columns(self) -> list[ReportColumn]:
        """The columns that reports can group and filter by."""
        return self._operations.reports.report_columns(self._slug)


class Exports:
    """Your exports of a study."""

    def __init__(self, operations: Operations, slug: str) -> None:
        self._operations, self._slug = operations, slug

    def __iter__(self) -> Iterator[Export]:
        return (Export(self._operations, one) for one in self._operations.exports.all(self._slug))

    def create(self, **choices: Unpack[ExportSent]) -> Export:
        """Ask for a file of judgments, which may have millions; ``wait`` for it."""
        return Export(self._operations, self._operations.exports.create(self._slug, **choices))


class Pipelines:
    """The pipelines that you can see."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def __iter__(self) -> Iterator[Pipeline]:
        return (Pipeline(self._operations, one) for one in self._operations.pipelines.all())

    def create(self, **choices: Unpack[NewPipeline]) -> Pipeline:
        """Start a recipe on a dataset; ``wait`` for it."""
        return Pipeline(self._operations, self._operations.pipelines.create(**choices))

    def get(self, id: int) -> Pipeline:
        """A pipeline by its number."""
        return Pipeline(self._operations, self._operations.pipelines.read(id))
