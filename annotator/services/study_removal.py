"""Archive a study; delete it, which can be undone for 30 days; remove it for good after that."""

from __future__ import annotations

from array import array
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.words import listed, plural
from annotator.models import (
    Assignment,
    AuditAction,
    DataRequest,
    Exclusion,
    Item,
    Judgment,
    LedgerEntry,
    Message,
    Participation,
    Place,
    Snapshot,
    Study,
    User,
)
from annotator.selectors.owed import balances_of, totals_of
from annotator.selectors.study import KEPT_DAYS, restorable_since
from annotator.services.audit import audit_write
from annotator.services.images import files_release

#: About how many judgments of a study are deleted in one transaction.
BATCH = 5_000


def open_matters(study: Study) -> list[str]:
    """What people still wait for, in words: messages, deletion requests, work to accept and money."""
    messages = study.messages.filter(settled_at__isnull=True)
    answers = messages.exclude(kind__in=(Message.Kind.REPLY, Message.Kind.DELETION)).count()
    requests = study.data_requests.filter(state=DataRequest.State.OPEN).count()
    totals = totals_of(balances_of(study))
    counted = [(answers, "message to answer", "messages to answer"),
               (requests, "deletion request to answer", "deletion requests to answer"),
               (totals.done - totals.accepted, "judgment to accept", "judgments to accept")]  # fmt: skip
    found = [plural(n, one, many) for n, one, many in counted if n]
    if totals.payable:
        found.append(f"{totals.payable:,.2f} {study.currency} to pay")
    return found


@transaction.atomic
def study_archive(*, study: Study, anyway: bool = False) -> Study:
    """Hide a draft or closed study from the list; everything stays readable.

    Raises ``ValidationError`` if it may still be worked on or, unless ``anyway``, if people still wait for something.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.state not in (Study.State.DRAFT, Study.State.CLOSED):
        raise ValidationError(f"The study is {study.state}. Close it before you archive it.")
    if study.archived_at is None and not anyway and (waiting := open_matters(study)):
        raise ValidationError(f"The study still has {listed(waiting)}. Nothing was archived.")
    if study.archived_at is None:
        study.archived_at = timezone.now()
        study.save(update_fields=["archived_at"])
        audit_write(action=AuditAction.STUDY_ARCHIVED, study=study)
    return study


@transaction.atomic
def study_unarchive(*, study: Study) -> Study:
    """Put an archived study back on the list."""
    study.archived_at = None
    study.save(update_fields=["archived_at"])
    audit_write(action=AuditAction.STUDY_UNARCHIVED, study=study)
    return study


@transaction.atomic
def study_delete(*, study: Study, by: User | None, typed: str) -> Study:
    """Hide a study from everybody; after ``KEPT_DAYS`` it is removed for good. Until then it can be restored.

    ``typed`` must be the study's short name. Raises ``ValidationError`` if it isn't, or if annotators may be working on
    the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.state in (Study.State.LIVE, Study.State.PAUSED):
        raise ValidationError(f"The study is {study.state}. Close it before you delete it.")
    if typed.strip() != study.slug:
        raise ValidationError({"typed": f"Type the short name of the study, {study.slug}, to delete it."})
    if study.deleted_at is None:
        study.deleted_at, study.deleted_by = timezone.now(), by
        study.save(update_fields=["deleted_at", "deleted_by"])
        audit_write(action=AuditAction.STUDY_DELETED, study=study, by=by)
    return study


@transaction.atomic
def study_restore(*, study: Study) -> Study:
    """Undo a deletion. Raises ``ValidationError`` after ``KEPT_DAYS``: some of its rows may have been removed already."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.deleted_at is not None and study.deleted_at < restorable_since():
        raise ValidationError(f"The study was deleted more than {KEPT_DAYS} days ago and is being removed.")
    study.deleted_at = study.deleted_by = None
    study.save(update_fields=["deleted_at", "deleted_by"])
    audit_write(action=AuditAction.STUDY_RESTORED, study=study)
    return study


def studies_purge() -> int:
    """Remove deleted studies for good after 30 days; returns how many. Safe to run twice."""
    pks = list(Study.objects.filter(deleted_at__lt=restorable_since()).values_list("pk", flat=True)[:20])
    return sum(study_purge(study_pk=pk) for pk in pks)


def study_purge(*, study_pk: int) -> bool:
    """Remove a deleted study with everything that belongs to it; False if another worker is doing so.

    Its rows go in many short transactions, so that nobody waits for millions of them. From the first on it can't be restored. If
    the worker is killed, the next sweep continues.
    """
    with jobs.lock_held("study_purge", study_pk) as mine:
        if not mine:
            return False
        with transaction.atomic():
            study = Study.objects.select_for_update().filter(pk=study_pk, deleted_at__isnull=False).first()
            if study is None or study.deleted_at is None:
                return False
            if study.deleted_at >= restorable_since():
                Study.objects.filter(pk=study_pk).update(deleted_at=restorable_since() - timedelta(seconds=1))
        _rows_remove(study)
        with transaction.atomic():
            audit_write(action=AuditAction.STUDY_PURGED, study=study, target=study.slug)
            files = list(study.images.values_list("file", flat=True))
            _study_remove(study)
            transaction.on_commit(lambda: files_release(files, workspace_pk=study.workspace_id))
    return True


def study_rows_remove(*, study: Study) -> None:
    """Delete all rows of a study, protecting ones first; material that other studies use stays. Its images' files aren't deleted.

    Rows of applications that build on this one, such as runs and reports, go with it; also those on several studies, which would
    otherwise be shown to everybody who may see the other ones. The caller has begun a transaction.
    """
    _rows_remove(study)
    _study_remove(study)


def _rows_remove(study: Study) -> None:
    """Delete what refers to a study, in many short transactions unless the caller has begun one. Safe to call again after an interruption."""
    for relation in Study._meta.related_objects:
        beyond = relation.related_model._meta.app_label != "annotator"
        if beyond and (relation.many_to_many or relation.on_delete is models.CASCADE):
            relation.related_model._default_manager.filter(**{relation.field.name: study}).delete()
    Message.objects.filter(study=study).delete()
    Exclusion.objects.filter(study=study).delete()
    _items_remove(study)
    LedgerEntry.objects.filter(study=study).delete()
    Participation.objects.filter(study=study).delete()


def _study_remove(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(snapshot=None, state=Study.State.DRAFT)
    _rows_delete(Snapshot.objects.filter(study=study))
    Study.objects.filter(pk=study.pk).delete()


def _items_remove(study: Study) -> None:
    """Delete the items of a study with their judgments, places and assignments, which are nearly all of its rows: as many items at a time as
    have about ``BATCH`` places. The newest items go first, because a corrected item refers to what it replaces."""
    pks = array("q", Item.objects.filter(study=study).order_by("-pk").values_list("pk", flat=True).iterator())
    step = max(1, BATCH // max(1, *study.raters_by_arm.values()))
    for start in range(0, len(pks), step):
        some = pks[start : start + step].tolist()
        with transaction.atomic(savepoint=False):
            for rows in (
                Judgment.objects.filter(item__in=some),
                Place.objects.filter(item__in=some),
                Assignment.objects.filter(item__in=some),
                Item.objects.filter(pk__in=some),
            ):
                _rows_delete(rows)


def _rows_delete(rows: models.QuerySet[Any]) -> None:
    """Delete some thousand rows and those that belong to them. Django's own ``delete`` would load them all first.

    Their ids are looked up once: Postgres took a subquery for many times its rows, and read every review of every study instead of the
    index for each batch.
    """
    meta, quote = rows.model._meta, connection.ops.quote_name
    pks = list(rows.order_by().values_list("pk", flat=True))
    if not pks:
        return
    tables = [
        (relation.related_model._meta.db_table, relation.field.column)
        for relation in meta.get_fields(include_hidden=True)
        if isinstance(relation, models.ManyToOneRel) and relation.on_delete is models.CASCADE
    ]
    with connection.cursor() as cursor:
        for table, column in [*tables, (meta.db_table, meta.pk.column)]:
            cursor.execute(f"DELETE FROM {quote(table)} WHERE {quote(column)} = ANY(%s)", [pks])  # noqa: S608
