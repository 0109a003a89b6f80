"""Import of judgments that were collected elsewhere: any file with one row per judgment, and MTurk's batch files."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import IO, Any

from django.db import transaction

from annotator.core.labels import clean_label
from annotator.core.tables.faults import FaultLog
from annotator.core.words import plural
from annotator.hit_types.base import JSON, FieldErrors
from annotator.hit_types.confidence import answer_of, without_confidence
from annotator.models import AuditAction, Rater, Study
from annotator.models.account import UNNAMED
from annotator.services.audit import audit_write
from annotator.services.imports.external_items import KEY_LIMIT, Declared, ExternalItems
from annotator.services.imports.item_facts import rater_attributes_store
from annotator.services.imports.judgments_file import JudgmentsFile, JudgmentsResult
from annotator.services.imports.judgments_staging import (
    StagedJudgment,
    judgments_stage,
    judgments_stage_open,
    judgments_store,
)
from annotator.services.imports.value_columns import KEY_SEPARATOR, JudgmentColumns, Reading, cell_text

CHUNK = 2_000
_RATER_LIMIT = int(Rater._meta.get_field("name").max_length or 0)


def judgments_import(
    *, study: Study, file: IO[bytes], name: str, columns: JudgmentColumns, dry_run: bool = False
) -> JudgmentsResult:
    """Read judgments from a file into a study: all rows or none.

    In a study of ``external_labels`` the items come from the file too, while it is a draft; in any other study
    every item must be there, and each response passes the HIT type's own parser. Raters get the study's own namespace,
    so that a name in a file is never confused with a user account. A judgment that exists already with the same content
    is left unchanged. Raises ``FileRefused`` with every fault; then nothing is written.
    """
    log = FaultLog(name)
    result = JudgmentsResult(dry_run=dry_run)
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=study.pk)
        job = _Job(study, file, name, columns, log, result)
        job.prepare()
        if job.kind.external:
            job.declared = ExternalItems(job).make()
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
            transaction.set_rollback(True)
            return result
        counts = {"rows": rows, "judgments": result.judgments, "raters": result.raters}
        audit_write(action=AuditAction.JUDGMENTS_IMPORTED, study=study, target=name, after=counts)
    return result


class _Job(JudgmentsFile):
    """One import: the file is read once for its labels, once for its items (external types), once for its judgments."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.declared = Declared()
        #: Rows that were left out, rows that became judgments, and those of them without an answer.
        self.skipped, self.read, self.unanswered = 0, 0, 0
        self.simulators = frozenset(map(clean_label, self.columns.simulators))
        self.raters: set[str] = set()

    def judge(self) -> None:
        """Check and stage every row, a chunk at a time; the items' payloads are fetched with each chunk."""
        judgments_stage_open()
        numbers: Counter[str] = Counter()
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
                    self.skipped += 1
                    continue
                judgment = self._judgment(line, values, items, numbers)
                if judgment is not None:
                    staged.append(judgment)
            if not self.log:
                judgments_stage(staged)
        self._tell_unlabelled()
        self._check_simulators()

    def _check_simulators(self) -> None:
        """A note on names that no rater has. They may belong to raters of a later file, or be misspelled: then the models
        that they mean count as people."""
        strange = self.simulators - self.raters
        known = Rater.objects.filter(source=f"import:{self.study.slug}", name__in=strange)
        if strange := strange - set(known.values_list("name", flat=True)):
            names, raters = (", ".join(map(repr, sorted(each)[:20])) for each in (strange, self.raters))
            self.result.notes.append(
                f"simulators: no rater is called {names}, so no rater is a model by that name; the file's raters are {raters}"
            )

    def _left_out(self, values: dict[str, Any]) -> bool:
        """Whether a row without a label isn't stored: because that was asked for, or because the HIT type's parser needs an
        answer. It refuses blank cells; a label that means no answer is left out."""
        if not self.columns.unlabelled(values):
            return False
        blank = not any(cell_text(values.get(value.column)) for value in self.columns.values)
        return self.columns.skip_blank or not (self.kind.external or blank)

    def _tell_unlabelled(self) -> None:
        """Notes on the rows without a label; a file that has no label at all is a fault, since its columns are probably
        the wrong ones."""
        skipped, stored, notes = self.skipped, self.unanswered, self.result.notes
        if skipped:
            notes.append(
                f"{plural(skipped, 'row')} left out: nothing in {'its' if skipped == 1 else 'their'} value columns."
            )
        if stored and stored == self.read and not self.log:
            columns = ", ".join(value.column for value in self.columns.values)
            self.log.add("no row has a label; expected one in at least one row", field=columns)
        elif stored:
            notes.append(
                f"{plural(stored, 'row')} without a label: stored as {'a judgment' if stored == 1 else 'judgments'} without an "
                "answer, which reports leave out and count, or count as wrong if you choose that."
            )

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
                f"at most {KEY_LIMIT} characters"
                if len(key) > KEY_LIMIT
                else "there is no such item in the study"
            )
            self.log.add(expected, line=line, field=self.columns.item_title, value=key)
        rater = self._rater(line, values, key, numbers)
        self.raters.add(rater)
        seconds = self._seconds(line, values)
        if self.columns.rater_attributes and rater:
            self.facts.add_rater(line, rater, values)
        response: JSON = {}
        if key in items:
            response = self._response(line, values, items[key][1])
        if self.log.total > before:
            return None
        self.read += 1
        self.unanswered += not response
        return StagedJudgment(
            line=line,
            item_pk=items[key][0],
            item=key,
            rater=rater,
            simulator=rater in self.simulators,
            response=response,
            answer=answer_of(self.kind, response),
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
        if self.kind.external and self.columns.unlabelled(values):
            return {}
        reading = Reading(self.columns, self.declared.one_name)
        try:
            if self.kind.external:
                declared = {v["name"] for v in self.declared.variables}
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
        kind = without_confidence(self.kind)
        given = {name for name, value in answer_of(self.kind, raw).items() if cell_text(value)}
        for arm in range(count):
            stages = kind.stages(payload, {"arm": arm})
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
