"""Request releases, build them in a job, and clean up: jobs that were lost, files whose release was deleted."""

from __future__ import annotations

import logging
import secrets
import tempfile
from collections.abc import Collection
from datetime import timedelta
from hashlib import sha256
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.http import FileResponse, Http404
from django.utils import timezone

from annotator.core import jobs
from annotator.models import AuditAction, User
from annotator.services.audit import audit_write
from evaluation.models import Release, Report
from evaluation.releases.pseudonyms import key_make
from evaluation.selectors.release import attributes_of

log = logging.getLogger(__name__)

#: How long a release may stay queued before a sweep queues it again, and a file without a release before it is deleted.
LOST_AFTER = timedelta(minutes=2)
ORPHANED_AFTER = timedelta(hours=1)
FOLDER = "releases"


@transaction.atomic
def release_create(
    *,
    report: Report,
    title: str = "",
    description: str = "",
    licence: str = "",
    citation: str = "",
    attributes: Collection[str] = (),
    user: User | None = None,
    send: bool = True,
) -> Release:
    """Request a release of a finished report; the job starts once the transaction is committed.

    The caller has checked that the researcher may do so for all the report's studies. Raises ``ValidationError`` if the report
    isn't done or no rater has an attribute of that name. Without ``send``, the caller builds it.
    """
    if report.state != Report.State.DONE:
        raise ValidationError("Only a finished report can be released.")
    known = attributes_of(report)
    strange = sorted(set(attributes) - set(known))
    if strange:
        names = ", ".join(known) or "none"
        raise ValidationError({"attributes": f"No rater has {strange[0]!r}. Attributes of raters: {names}."})
    release = Release(
        report=report, title=title.strip(), description=description.strip(), licence=licence.strip(),
        citation=citation.strip(), attributes=sorted(set(attributes)), key=key_make(), created_by=user,
        progress="Waiting for a worker",
    )  # fmt: skip
    release.full_clean()
    release.save()
    for study in report.studies:
        audit_write(action=AuditAction.EXPORTED, study=study, by=user, target=f"release {release.pk}")
    if send:
        transaction.on_commit(lambda: _send(release.pk))
    return release


def _send(release_pk: int) -> None:
    jobs.enqueue("evaluation.release_build", release_pk=release_pk)


def release_compute(*, release_pk: int) -> bool:
    """Build a release and store its file; True if this call did.

    Called twice, or for a release that is done, failed or being built elsewhere, it changes nothing. A release whose worker was
    killed is still ``running`` but not locked, and is built again.
    """
    with jobs.lock_held("release", release_pk) as mine:
        release = (
            Release.objects.select_related("report__study").filter(pk=release_pk).first() if mine else None
        )
        if release is None or release.state in (Release.State.DONE, Release.State.FAILED):
            return False
        rows = Release.objects.filter(pk=release_pk)
        rows.update(state=Release.State.RUNNING, started_at=timezone.now(), progress="Starting")
        try:
            with tempfile.TemporaryFile() as file:
                done = _build(release, file)
        except Exception as error:
            log.exception("release %s failed", release_pk)
            rows.update(
                state=Release.State.FAILED, error=str(error) or type(error).__name__, progress="",
                finished_at=timezone.now(),
            )  # fmt: skip
            return True
        rows.update(state=Release.State.DONE, progress="", error="", finished_at=timezone.now(), **done)
    return True


def _build(release: Release, file: IO[bytes]) -> dict[str, Any]:
    """Build the archive and store it; returns the columns of the release that this fills."""
    from evaluation.releases.about import About
    from evaluation.releases.build import release_build

    report, rows = release.report, Release.objects.filter(pk=release.pk)

    def tell(text: str) -> None:
        rows.update(progress=text[:200])

    about = About(
        title=release.title,
        description=release.description,
        licence=release.licence,
        citation=release.citation,
        attributes=frozenset(release.attributes),
    )
    built = release_build(
        studies=report.studies,
        content=report.content or {},
        key=release.key,
        about=about,
        file=file,
        progress=tell,
    )
    size = file.tell()
    file.seek(0)
    digest = sha256()
    while piece := file.read(2**20):
        digest.update(piece)
    file.seek(0)
    comparison = built.comparison
    findings = {
        "rows": [[name, number] for name, number in built.rows.items() if number],
        "removed": built.removed,
        "alone": built.alone,
        "values": comparison.values,
        "differing": comparison.differing,
        "differences": list(comparison.sentences[1:]) if comparison.differing else [],
    }
    name = default_storage.save(f"{FOLDER}/{release.pk}-{secrets.token_urlsafe(12)}.zip", File(file))
    return {"findings": findings, "file": name, "bytes": size, "sha256": digest.hexdigest()}


def release_download(release: Release) -> FileResponse:
    """A finished release as a download; ``Http404`` if it isn't done or its file is gone."""
    try:
        file = default_storage.open(release.file) if release.state == Release.State.DONE else None
    except FileNotFoundError:
        file = None
    if file is None:
        raise Http404("no such file")
    for study in release.report.studies:
        audit_write(action=AuditAction.DOWNLOADED, study=study, target=f"release {release.pk}")
    name = f"{release.report.study.slug}-release-{release.pk}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


def release_delete(*, release: Release) -> None:
    """Delete a release with its file and its key. Copies that were published stay where they are."""
    name = release.file
    release.delete()
    if name:
        transaction.on_commit(lambda: default_storage.delete(name))


def releases_sweep() -> int:
    """Queue releases again that no worker is building, and delete files whose release (or report, or study) was deleted."""
    before = timezone.now() - LOST_AFTER
    lost = Release.objects.filter(state=Release.State.QUEUED, created_at__lt=before)
    lost |= Release.objects.filter(state=Release.State.RUNNING, started_at__lt=before)
    sent = 0
    for pk in lost.values_list("pk", flat=True):
        with jobs.lock_held("release", pk) as free:
            pass
        if free:
            _send(pk)
            sent += 1
    _orphans_delete()
    return sent


def _orphans_delete() -> None:
    try:
        _, names = default_storage.listdir(FOLDER)
    except FileNotFoundError:
        return
    stored = {f"{FOLDER}/{name}" for name in names}
    known = set(Release.objects.filter(file__in=stored).values_list("file", flat=True))
    old = timezone.now() - ORPHANED_AFTER
    for name in sorted(stored - known):
        if default_storage.get_modified_time(name) < old:
            default_storage.delete(name)
