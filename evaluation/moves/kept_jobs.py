"""Keep a study in a file and bring it back as a background job, with a key that is stored only until the job has ended."""

from __future__ import annotations

import base64
import logging
import secrets
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import validate_slug
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.sealed import seal, unseal
from annotator.core.stored_files import orphans_delete
from annotator.models import Study, User
from annotator.selectors.study import slug_near
from evaluation.models import KeptJob, KeptStudy
from evaluation.moves.keeping import (
    file_leavings_remove,
    keepable_check,
    study_bring_back,
    study_keep,
)
from evaluation.moves.sealed_file import Key, MoveError
from evaluation.moves.templates import kept_study_template
from evaluation.moves.writing import movable_check
from evaluation.selectors.kept_study import kept_file_there

log = logging.getLogger(__name__)
FOLDER, UPLOADS = "kept-studies", "kept-studies-uploads"
PURPOSE = "kept study"
LOST_AFTER = timedelta(minutes=2)
_STARTED = "Another job is already working on this study. Wait until it has ended."


def keep_request(
    *,
    study: Study,
    by: User,
    passphrase: str,
    without_releases: bool = False,
    without_shared_reports: bool = False,
) -> KeptJob:
    """Have a job write an archived study to a file, encrypted with a passphrase, and remove the study.

    Raises ``ValidationError`` if the passphrase is too short, something of the study is under way, or would be lost without being said.
    """
    if study.workspace is None:
        raise ValidationError("The study is in no workspace, so nobody could bring it back.")
    key = _passphrase(passphrase)
    try:
        keepable_check(study, releases=without_releases, shared_reports=without_shared_reports)
        movable_check(study)
    except MoveError as error:
        raise ValidationError(_sentence(error)) from None
    return _queue(
        key, kind=KeptJob.Kind.KEEP, workspace=study.workspace, study=study.pk, slug=study.slug, created_by=by,
        without_releases=without_releases, without_shared_reports=without_shared_reports,
    )  # fmt: skip


def bring_back_request(
    *,
    kept: KeptStudy,
    by: User,
    passphrase: str = "",
    key_file: UploadedFile | None = None,
    file: UploadedFile | None = None,
    slug: str = "",
    as_template: bool = False,
) -> KeptJob:
    """Have a job make a kept study again, from ``file`` or from the installation's own copy; ``as_template``: a new draft like it.

    It needs the passphrase or the key file that the study was kept with, and a ``slug`` if another study has its short name by now.
    Raises ``ValidationError``.
    """
    if kept.workspace is None:
        raise ValidationError(
            "The study is of no workspace. The administrator can bring it back with bring_back_study."
        )
    key = _passphrase(passphrase) if kept.passphrase else _key_file(key_file)
    wanted = slug.strip() or (slug_near(kept.slug) if as_template else kept.slug)
    try:
        validate_slug(wanted)
    except ValidationError as error:
        raise ValidationError({"slug": error.messages}) from None
    if Study.objects.filter(slug=wanted).exists():
        raise ValidationError({"slug": f"Another study is named {wanted}. Choose another short name."})
    if file is None and not kept_file_there(kept):
        raise ValidationError({"file": "Upload the file of the study. This installation has no copy of it."})
    upload = default_storage.save(f"{UPLOADS}/{secrets.token_urlsafe(12)}", file) if file is not None else ""
    try:
        return _queue(
            key, kind=KeptJob.Kind.TEMPLATE if as_template else KeptJob.Kind.BRING_BACK, workspace=kept.workspace, study=kept.study, slug=wanted, kept=kept,
            created_by=by, upload=upload,
        )  # fmt: skip
    except ValidationError:
        if upload:
            default_storage.delete(upload)
        raise


def _queue(key: Key, **values: Any) -> KeptJob:
    sealed = seal(base64.b64encode(key.secret).decode(), purpose=PURPOSE)
    try:
        with transaction.atomic():
            job = KeptJob.objects.create(sealed=sealed, **values)
    except IntegrityError:
        raise ValidationError(_STARTED) from None
    transaction.on_commit(lambda: _send(job.pk))
    return job


def _send(job_pk: int) -> None:
    jobs.enqueue("evaluation.kept_job_run", job_pk=job_pk)


def kept_job_run(*, job_pk: int) -> bool:
    """Carry out a job; True if this call did.

    Called twice, or for a job that has ended or is being carried out elsewhere, it changes nothing. A job whose worker was killed is
    still ``running`` but not locked: it is carried out again, or found to be done.
    """
    with jobs.lock_held("kept study", job_pk) as mine:
        job = KeptJob.objects.select_related("kept", "created_by").filter(pk=job_pk).first() if mine else None
        if job is None or not job.waiting:
            return False
        rows = KeptJob.objects.filter(pk=job_pk)
        doing = "Writing the file and checking it" if job.kind == KeptJob.Kind.KEEP else "Reading the file"
        rows.update(state=KeptJob.State.RUNNING, started_at=timezone.now(), progress=doing)
        done: dict[str, Any] = {"state": KeptJob.State.DONE}
        try:
            done["kept"] = _CARRIED_OUT[job.kind](job)
        except MoveError as error:
            done = {"state": KeptJob.State.FAILED, "error": _sentence(error)}
        except Exception as error:
            log.exception("the job %s on a kept study failed", job_pk)
            done = {"state": KeptJob.State.FAILED, "error": _sentence(error) or type(error).__name__}
        rows.update(progress="", sealed="", upload="", finished_at=timezone.now(), **done)
        if job.upload:
            default_storage.delete(job.upload)
    return True


def _key(job: KeptJob) -> Key:
    secret = base64.b64decode(unseal(job.sealed, purpose=PURPOSE))
    return Key(secret, job.kept.passphrase if job.kept is not None else True)


def _keep(job: KeptJob) -> KeptStudy:
    before = KeptStudy.objects.filter(
        study=job.study, brought_back_at__isnull=True, kept_at__gte=job.created_at
    ).first()
    if before is not None:  # an earlier worker did it, and was killed before it could say so
        return before
    study = Study.objects.filter(pk=job.study, deleted_at__isnull=True).first()
    if study is None:
        raise MoveError("the study isn't there any more")
    if job.writes:  # an earlier worker was killed before the study's rows were gone
        file_leavings_remove(Path(default_storage.path(job.writes)))
    name = f"{FOLDER}/{study.slug}-{secrets.token_urlsafe(12)}.foretell"
    KeptJob.objects.filter(pk=job.pk).update(writes=name)
    path = Path(default_storage.path(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    return study_keep(
        study=study, path=path, key=_key(job), by=job.created_by, releases=job.without_releases,
        shared_reports=job.without_shared_reports, stored=name,
    )  # fmt: skip


def _bring_back(job: KeptJob) -> KeptStudy:
    kept, by, path = _asked_for(job)
    if kept.brought_back_at is None:
        study_bring_back(kept=kept, path=path, key=_key(job), by=by, slug=job.slug)
    return kept


def _template(job: KeptJob) -> KeptStudy:
    kept, by, path = _asked_for(job)
    with transaction.atomic():
        kept_study_template(kept=kept, path=path, key=_key(job), by=by, slug=job.slug)
        # Together with the draft: a job that is carried out again mustn't make a second one.
        KeptJob.objects.filter(pk=job.pk).update(
            state=KeptJob.State.DONE, sealed="", upload="", finished_at=timezone.now()
        )
    return kept


def _asked_for(job: KeptJob) -> tuple[KeptStudy, User, Path]:
    kept = KeptStudy.objects.filter(pk=job.kept_id or 0).first()
    if kept is None or job.created_by is None:
        raise MoveError("the study isn't in a file any more, or the account of whoever asked for it is gone")
    return kept, job.created_by, Path(default_storage.path(job.upload or kept.file))


_CARRIED_OUT: dict[str, Callable[[KeptJob], KeptStudy]] = {
    KeptJob.Kind.KEEP: _keep,
    KeptJob.Kind.BRING_BACK: _bring_back,
    KeptJob.Kind.TEMPLATE: _template,
}


def kept_jobs_sweep() -> int:
    """Queue jobs again that no worker is carrying out, and delete uploads that no job needs; returns how many were queued."""
    before, sent = timezone.now() - LOST_AFTER, 0
    lost = KeptJob.objects.filter(state=KeptJob.State.QUEUED, created_at__lt=before)
    lost |= KeptJob.objects.filter(state=KeptJob.State.RUNNING, started_at__lt=before)
    for pk in lost.values_list("pk", flat=True):
        with jobs.lock_held("kept study", pk) as free:
            pass
        if free:
            _send(pk)
            sent += 1
    orphans_delete(UPLOADS, known=_uploads_needed)
    return sent


def _uploads_needed(names: set[str]) -> Iterable[str]:
    return KeptJob.objects.filter(upload__in=names).values_list("upload", flat=True)


def _passphrase(text: str) -> Key:
    try:
        return Key.of_passphrase(text)
    except MoveError as error:
        raise ValidationError({"passphrase": _sentence(error)}) from None


def _key_file(file: UploadedFile | None) -> Key:
    try:
        return Key.of_file(file.read(128 * 1024) if file is not None else b"")
    except MoveError:
        raise ValidationError({"key_file": "Upload the key file that the study was kept with."}) from None


def _sentence(error: Exception) -> str:
    said = str(error).strip()
    return said[:1].upper() + said[1:] + ("" if said.endswith(".") or not said else ".")
