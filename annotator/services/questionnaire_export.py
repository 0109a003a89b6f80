"""Every answer to a study's questionnaires, for its researchers: one row for each person and question."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from django.core.exceptions import ValidationError

from annotator.core.csv_cells import cell_neutral
from annotator.hit_types.base import Field
from annotator.models import AuditAction, Export, QuestionnaireAnswer, Study, Tombstone, User
from annotator.selectors.questionnaire import questionnaires_of
from annotator.selectors.snapshot import snapshot_content
from annotator.services.audit import audit_write

COLUMNS = (
    "rater", "rehearsal", "moment", "version", "study_version", "questionnaire", "question", "asked", "state", "answer",
    "answer_words", "answered_at",
)  # fmt: skip
#: What a row says of its question.
ANSWERED, BLANK, NOT_ASKED, ERASED = "answered", "blank", "not_asked", "erased"
CHUNK = 500
Row = dict[str, Any]


def questionnaires_export(*, study: Study, format: str = "csv", by: User | None = None) -> Iterator[bytes]:
    """The answers as the bytes of a file, in chunks, and an entry in the audit trail. Rows have the columns ``COLUMNS``.

    Raters have the names that exports of judgments have; rehearsal raters are marked. ``state`` says whether the question was
    answered, left blank, or not asked because of an earlier answer. People whose data were deleted have no answers any more: each has one row with
    the state ``erased`` and nothing else, also if they hadn't answered. Whoever never saw the page has no row. Answers to several options are JSON
    lists. Cells of a CSV are made safe for spreadsheets; JSON lines are exact. Raises ``ValidationError`` for another format, before anything is read.
    """
    if format not in Export.Format.values:
        raise ValidationError({"format": f"expected one of: {', '.join(Export.Format.values)}"})
    audit_write(
        action=AuditAction.EXPORTED, study=study, by=by, after={"format": format, "form": "questionnaires"}
    )
    return (_json_lines if format == Export.Format.JSONL else _csv)(questionnaire_rows(study=study))


def questionnaire_rows(*, study: Study) -> Iterator[Row]:
    """The rows of the export, by person in the order in which they answered, then by question. One query, and one for each version of the study
    whose questionnaires were answered."""
    found = QuestionnaireAnswer.objects.filter(participation__study=study).order_by("pk")
    values = found.values_list(
        "participation__rater__name", "participation__rater__rehearsal", "moment", "version", "snapshot__number",
        "answered_at", "snapshot_id", "response",
    )  # fmt: skip
    fields = lru_cache(maxsize=None)(_fields)
    for *known, answered_at, snapshot, response in values.iterator(chunk_size=CHUNK):
        person: Row = dict(zip(COLUMNS, known, strict=False)) | {"answered_at": answered_at.isoformat()}
        for questionnaire, asked in fields(snapshot, person["moment"]):
            given = response.get(questionnaire, {})
            about = {"questionnaire": questionnaire, "question": asked.name, "asked": asked.label}
            yield person | about | _answer(asked, given)
    for _ in range(Tombstone.objects.filter(study=study.pk).count()):
        yield dict.fromkeys(COLUMNS, "") | {"state": ERASED}


def _fields(snapshot: int | None, moment: str) -> tuple[tuple[str, Field], ...]:
    """(questionnaire, question) of a version of the study, in the order of the page."""
    text = snapshot_content(snapshot).get(f"questionnaire_{moment}", "") if snapshot else ""
    return tuple(
        (questionnaire.name, asked)
        for questionnaire in questionnaires_of(text)
        for asked in questionnaire.stage.fields
    )


def _answer(asked: Field, given: Mapping[str, Any]) -> Row:
    if asked.name not in given:
        return {"state": BLANK if asked.applies(dict(given)) else NOT_ASKED, "answer": "", "answer_words": ""}
    value = given[asked.name]
    labels = {option.value: option.label for option in asked.options}
    said = [labels.get(one, str(one)) for one in (value if isinstance(value, list) else [value])]
    return {"state": ANSWERED, "answer": value, "answer_words": "; ".join(said)}


def _json_lines(rows: Iterator[Row]) -> Iterator[bytes]:
    for row in rows:
        yield (json.dumps({name: row[name] for name in COLUMNS}, ensure_ascii=False) + "\n").encode()


def _csv(rows: Iterator[Row]) -> Iterator[bytes]:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in rows:
        cells = [row[name] for name in COLUMNS]
        writer.writerow([cell_neutral(_cell(cell)) for cell in cells])
        yield out.getvalue().encode()
        out.seek(0)
        out.truncate()
    yield out.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
