"""Import of judgments that were collected elsewhere: any file with one row per judgment, and MTurk's batch files."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import IO, Any

from django.db import transaction

from annotator.hit_types.base import JSON, FieldErrors, HitType
from annotator.hit_types.registry import hit_type_get
from annotator.models import AuditAction, Dataset, Item, Rater, Study
from annotator.services.audit import audit_write
from annotator.services.imports.faults import DryRun, FaultLog, UnreadableRest
from annotator.services.imports.item_facts import Facts, gold_of, rater_attributes_store
from annotator.services.imports.judgments_header import columns_as_declared, columns_settle
from annotator.services.imports.judgments_staging import (
    StagedJudgment,
    judgments_stage,
    judgments_stage_open,
    judgments_store,
)
from annotator.services.imports.readers import ImportTable, Line, table_open
from annotator.services.imports.staging import stage_row, staged_store, staging
from annotator.services.imports.value_columns import (
    KEY_SEPARATOR,
    MTURK_INPUT,
    MTURK_STATUS,
    Gathered,
    JudgmentColumns,
    Reading,
    cell_text,
)

CHUNK = 2_000
UNNAMED = "unnamed"
_KEY_LIMIT = int(Item._meta.get_field("key").max_length or 0)
_RATER_LIMIT = int(Rater._meta.get_field("name").max_length or 0)


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


def judgments_import(
    *, study: Study, file: IO[bytes], name: str, columns: JudgmentColumns, dry_run: bool = False
) -> JudgmentsResult:
    """Read judgments from a file into a study: all rows or none.

    In a study of ``external_labels`` the items come from the file too, while it is a draft; in any other study
    every item must be there, and each response passes the HIT type's own parser. Raters get the study's own namespace,
    so that a name in a file is never confused with a user account. A judgment that exists already with the same content
    is left unchanged. Raises ``ImportRefused`` with every fault; then nothing is written.
    """
    log = FaultLog(name)
    result = JudgmentsResult(dry_run=dry_run)
    with suppress(DryRun), transaction.atomic():
        study = Study.objects.select_for_update().get(pk=study.pk)
        job = _Job(study, file, name, columns, log, result)
        with suppress(UnreadableRest):
            job.prepare()
            if job.kind.external:
                job.make_items()
            job.judge()
        log.check()
        source = f"import:{study.slug}"
        rows, result.raters, result.judgments = judgments_store(
            study_pk=study.pk, source=source, file=name, item_column=columns.item_title, log=log
        )
        if not rows:
            log.add("has no rows")
        log.check()
        rater_attributes_store(source=source, attributes=job.facts.raters)
        result.rows, result.unchanged = rows, rows - result.judgments
        if dry_run:
            raise DryRun
        counts = {"rows": rows, "judgments": result.judgments, "raters": result.raters}
        audit_write(action=AuditAction.JUDGMENTS_IMPORTED, study=study, target=name, after=counts)
    return result


class _Job:
    """One import: the file is read once for its labels, once for its items (external types), once for its judgments."""

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
        self.kind: HitType = hit_type_get(study.hit_type)
        self.columns = columns
        self.variables: list[JSON] = []
        self.one_name: dict[str, dict[str, str]] = {}
        self.facts = Facts(columns, log)

    def table(self, log: FaultLog) -> ImportTable:
        """Open the file at its beginning."""
        self.file.seek(0)
        return table_open(self.file, name=self.name, log=log)

    def prepare(self) -> None:
        """Fill in what ``columns`` leaves open, from the header (JSON lines: from the first row)."""
        table = self.table(self.log)
        header = table.columns
        if header is None:
            with suppress(UnreadableRest):
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
        if self.log:
            raise UnreadableRest

    def first_look(self) -> Iterator[Line]:
        """The rows, before their judgments are read; their faults are reported here, once."""
        with suppress(UnreadableRest):
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
            self.result.notes.append(f"{rejected} rows left out: their {MTURK_STATUS} is Rejected.")

    # -- items of external labels -----------------------------------------------------------------

    def make_items(self) -> None:
        """Declare the variables found in the file, and create an item for each name in the item column."""
        known = self.study.items.values_list("payload", flat=True).first()
        if known is not None:
            self.variables = known["variables"]
            self.columns = columns_as_declared(self.columns, known["variables"])
        gathered = Gathered(self.columns)
        reading = Reading(self.columns)
        for _, values in self.first_look():
            with suppress(FieldErrors):
                for variable, _, label in reading.external(values):
                    gathered.add(variable, label)
            with suppress(FieldErrors):
                for name, label in gold_of(reading, values).items():
                    gathered.add(name.partition(".")[0], label)
        self.one_name = gathered.one_name()
        self.result.notes += gathered.notes(self.one_name)
        if known is None:
            try:
                self.variables = gathered.variables()
            except FieldErrors as error:
                for column, message in error.errors.items():
                    self.log.add(message, field=column)
                raise UnreadableRest from None
        self.result.variables = self.variables
        dataset, _ = Dataset.objects.get_or_create(workspace=self.study.workspace, name=self.study.slug)
        seen: set[str] = set(self.study.items.values_list("key", flat=True))
        if self.study.state != Study.State.DRAFT:
            return
        self.facts.gather(self.first_look(), Reading(self.columns, self.one_name))
        if self.log:
            raise UnreadableRest
        with staging() as copy:
            for line, values in self.first_look():
                key = self.columns.key(values)
                if not key or key in seen or len(key) > _KEY_LIMIT:
                    continue  # reported when its judgment is read
                seen.add(key)
                shown = self._shown(values) or key
                fact = self.facts.item(key)
                row: JSON = {
                    "key": key,
                    "instance": fact.instance,
                    "text": shown,
                    "variables": self.variables,
                }
                row |= {"gold": fact.gold} if fact.gold else {}
                try:
                    draft = replace(self.kind.parse_item(row), attributes=fact.attributes)
                    if self.columns.cluster:  # all units of an instance share its input
                        draft = replace(draft, material=replace(draft.material, instance_input=fact.instance))
                    stage_row(copy, line, draft, unnamed="")
                except FieldErrors as error:
                    for column, message in error.errors.items():
                        self.log.add(
                            f"{column}: {message}", line=line, field=self.columns.item_title, value=key
                        )
                    break
        staged = staged_store(
            study_pk=self.study.pk,
            dataset_pk=dataset.pk,
            workspace_pk=self.study.workspace_id,
            log=self.log,
            columns=(),
        )
        self.result.items = staged.written.get("items", 0)
        if self.log:
            raise UnreadableRest

    def _shown(self, values: dict[str, Any]) -> str:
        lines = [(name.removeprefix(MTURK_INPUT), cell_text(values.get(name))) for name in self.columns.show]
        return "\n".join(f"{name}: {text}" for name, text in lines if text)

    # -- judgments --------------------------------------------------------------------------------

    def judge(self) -> None:
        """Check and stage every row, a chunk at a time; the items' payloads are fetched with each chunk."""
        judgments_stage_open()
        numbers: Counter[str] = Counter()
        skipped = 0
        rows = self.rows()
        while chunk := list(itertools.islice(rows, CHUNK)):
            keys = {self.columns.key(values) for _, values in chunk}
            items = {
                key: (pk, payload)
                for pk, key, payload in self.study.items.filter(key__in=keys).values_list(
                    "pk", "key", "payload"
                )
            }
            staged = []
            for line, values in chunk:
                if self._left_out(values):
                    skipped += 1
                    continue
                judgment = self._judgment(line, values, items, numbers)
                if judgment is not None:
                    staged.append(judgment)
            if not self.log:
                judgments_stage(staged)
        if skipped:
            self.result.notes.append(f"{skipped} rows left out: nothing in their value columns.")

    def _left_out(self, values: dict[str, Any]) -> bool:
        """Whether a row has no label: its cells are blank (if that is allowed) or have a label that means no answer."""
        cells = [cell_text(values.get(value.column)) for value in self.columns.values]
        if any(map(self.columns.spelling.read, cells)):
            return False
        return self.columns.skip_blank or any(cells)

    def _judgment(
        self, line: int, values: dict[str, Any], items: dict[str, tuple[int, JSON]], numbers: Counter[str]
    ) -> StagedJudgment | None:
        before = self.log.total
        key = self.columns.key(values)
        if not key:
            self._blank_item(line, values)
        elif len(self.columns.item_columns) > 1 and key.count(KEY_SEPARATOR) >= len(
            self.columns.item_columns
        ):
            self.log.add(
                f"has {KEY_SEPARATOR!r} inside a cell, which joins the cells of an item; put another character there",
                line=line, field=self.columns.item_title, value=key,
            )  # fmt: skip
        elif key not in items:
            expected = (
                f"at most {_KEY_LIMIT} characters"
                if len(key) > _KEY_LIMIT
                else "there is no such item in the study"
            )
            self.log.add(expected, line=line, field=self.columns.item_title, value=key)
        rater = self._rater(line, values, key, numbers)
        seconds = self._seconds(line, values)
        if self.columns.rater_attributes and rater:
            self.facts.add_rater(line, rater, values)
        response: JSON = {}
        if key in items:
            response = self._response(line, values, items[key][1])
        if self.log.total > before:
            return None
        return StagedJudgment(
            line=line,
            item_pk=items[key][0],
            item=key,
            rater=rater,
            simulator=rater in self.columns.simulators,
            response=response,
            seconds=seconds,
        )

    def _blank_item(self, line: int, values: dict[str, Any]) -> None:
        for column in self.columns.item_columns:
            if not cell_text(values.get(column)):
                self.log.add("is blank; expected the item's name", line=line, field=column)

    def _rater(self, line: int, values: dict[str, Any], key: str, numbers: Counter[str]) -> str:
        if self.columns.rater_name:
            return self.columns.rater_name
        if self.columns.unnamed:
            numbers[key] += 1
            return f"{UNNAMED} {numbers[key]}"
        rater = cell_text(values.get(self.columns.rater))
        if not rater:
            self.log.add("is blank; expected the rater's name", line=line, field=self.columns.rater)
        elif len(rater) > _RATER_LIMIT:
            self.log.add(
                f"at most {_RATER_LIMIT} characters", line=line, field=self.columns.rater, value=rater
            )
        return rater

    def _seconds(self, line: int, values: dict[str, Any]) -> float | None:
        text = cell_text(values.get(self.columns.seconds)) if self.columns.seconds else ""
        if not text:
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds <= 1e7:
            self.log.add(
                "expected seconds, a number from 0", line=line, field=self.columns.seconds, value=text
            )
        return seconds

    def _response(self, line: int, values: dict[str, Any], payload: JSON) -> JSON:
        reading = Reading(self.columns, self.one_name)
        try:
            if self.kind.external:
                declared = {v["name"] for v in self.variables}
                raw: JSON = {
                    f"{variable}.{unit}" if unit else variable: label
                    for variable, unit, label in reading.external(values)
                    if variable in declared
                }
            else:
                raw = reading.asked(self.kind, payload, values)
            return self.kind.parse_whole(payload, raw, self._arm(payload, raw))
        except FieldErrors as error:
            for name, message in error.errors.items():
                column = self._column(name)
                self.log.add(message, line=line, field=column, value=values.get(column))
            return {}

    def _arm(self, payload: JSON, raw: JSON) -> JSON | None:
        """The arm of a row, inferred from the fields that it answers; the first arm if none fits, so that faults have a
        name."""
        count = self.kind.arms(payload)
        if count < 2:
            return None
        given = {name for name, value in raw.items() if cell_text(value)}
        for arm in range(count):
            stages = self.kind.stages(payload, {"arm": arm})
            if given == {asked.name for stage in stages for asked in stage.fields}:
                return {"arm": arm}
        return None

    def _column(self, field_name: str) -> str:
        """The column of the file that a field comes from, so that faults name the file's own columns."""
        names = {v.name: v.column for v in self.columns.values} | {
            v.column: v.column for v in self.columns.values
        }
        only = self.columns.values[0].column if len(self.columns.values) == 1 else field_name
        return names.get(field_name) or names.get(field_name.partition(".")[0]) or only


__all__ = ["JudgmentColumns", "JudgmentsResult", "judgments_import"]
