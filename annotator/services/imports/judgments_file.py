"""Read a file of judgments: decide what its columns mean, read its rows, and expand tables of label counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from annotator.core.csv_cells import cell_restored
from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.core.tables.rows import Line, TableFile
from annotator.core.words import plural
from annotator.hit_types.base import JSON, HitType
from annotator.models import Study
from annotator.models.account import UNNAMED
from annotator.selectors.study import study_hit_type
from annotator.services.imports.item_facts import Facts
from annotator.services.imports.judgments_header import columns_settle
from annotator.services.imports.label_counts import counts_taken_apart
from annotator.services.imports.readers import table_open
from annotator.services.imports.value_columns import (
    MTURK_STATUS,
    JudgmentColumns,
)


@dataclass
class JudgmentsResult:
    """What an import wrote; ``unchanged`` judgments existed already. ``notes`` say what was left out and why."""

    rows: int = 0
    judgments: int = 0
    unchanged: int = 0
    raters: int = 0
    items: int = 0
    variables: list[JSON] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dry_run: bool = False

    def as_json(self) -> dict[str, Any]:
        return vars(self)


class JudgmentsFile:
    """A file of judgments, which can be read several times. Faults go to ``log``, notes to ``result``."""

    def __init__(
        self,
        study: Study,
        file: IO[bytes],
        name: str,
        columns: JudgmentColumns,
        log: FaultLog,
        result: JudgmentsResult,
    ):
        self.study, self.file, self.name, self.log, self.result = study, file, name, log, result
        self.kind: HitType = study_hit_type(study)
        self.columns = columns
        self.facts = Facts(columns, log)

    def table(self, log: FaultLog) -> TableFile:
        """Open the file at its beginning. Cells are as they were before an export made them safe for spreadsheets."""
        self.file.seek(0)
        table = table_open(self.file, name=self.name, log=log)
        rows: Iterator[tuple[int, dict[str, Any]]] = (
            (line, {name: cell_restored(cell) for name, cell in values.items()})
            for line, values in table.rows
        )
        if self.columns.counts:
            rows = counts_taken_apart(rows, self.columns.counts, log)
        return TableFile(table.columns, rows)

    def prepare(self) -> None:
        """Fill in what ``columns`` leaves open, from the header (JSON lines: from the first row)."""
        table = self.table(self.log)
        header = table.columns
        if header is None:
            with suppress(FileRefused):
                _, first = next(self.table(FaultLog(self.name)).rows, (0, {}))
                header = tuple(first)
        self._settle(header or (), strict=table.columns is not None)

    def _settle(self, header: tuple[str, ...], *, strict: bool) -> None:
        self.columns = columns_settle(
            self.columns, header=header, strict=strict, external=self.kind.external, log=self.log
        )
        self.facts = Facts(self.columns, self.log)
        if self.columns.unnamed:
            self.result.notes.append(
                f"No column names the raters: they are {UNNAMED} 1, 2, ... within each item, and no such name is a person."
            )
        self.log.check()

    def first_look(self) -> Iterator[Line]:
        """The rows, before their judgments are read; their faults are reported here, once."""
        with suppress(FileRefused):
            for line, values in self.table(FaultLog(self.name)).rows:
                if values.get(MTURK_STATUS) != "Rejected":
                    yield line, values

    def rows(self) -> Iterator[Line]:
        """The rows that count: all except those marked as rejected in MTurk."""
        rejected = 0
        for line, values in self.table(self.log).rows:
            if values.get(MTURK_STATUS) == "Rejected":
                rejected += 1
                continue
            yield line, values
        if rejected:
            self.result.notes.append(
                f"{plural(rejected, 'row')} left out: {'its' if rejected == 1 else 'their'} {MTURK_STATUS} is Rejected."
            )
