"""Write a study with its people to an encrypted file, from one snapshot of the database and row by row."""

from __future__ import annotations

import base64
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from annotator.core.words import listed, plural
from annotator.models import Participation, Rater, Snapshot, Study, StudyImage, User, Workspace
from evaluation.models import Batch, Pipeline, Release, Run
from evaluation.moves.archives import archive_pieces
from evaluation.moves.json_rows import rows_get
from evaluation.moves.lines import LinesWriter
from evaluation.moves.numbers import among, ascending
from evaluation.moves.sealed_file import Key, MoveError
from evaluation.moves.tables import MOVED, MovedTable, MoveScope, Row
from evaluation.releases.tables import refers_to

FORMAT = 1


def study_write(*, study: Study, file: IO[bytes], key: Key, copy: bool = False) -> dict[str, int]:
    """Write everything of ``MOVED`` to ``file``, encrypted; returns the number of rows by table.

    With ``copy``, the study goes on here, and is paused where the file is read. Otherwise ``MoveError`` is raised if the study is live or
    paused, is deleted, or has runs or pipelines under way.
    """
    with one_snapshot():
        study = Study.objects.get(pk=study.pk)
        if not copy:
            movable_check(study)
        head = {"slug": study.slug, "title": study.title, "workspace": str(study.workspace or "")}
        scope = MoveScope(study)
        people = set(Rater.objects.filter(pk__in=scope.raters).values_list("user", flat=True))
        return rows_write(
            scope=scope, tables=MOVED, holds="study", head=head | ({"copy": True} if copy else {}), participants=people, file=file, key=key,
        )  # fmt: skip


@contextmanager
def one_snapshot() -> Iterator[None]:
    """A transaction in which the database looks as it did at its beginning. Within another one, it looks as it does there."""
    alone = not connection.in_atomic_block
    with transaction.atomic():
        if alone:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def movable_check(study: Study) -> None:
    """Check that nothing of the study is under way. Raises ``MoveError`` with what is."""
    if study.deleted_at is not None:
        raise MoveError(f"the study {study.slug} is deleted; restore it first")
    if study.state not in (Study.State.DRAFT, Study.State.CLOSED):
        raise MoveError(
            f"the study {study.slug} is {study.state}; close it first, so that nobody works on it in two places"
        )
    scope = MoveScope(study)
    runs = Run.objects.filter(pk__in=scope.runs)
    going = runs.filter(state__in=Run.LIVE).count()
    carried = Pipeline.objects.filter(pk__in=scope.pipelines, state=Pipeline.State.RUNNING).count()
    sent = Batch.objects.filter(run__in=runs, state__in=("sending", "waiting")).count()
    paying = study.pay_batches.filter(finished_at__isnull=True).count()
    decided = study.review_decisions.filter(in_force=True, done_at__isnull=True).count()
    counted = [
        (going, "run", "runs"), (carried, "pipeline", "pipelines"), (sent, "batch", "batches"),
        (paying, "batch of payments", "batches of payments"), (decided, "decision about a submission", "decisions about submissions"),
    ]  # fmt: skip
    said = [plural(count, one, many) for count, one, many in counted if count]
    if said:
        raise MoveError(f"the study {study.slug} has {listed(said)} under way; wait, pause or cancel first")


def rows_write(
    *,
    scope: Any,
    tables: Sequence[MovedTable],
    holds: str,
    head: Row,
    participants: Collection[int | None],
    file: IO[bytes],
    key: Key,
) -> dict[str, int]:
    """Write the rows of these tables to ``file``, encrypted, and return their number by table; ``participants`` are accounts of people who take part."""
    out, counts = LinesWriter(file, key), Counter[str]()
    columns = {table.name: table.columns for table in tables}
    said = {"written_at": timezone.now().isoformat(timespec="seconds"), "columns": columns}
    out.write({"foretell": holds, "format": FORMAT, **head, **said})
    exported: dict[type[Model], array[int]] = {}
    images = set[str]()
    for table in tables:
        numbers = table.rows(scope).order_by("pk").values_list("pk", flat=True).distinct()
        pks = exported[table.model] = ascending(numbers.iterator(chunk_size=2_000))
        for row in rows_get(table.model, pks, table.columns):
            line: Row = {"table": table.name, "row": _checked(table, row, exported, holds)}
            if table.model is User and row["id"] in participants:
                line["participant"] = True
            if table.model is StudyImage and row["digest"] not in images:
                images.add(row["digest"])
                line["data"] = _image(row)
            out.write(line)
            if table.model is Release:
                name = Release.objects.values_list("file", flat=True).get(pk=row["id"])
                for piece in archive_pieces(name, row["title"]):
                    out.write(piece)
        counts[table.name] = len(pks)
    out.write({"end": dict(counts)})
    out.close()
    return dict(counts)


def _checked(table: MovedTable, row: Row, exported: dict[type[Model], array[int]], holds: str) -> Row:
    """The row, with loose references to what doesn't move emptied. Raises ``MoveError`` for another such reference."""
    for field in table.model._meta.concrete_fields:
        target = refers_to(field)  # None also for a digest, which is the same everywhere
        if target is None or field.attname not in row or row[field.attname] is None:
            continue
        if target is Workspace or (target in exported and among(exported[target], row[field.attname])):
            continue
        if table.model is Study and target is Snapshot:
            continue  # a study refers to its version, and each version to its study
        if field.attname not in table.loose:
            raise MoveError(
                f"{table.name} {row['id']}: {field.attname} refers to a row that doesn't belong to the {holds}"
            )
        row[field.attname] = None
    return row


def _image(row: Row) -> str:
    try:
        with default_storage.open(row["file"]) as file:
            return base64.b64encode(file.read()).decode()
    except FileNotFoundError:
        raise MoveError(
            f"the file of the image {row['name']} is missing on the server; restore DATA_DIR/files from a backup"
        ) from None


def people_count(study: Study) -> int:
    """How many people take part in the study, for what is said about a file."""
    return Participation.objects.filter(study=study, rater__rehearsal=False).count()
