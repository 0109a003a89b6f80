"""Archive a study into an encrypted file and remove its rows, and bring it back."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import IO

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotator.core.words import listed, plural
from annotator.models import AuditAction, Study, User
from annotator.services.audit import audit_write
from annotator.services.images import files_release
from annotator.services.study_removal import study_rows_remove
from evaluation.models import KeptStudy, Release, Report
from evaluation.moves.lines import lines_read
from evaluation.moves.new_files import new_file, partial_path
from evaluation.moves.reading import study_read
from evaluation.moves.sealed_file import Key, MoveError
from evaluation.moves.writing import one_snapshot, people_count, study_write


def study_export(*, study: Study, path: Path, key: Key, by: User | None = None) -> dict[str, int]:
    """Write a study with its people to a new file that only its owner can read; returns the number of rows by table.

    The file appears under its name only when it is complete. Raises ``MoveError``.
    """
    with new_file(path) as file:
        counts = study_write(study=study, file=file, key=key)
    audit_write(action=AuditAction.STUDY_MOVED_OUT, study=study, by=by, after={"people": people_count(study)})
    return counts


def study_import(*, path: Path, key: Key, by: User, slug: str = "", workspace: str = "") -> Study:
    """Make the study of a file, in a new workspace that ``by`` owns; see ``study_read``. Raises ``MoveError``."""
    with transaction.atomic(), path.open("rb") as file:
        study = study_read(file=file, key=key, by=by, slug=slug, name=workspace)
        audit_write(
            action=AuditAction.STUDY_MOVED_IN, study=study, by=by, after={"people": people_count(study)}
        )
    return study


def study_keep(
    *,
    study: Study,
    path: Path,
    key: Key,
    by: User | None = None,
    releases: bool = False,
    shared_reports: bool = False,
    stored: str = "",
) -> KeptStudy:
    """Write an archived study to a file, read the file again to the end, and only then remove the study's rows.

    Its material, qualifications and people's accounts stay: other studies may use them. What isn't in the file and goes must be said:
    ``releases``, and ``shared_reports``, the reports on this study and others, which are deleted whole: without this study they would
    be shown to people who may not see it. ``stored`` is the file's name in the default storage, if it is there. Raises ``MoveError`` if the study isn't archived, or has either; then nothing was removed.
    """
    with one_snapshot():
        study = Study.objects.select_for_update().get(pk=study.pk)
        keepable_check(study, releases=releases, shared_reports=shared_reports)
        return _keep(study, path, key, by, stored)


def keepable_check(study: Study, *, releases: bool = False, shared_reports: bool = False) -> None:
    """Check that nothing is lost that wasn't said. Raises ``MoveError`` with what is."""
    if study.archived_at is None:
        raise MoveError(f"the study {study.slug} isn't archived; archive it first")
    shared = reports_shared(study)
    if shared and not shared_reports:
        named = listed(sorted({one.slug for report in shared for one in report.studies if one != study}))
        raise MoveError(
            f"the study {study.slug} is in {plural(len(shared), 'report')} together with {named}, which would be deleted; download what you "
            "need, and say --without-shared-reports"
        )
    lost = releases_lost(study).count()
    if lost and not releases:
        raise MoveError(
            f"the study {study.slug} has {plural(lost, 'release')} that the file can't have, unfinished or on several studies; download what you "
            "need, and say --without-releases"
        )


def releases_lost(study: Study) -> QuerySet[Release]:
    """The releases that aren't in the study's file: unfinished ones, and those of reports on several studies."""
    shared = Q(report__in=[one.pk for one in reports_shared(study)])
    found = Release.objects.filter(shared | Q(report__study=study) & ~Q(state=Release.State.DONE))
    return found.exclude(state=Release.State.FAILED).distinct()


def reports_shared(study: Study) -> list[Report]:
    """The reports on this study together with others."""
    found = Report.objects.filter(Q(others=study) | Q(study=study, others__isnull=False)).distinct()
    return list(found.select_related("study").prefetch_related("others").defer("content").order_by("pk"))


def _keep(study: Study, path: Path, key: Key, by: User | None, stored: str) -> KeptStudy:
    with new_file(path) as file:
        counts = study_write(study=study, file=file, key=key)
        file.flush()
        file.seek(0)
        for _ in lines_read(file, key):  # every chunk is there, and can be decrypted
            pass
        file.seek(0)
        digest, size = _digest(file), file.tell()
    try:
        kept = KeptStudy.objects.create(
            workspace_id=study.workspace_id, study=study.pk, slug=study.slug, title=study.title, place=str(path.resolve())[:1000],
            sha256=digest, bytes=size, passphrase=key.is_passphrase, people=people_count(study), rows={name: n for name, n in counts.items() if n},
            kept_by=by, file=stored,
        )  # fmt: skip
        audit_write(
            action=AuditAction.STUDY_KEPT, study=study, by=by, target=study.slug, after={"sha256": digest}
        )
        workspace, files = study.workspace_id, list(study.images.values_list("file", flat=True))
        # A sealed plan goes only with a study that is deleted.
        Study.objects.filter(pk=study.pk).update(deleted_at=timezone.now())
        Report.objects.filter(pk__in=[one.pk for one in reports_shared(study)]).delete()
        study_rows_remove(study=study)
        with connection.cursor() as cursor:  # now, while the file can still be taken away
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    transaction.on_commit(lambda: files_release(files, workspace_pk=workspace))
    return kept


def study_bring_back(*, kept: KeptStudy, path: Path, key: Key, by: User, slug: str = "") -> Study:
    """Make a kept study again under its old number, archived as it was, in its workspace.

    It has its old short name, or ``slug`` if another study has taken it. Raises ``MoveError`` if it is back already, or if the file isn't the one that was kept.
    """
    with transaction.atomic(), path.open("rb") as file:
        kept = KeptStudy.objects.select_for_update().get(pk=kept.pk)
        if kept.brought_back_at is not None:
            raise MoveError(f"the study {kept.slug} was brought back already")
        kept_file_check(kept, file)
        study = study_read(
            file=file,
            key=key,
            by=by,
            slug=slug or kept.slug,
            workspace=kept.workspace,
            name=kept.slug,
            pk=kept.study,
        )
        kept.brought_back_at = timezone.now()
        kept.save(update_fields=["brought_back_at"])
        audit_write(action=AuditAction.STUDY_BROUGHT_BACK, study=study, by=by, target=study.slug)
    return study


def kept_file_check(kept: KeptStudy, file: IO[bytes]) -> None:
    """Check that a file is the one in which a study was kept, and go back to its beginning. Raises ``MoveError``."""
    if _digest(file) != kept.sha256:
        raise MoveError(
            f"this is not the file of the study {kept.slug} as it was kept, or it is damaged: its SHA-256 is another"
        )
    file.seek(0)


def _digest(file: IO[bytes]) -> str:
    digest = sha256()
    while piece := file.read(2**20):
        digest.update(piece)
    return digest.hexdigest()


def file_leavings_remove(path: Path) -> None:
    """Remove what a killed process left of a file that it was writing. The file itself stays if a study was kept in it."""
    if not KeptStudy.objects.filter(place=str(path.resolve())[:1000]).exists():
        path.unlink(missing_ok=True)
    partial_path(path).unlink(missing_ok=True)
