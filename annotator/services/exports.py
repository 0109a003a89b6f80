"""Exports of judgments, streamed from a server-side cursor so that memory use doesn't grow with their number. There are
two forms. ``judgments`` has one row per judgment, with the response's fields as columns (CSV) or as one object (JSON
lines). ``ratings`` is the long table that every statistic works on, with one row per rating and what adjudicators made of its unit.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import logging
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.behaviour import NAMES as SIGNAL_NAMES
from annotator.core.behaviour import signals_read
from annotator.core.csv_cells import cell_neutral
from annotator.core.downloads import Download
from annotator.core.replica import reading_from, replica_read
from annotator.core.stored_files import orphans_delete
from annotator.models import AuditAction, Export, Judgment, Study, User
from annotator.selectors.adjudication import NOT_ADJUDICATED, SETTLED_COLUMNS, settled_labels_of
from annotator.selectors.judgment import ExclusionReasons, judgments_filter
from annotator.selectors.storage import storage_check
from annotator.selectors.study import study_hit_type
from annotator.services.audit import audit_write

log = logging.getLogger(__name__)

CHUNK = 2_000
#: Studies with more judgments are exported by a background job.
STREAMED = 100_000
KEPT_DAYS = 14
#: Where exports are in the default storage.
FOLDER = "exports"

_FIELDS = {
    "judgment": "id",
    "item": "item__key",
    "instance": "item__instance__key",
    "system": "item__explanation__system__name",
    "condition": "item__condition",
    "role": "item__role",
    "rater": "rater__name",
    "rater_kind": "rater__kind",
    "rehearsal": "rater__rehearsal",
    "source": "source",
    "standing": "standing",
    "language": "language",
    "presentation": "assignment__presentation",
    "seconds": "seconds",
    "version": "snapshot__number",
    "instructions_version": "instructions_seen__number",
    "withdrawn": "item__withdrawn_reason",
    "created_at": "created_at",
}
_RATING_FIELDS = (
    "judgment", "item", "instance", "system", "condition", "rater", "rater_kind", "rehearsal", "source", "standing",
    "version", "instructions_version", "withdrawn",
)  # fmt: skip
_INNER = ("item_id", "rater_id", "response")
#: Objects whose values become separate columns in CSV, by the prefix of those columns.
_SPREAD = {"signal": "signals", "response": "response"}
Row = dict[str, Any]


def judgments_export(
    *, study: Study, format: str = "csv", form: str = "judgments", filters: Mapping[str, str] | None = None
) -> Iterator[bytes]:
    """A study's judgments as the bytes of a file, in chunks. Only the filters, the form and the format are checked at
    once (``UnknownFilter``, ``ValidationError``); nothing is read before the first chunk is requested. CSV cells are
    made safe for spreadsheets (``cell_neutral``); JSON lines are exact.
    """
    rows = _checked(study, format, form, filters or {})
    _exported(study, format, form, filters or {})
    return _encoded(study, rows, format, form)


def _checked(study: Study, format: str, form: str, filters: Mapping[str, str]) -> Iterator[Row]:
    if format not in Export.Format.values:
        raise ValidationError({"format": f"expected one of: {', '.join(Export.Format.values)}"})
    if form not in Export.Form.values:
        raise ValidationError({"form": f"expected one of: {', '.join(Export.Form.values)}"})
    return _rows(study, form, filters)


def _exported(
    study: Study, format: str, form: str, filters: Mapping[str, str], by: User | None = None, target: str = ""
) -> None:
    """Record who exported what. Of a filter by rater, record only that there was one, since it identifies a person."""
    chosen = {name: "one rater" if name == "rater" else value for name, value in filters.items()}
    after = {"format": format, "form": form} | ({"filters": chosen} if chosen else {})
    audit_write(action=AuditAction.EXPORTED, study=study, by=by, target=target, after=after)


def _rows(study: Study, form: str, filters: Mapping[str, str]) -> Iterator[Row]:
    found = judgments_filter(study=study, filters=filters).order_by("id")
    return _judgments(study, found) if form == Export.Form.JUDGMENTS else _ratings(study, found)


def _encoded(study: Study, rows: Iterator[Row], format: str, form: str) -> Iterator[bytes]:
    if format == Export.Format.JSONL:
        return _json_lines(rows)
    return _csv(rows, _header(study, form))


def _judgments(study: Study, found: Any) -> Iterator[Row]:
    reasons = ExclusionReasons(study)
    names = tuple(_FIELDS)
    for values in found.values_list(*_FIELDS.values(), *_INNER, "signals").iterator(chunk_size=CHUNK):
        *known, item, rater, response, signals = values
        row: Row = dict(zip(names, known, strict=True))
        row["created_at"] = row["created_at"].isoformat()
        row["presentation"] = row["presentation"] or {}
        row["excluded"] = reasons.of(row["judgment"], item, rater)
        row["signals"] = signals_read(signals)
        row["response"] = response
        yield row


def _ratings(study: Study, found: Any) -> Iterator[Row]:
    reasons, kind = ExclusionReasons(study), study_hit_type(study)
    adjudicated = settled_labels_of(study)
    fields = [_FIELDS[name] for name in _RATING_FIELDS]
    rows = found.values_list(*fields, *_INNER, "item__payload").iterator(chunk_size=CHUNK)
    for *known, item, rater, response, payload in rows:
        row: Row = dict(zip(_RATING_FIELDS, known, strict=True))
        row["excluded"] = reasons.of(row["judgment"], item, rater)
        for rating in kind.to_ratings(payload, response):
            unit = f"{row['item']}.{rating.unit}" if rating.unit else row["item"]
            settled = adjudicated.get(item, {}).get((rating.variable, rating.unit), NOT_ADJUDICATED)
            about = dict(zip(SETTLED_COLUMNS, settled.cells, strict=True))
            yield row | {"unit": unit, "variable": rating.variable, "value": rating.value} | about


def _header(study: Study, form: str) -> list[str]:
    if form == Export.Form.RATINGS:
        return [*_RATING_FIELDS, "excluded", "unit", "variable", "value", *SETTLED_COLUMNS]
    signals = [f"signal.{name}" for name in SIGNAL_NAMES]
    return [*_FIELDS, "excluded", *signals, *(f"response.{name}" for name in response_fields(study))]


def response_fields(study: Study) -> list[str]:
    """The fields that occur in the study's responses, sorted."""
    table = connection.ops.quote_name(Judgment._meta.db_table)
    with reading_from().cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT jsonb_object_keys(response) FROM {table} WHERE study_id = %s ORDER BY 1",  # noqa: S608
            [study.pk],
        )
        return [name for (name,) in cursor.fetchall()]


def _json_lines(rows: Iterator[Row]) -> Iterator[bytes]:
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    lines: list[str] = []
    for row in rows:
        lines.append(write(row))
        if len(lines) >= CHUNK:
            yield ("\n".join(lines) + "\n").encode()
            lines.clear()
    if lines:
        yield ("\n".join(lines) + "\n").encode()


def _csv(rows: Iterator[Row], names: list[str]) -> Iterator[bytes]:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([cell_neutral(name) for name in names])
    columns = [_column(name) for name in names]
    for number, row in enumerate(rows, 1):
        cells = [row[name] if not within else row[within].get(name) for within, name in columns]
        writer.writerow([cell_neutral(_cell(cell)) for cell in cells])
        if number % CHUNK == 0:
            yield out.getvalue().encode()
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode()


def _column(name: str) -> tuple[str, str]:
    """(object, name) of a column: the object of a row that contains the cell, empty for the row itself, and the cell's
    name.

    >>> _column("response.answer"), _column("item")
    (('response', 'answer'), ('', 'item'))
    """
    first, dot, rest = name.partition(".")
    return (_SPREAD[first], rest) if dot and first in _SPREAD else ("", name)


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


# -- by a job -----------------------------------------------------------------------------------------


def export_request(
    *,
    study: Study,
    by: User,
    format: str = "csv",
    form: str = "judgments",
    filters: Mapping[str, str] | None = None,
) -> Export:
    """Request an export that a worker builds.

    Raises ``UnknownFilter`` and ``ValidationError`` as ``judgments_export`` does.
    """
    _checked(study, format, form, filters or {})
    storage_check(workspace=study.workspace_id)
    export = Export(study=study, created_by=by, format=format, form=form, filters=dict(filters or {}))
    export.full_clean(exclude=["filters"])
    with transaction.atomic():
        export.save()
        _exported(study, format, form, filters or {}, by, f"export {export.pk}")
        transaction.on_commit(lambda: _queue(export.pk))
    return export


def _queue(pk: int) -> None:
    jobs.enqueue("annotator.export_build", export_pk=pk)


def export_build(*, export_pk: int) -> bool:
    """Build a queued export; returns whether this call did it.

    Does nothing while another worker builds it, or once it is built. A worker that is killed has changed
    nothing, and the sweeper queues the export again. No transaction is open while rows are read and written.
    """
    with jobs.lock_held("export", export_pk) as mine:
        return mine and _build(export_pk)


def _build(pk: int) -> bool:
    export = Export.objects.select_related("study").filter(pk=pk, state=Export.State.QUEUED).first()
    if export is None:
        return False
    try:
        _write(export)
        export.state = Export.State.DONE
    except Exception as error:  # whatever the error is, the waiting researcher must see that it failed
        log.exception("export %s failed", pk)
        export.state, export.file = Export.State.FAILED, ""
        export.error = f"{type(error).__name__}: {error}"[:500]
    export.finished_at = timezone.now()
    export.save()
    return True


def _write(export: Export) -> None:
    with tempfile.TemporaryFile() as whole:
        export.rows = replica_read(lambda: _fill(whole, export))
        export.bytes = whole.tell()
        whole.seek(0)
        name = f"{FOLDER}/{export.pk}-{secrets.token_urlsafe(12)}.{export.format}.gz"
        export.file = default_storage.save(name, File(whole))


def _fill(whole: IO[bytes], export: Export) -> int:
    """Write the file from its beginning; returns the number of rows."""
    whole.seek(0)
    whole.truncate()
    rows = _Counted(_rows(export.study, export.form, export.filters))
    with gzip.GzipFile(fileobj=whole, mode="wb", compresslevel=4, mtime=0) as packed:
        for chunk in _encoded(export.study, iter(rows), export.format, export.form):
            packed.write(chunk)
    return rows.count


class _Counted:
    """Counts rows as they pass through."""

    def __init__(self, rows: Iterator[Row]):
        self.rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self.rows:
            self.count += 1
            yield row


def export_download(export: Export) -> Download | None:
    """The file of a finished export; None if it has been deleted."""
    try:
        file = default_storage.open(export.file)
    except FileNotFoundError:
        return None
    audit_write(action=AuditAction.DOWNLOADED, study=export.study, target=f"export {export.pk}")
    name = f"{export.study.slug}-{export.form}-{export.pk}.{export.format}.gz"
    return Download(file, name, "application/gzip")


def exports_sweep() -> int:
    """Queue exports again that were never built, and delete expired files and those that a killed worker left; returns how many were queued."""
    now = timezone.now()
    waiting = Export.objects.filter(state=Export.State.QUEUED, created_at__lt=now - timedelta(minutes=1))
    pks = list(waiting.values_list("pk", flat=True)[:100])
    for pk in pks:
        _queue(pk)
    old = Export.objects.filter(created_at__lt=now - timedelta(days=KEPT_DAYS))
    for export in old.exclude(state=Export.State.QUEUED)[:100]:
        if export.file:
            default_storage.delete(export.file)
        export.delete()
    orphans_delete(FOLDER, known=_files_known)
    return len(pks)


def _files_known(names: set[str]) -> Iterable[str]:
    return Export.objects.filter(file__in=names).values_list("file", flat=True)
