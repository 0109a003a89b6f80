"""Imports in the background: request one, carry it out in a worker, report its progress, cancel it, resume lost ones."""

from __future__ import annotations

import csv
import io
import logging
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import IO, Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connections, transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.acting import JOB, Acting, acting_as
from annotator.core.csv_cells import cell_neutral
from annotator.core.stored_files import orphans_delete
from annotator.core.tables.faults import FileFault, FileRefused, faults_kept
from annotator.models import FileImport, Study, User
from annotator.selectors.storage import storage_check
from annotator.services.imports.image_addresses import SECONDS_ALONE
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.material_import import material_import
from annotator.services.imports.pending_uploads import Parked
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn

log = logging.getLogger(__name__)
KEPT_DAYS = 14
#: Where lists of problems are in the default storage.
FOLDER = "imports-problems"
#: How many problems the downloadable file lists, and how many the page shows.
LISTED, SHOWN = 10_000, 100
EVERY_SECONDS = 0.5


class Cancelled(Exception):
    """Somebody cancelled the import; the transaction is rolled back."""


def in_background(size: int) -> bool:
    """Whether a file of ``size`` bytes is too large to import within a request."""
    return size > int(settings.IMPORT_BACKGROUND_BYTES)


def file_import_request(
    *, study: Study, by: User, kind: str, waiting: Parked, options: Mapping[str, Any]
) -> FileImport:
    """Queue the import of an uploaded file. ``options`` are those of ``material_options`` or ``judgments_options``.

    Raises ``ValidationError`` if the workspace has no room for the file.
    """
    size = default_storage.size(waiting.path)
    storage_check(workspace=study.workspace_id, more=size)
    made = FileImport(
        study=study,
        created_by=by,
        kind=kind,
        name=waiting.name,
        file=waiting.path,
        size=size,
        options=dict(options),
    )
    made.full_clean(exclude=["options", "result", "problems"])
    with transaction.atomic():
        made.save()
        transaction.on_commit(lambda: _queue(made.pk))
    return made


def material_options(
    *,
    mapping: Mapping[str, str],
    constants: Mapping[str, str],
    attributes: Sequence[str] = (),
    replace: bool = False,
) -> dict[str, Any]:
    return {
        "mapping": dict(mapping),
        "constants": dict(constants),
        "attributes": list(attributes),
        "replace": replace,
    }


def judgments_options(columns: JudgmentColumns) -> dict[str, Any]:
    """The columns as JSON.

    >>> columns = JudgmentColumns("key", (ValueColumn("label"),), simulators=frozenset({"gpt-x"}))
    >>> judgments_columns(judgments_options(columns)) == columns
    True
    """
    return {"columns": asdict(columns) | {"simulators": sorted(columns.simulators)}}


def judgments_columns(options: Mapping[str, Any]) -> JudgmentColumns:
    known = dict(options["columns"])
    values = tuple(
        ValueColumn(**one | {"labels": tuple(one["labels"]), "listed": tuple(one["listed"])})
        for one in known.pop("values")
    )
    lists = ("show", "missing", "attributes", "rater_attributes", "counts")
    known |= {name: tuple(known.get(name, ())) for name in lists}
    known["item"] = known["item"] if isinstance(known["item"], str) else tuple(known["item"])
    return JudgmentColumns(**known | {"values": values, "simulators": frozenset(known["simulators"])})


def _queue(pk: int) -> None:
    jobs.enqueue("annotator.file_import_run", file_import_pk=pk)


def file_import_cancel(*, file_import: FileImport) -> bool:
    """Cancel an import; nothing is stored. Returns False if it had already ended."""
    mine = FileImport.objects.filter(pk=file_import.pk)
    if mine.filter(state=FileImport.State.QUEUED).update(
        state=FileImport.State.CANCELLED, cancel_asked=True, finished_at=timezone.now()
    ):
        _remove(file_import.file)
        return True
    return bool(mine.filter(state=FileImport.State.RUNNING).update(cancel_asked=True))


def file_import_run(*, file_import_pk: int) -> bool:
    """Carry out an import; returns whether this call finished it.

    All rows are written in one transaction together with the result, so a worker that is killed has changed nothing
    and the import can start again. Called twice, or while another worker reads the file, it does nothing.
    """
    with jobs.lock_held("file import", file_import_pk) as mine:
        if not mine:
            return False
        job = FileImport.objects.select_related("study").filter(pk=file_import_pk).first()
        if job is None or not job.unfinished:
            return False
        FileImport.objects.filter(pk=job.pk).update(state=FileImport.State.RUNNING, bytes_read=0)
        _carry_out(job)
        _remove(job.file)
        return True


def _carry_out(job: FileImport) -> None:
    ended: dict[str, Any]
    try:
        with (
            acting_as(Acting(via=JOB, user=lambda: job.created_by)),
            default_storage.open(job.file, "rb") as file,
            _progress(job, file) as read,
            faults_kept(LISTED),
            transaction.atomic(),
        ):
            result = _import(job, read)
            if FileImport.objects.select_for_update().get(pk=job.pk).cancel_asked:
                raise Cancelled
            _end(job, state=FileImport.State.DONE, result=result, bytes_read=job.size)
        return
    except Cancelled:
        ended = {"state": FileImport.State.CANCELLED}
    except FileRefused as refused:
        ended = {
            "state": FileImport.State.REFUSED,
            "problems": [fault.as_json() for fault in refused.faults[:SHOWN]],
            "problem_count": refused.total,
            "problems_file": _problems_file(job, refused.faults),
        }
    except Exception as error:  # whatever the error is, the waiting researcher must see that it failed
        log.exception("import %s failed", job.pk)
        ended = {"state": FileImport.State.FAILED, "error": f"{type(error).__name__}: {error}"[:500]}
    _end(job, **ended)


def _end(job: FileImport, **changes: Any) -> None:
    FileImport.objects.filter(pk=job.pk).update(finished_at=timezone.now(), **changes)


def _import(job: FileImport, file: IO[bytes]) -> dict[str, Any]:
    if job.kind == FileImport.Kind.MATERIAL:
        done = material_import(
            study=job.study, file=file, name=job.name, fetch_seconds=SECONDS_ALONE, **job.options
        )
        return done.as_json()
    columns = judgments_columns(job.options)
    return judgments_import(study=job.study, file=file, name=job.name, columns=columns).as_json()


class _Reading(io.RawIOBase):
    """A file that records how far it has been read, at most twice a second, and raises ``Cancelled`` on request."""

    def __init__(self, file: IO[bytes], job: FileImport, cursor: Any):
        self.file, self.job, self.cursor = file, job, cursor
        self.reported = time.monotonic()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(len(buffer))
        buffer[: len(data)] = data
        if time.monotonic() - self.reported >= EVERY_SECONDS:
            self.report()
        return len(data)

    def report(self) -> None:
        self.reported = time.monotonic()
        self.cursor.execute(
            "UPDATE annotator_fileimport SET bytes_read = LEAST(%s, size) WHERE id = %s RETURNING cancel_asked",
            [self.file.tell(), self.job.pk],
        )
        row = self.cursor.fetchone()
        if row is None or row[0]:
            raise Cancelled


@contextmanager
def _progress(job: FileImport, file: IO[bytes]) -> Iterator[IO[bytes]]:
    """The file, recording its progress over a separate connection: others see the import's transaction only at its end."""
    apart = connections.create_connection("default")
    try:
        with apart.cursor() as cursor:
            reading = _Reading(file, job, cursor)
            yield io.BufferedReader(reading, buffer_size=1 << 16)
    finally:
        apart.close()


def _problems_file(job: FileImport, faults: list[FileFault]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["line", "column", "value", "problem"])
    for fault in faults:
        cells = (fault.line or "", fault.field, fault.value, fault.expected)
        writer.writerow([cell_neutral(cell) for cell in cells])
    name = f"{FOLDER}/{job.pk}-{secrets.token_urlsafe(12)}.csv"
    return default_storage.save(name, ContentFile(out.getvalue().encode()))


def _remove(name: str) -> None:
    if name:
        default_storage.delete(name)


def file_imports_sweep() -> int:
    """Queue imports again that no worker is running, and delete expired ones; returns how many were queued."""
    now = timezone.now()
    waiting = FileImport.objects.filter(
        state__in=FileImport.UNFINISHED, created_at__lt=now - timedelta(minutes=1)
    )
    pks = list(waiting.values_list("pk", flat=True)[:100])
    for pk in pks:
        _queue(pk)
    old = FileImport.objects.filter(created_at__lt=now - timedelta(days=KEPT_DAYS))
    for one in old.exclude(state__in=FileImport.UNFINISHED)[:100]:
        _remove(one.problems_file)
        one.delete()
    orphans_delete(
        FOLDER,
        known=lambda names: FileImport.objects.filter(problems_file__in=names).values_list(
            "problems_file", flat=True
        ),
    )
    return len(pks)
