"""Request releases, build them in a job, and clean up: jobs that were lost, files whose release was deleted."""

from __future__ import annotations

import logging
import secrets
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import timedelta
from hashlib import sha256
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.downloads import Download
from annotator.core.stored_files import orphans_delete
from annotator.models import AuditAction, User
from annotator.selectors.storage import storage_check
from annotator.services.audit import audit_write
from evaluation.models import Release, ReleaseText, Report
from evaluation.releases.creators import CreatorInvalid, creators_read
from evaluation.releases.pseudonyms import key_make
from evaluation.selectors.release import attributes_of
from evaluation.services.signing_key import private_of, signing_key_of

log = logging.getLogger(__name__)

#: How long a release may stay queued before a sweep queues it again, and a file without a release before it is deleted.
LOST_AFTER = timedelta(minutes=2)
ORPHANED_AFTER = timedelta(hours=1)
FOLDER = "releases"
#: The lock that is shared by those who store a release's file hours before its row is committed, as the import of a study does.
#: Files without a row are deleted only while nobody has it.
STORING = "storing releases"


@transaction.atomic
def release_create(
    *,
    report: Report,
    title: str = "",
    description: str = "",
    licence: str = "",
    citation: str = "",
    authors: str = "",
    attributes: Collection[str] = (),
    free_text: bool = False,
    small_groups: str = Release.SmallGroups.COARSEN,
    smallest_group: int = 5,
    timings: str = Release.Timings.EXACT,
    user: User | None = None,
    send: bool = True,
) -> Release:
    """Request a release of a finished report; the job starts once the transaction is committed.

    The caller has checked that the researcher may do so for all the report's studies. ``authors`` are lines as ``creators_read`` reads
    them. ``small_groups``, ``smallest_group`` and ``timings`` say how attributes and times are coarsened. Raises ``ValidationError`` if the report isn't done, a line names no author, no rater has an attribute of that name, or the workspace has no room. Without ``send``, the caller builds it.
    """
    attributes_check(report, attributes)
    storage_check(workspace=report.study.workspace_id)
    try:
        creators_read(authors.splitlines())
    except CreatorInvalid as error:
        raise ValidationError({"authors": f"{error}."}) from None
    release = Release(
        report=report, title=title.strip(), description=description.strip(), licence=licence.strip(),
        citation=citation.strip(), authors=authors.strip(), attributes=sorted(set(attributes)), free_text=free_text,
        small_groups=small_groups, smallest_group=smallest_group, timings=timings, key=key_make(), created_by=user,
        progress="Waiting for a worker",
    )  # fmt: skip
    release.full_clean()
    release.save()
    for study in report.studies:
        audit_write(action=AuditAction.EXPORTED, study=study, by=user, target=f"release {release.pk}")
    if send:
        transaction.on_commit(lambda: _send(release.pk))
    return release


def attributes_check(report: Report, attributes: Collection[str]) -> None:
    """Raises ``ValidationError`` if a report isn't done, or no rater has an attribute of that name."""
    if report.state != Report.State.DONE:
        raise ValidationError("Only a finished report can be released.")
    known = attributes_of(report)
    strange = sorted(set(attributes) - set(known))
    if strange:
        names = ", ".join(known) or "none"
        raise ValidationError({"attributes": f"No rater has {strange[0]!r}. Attributes of raters: {names}."})


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
        if release is None or release.state not in (Release.State.QUEUED, Release.State.RUNNING):
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
        state = Release.State.DONE if done["file"] else Release.State.REVIEW
        rows.update(state=state, progress="", error="", finished_at=timezone.now(), **done)
    return True


def _build(release: Release, file: IO[bytes]) -> dict[str, Any]:
    """Build the archive and store it; returns the columns of the release that this fills."""
    from evaluation.releases.about import About
    from evaluation.releases.build import release_build
    from evaluation.releases.small_cells import Coarsening

    report, rows = release.report, Release.objects.filter(pk=release.pk)

    def tell(text: str) -> None:
        rows.update(progress=text[:200])

    about = About(
        title=release.title,
        description=release.description,
        licence=release.licence,
        citation=release.citation,
        creators=tuple(line.strip() for line in release.authors.splitlines() if line.strip()),
        date=f"{release.created_at:%Y-%m-%d}",
        attributes=frozenset(release.attributes),
    )
    built = release_build(
        studies=report.studies,
        content=report.content or {},
        key=release.key,
        private=private_of(signing_key_of(report.study.workspace)),
        about=about,
        free_text=release.free_text,
        decisions=_decisions(release),
        coarsening=Coarsening(release.smallest_group, release.small_groups, release.timings),  # type: ignore[arg-type]
        file=file,
        progress=tell,
    )
    _texts_list(release, built.texts)
    if built.undecided:
        return {"findings": {"undecided": built.undecided}, "file": ""}
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
        "coarsened": [
            {"name": attribute.name, **attribute.to_json()}
            for attribute in built.attributes
            if attribute.changed
        ],
        "times": built.times,
        "values": comparison.values,
        "differing": comparison.differing,
        "differences": list(comparison.sentences[1:]) if comparison.differing else [],
    }
    name = default_storage.save(f"{FOLDER}/{release.pk}-{secrets.token_urlsafe(12)}.zip", File(file))
    return {"findings": findings, "file": name, "bytes": size, "sha256": digest.hexdigest()}


def _decisions(release: Release) -> dict[tuple[str, str], bool]:
    decided = release.texts.exclude(decision=ReleaseText.Decision.PENDING)
    return {
        (one.place, one.text): one.decision == ReleaseText.Decision.APPROVED for one in decided.iterator()
    }


def _texts_list(release: Release, texts: Mapping[tuple[str, str], int]) -> None:
    """List the texts that the release would contain; decisions on texts that it has no longer are dropped."""
    rows = [
        ReleaseText(
            release=release, place=place[:200], text=text, uses=uses, digest=sha256(text.encode()).hexdigest()
        )
        for (place, text), uses in texts.items()
    ]
    with transaction.atomic():
        known = {(row.place, row.digest) for row in rows}
        for text in release.texts.only("place", "digest"):
            if (text.place, text.digest) not in known:
                text.delete()
        ReleaseText.objects.bulk_create(rows, ignore_conflicts=True, batch_size=1_000)


@transaction.atomic
def release_decide(*, release: Release, decisions: Mapping[int, str], by: User | None) -> int:
    """Approve or remove free texts of a release: ``decisions`` maps ids of texts to ``approved`` or ``removed``. Once every text has a
    decision, the archive is made. Returns how many have none yet.

    Raises ``ValidationError`` if the release isn't waiting for decisions, or for another text or decision.
    """
    release = Release.objects.select_for_update(of=("self",)).get(pk=release.pk)
    if release.state != Release.State.REVIEW:
        raise ValidationError("No texts of this release wait for a decision.")
    wanted = {ReleaseText.Decision.APPROVED, ReleaseText.Decision.REMOVED}
    if strange := [value for value in decisions.values() if value not in wanted]:
        raise ValidationError({"decisions": f"{strange[0]!r} is no decision. Expected approved or removed."})
    mine = release.texts.filter(pk__in=list(decisions))
    if mine.count() != len(decisions):
        raise ValidationError({"decisions": "A text isn't one of this release."})
    for value in wanted:
        chosen = [pk for pk, one in decisions.items() if one == value]
        mine.filter(pk__in=chosen).update(decision=value, decided_by=by, decided_at=timezone.now())
    for study in release.report.studies:
        audit_write(
            action=AuditAction.EXPORTED,
            study=study,
            by=by,
            target=f"texts of release {release.pk}",
            after=dict(Counter(decisions.values())),
        )
    left = release.texts.filter(decision=ReleaseText.Decision.PENDING).count()
    if not left:
        Release.objects.filter(pk=release.pk).update(
            state=Release.State.QUEUED,
            progress="Waiting for a worker",
            started_at=None,
            finished_at=None,
        )
        transaction.on_commit(lambda: _send(release.pk))
    return left


def release_download(release: Release) -> Download | None:
    """The archive of a release; None if it isn't done or its file is gone."""
    try:
        file = default_storage.open(release.file) if release.state == Release.State.DONE else None
    except FileNotFoundError:
        file = None
    if file is None:
        return None
    for study in release.report.studies:
        audit_write(action=AuditAction.DOWNLOADED, study=study, target=f"release {release.pk}")
    name = f"{release.report.study.slug}-release-{release.pk}.zip"
    return Download(file, name, "application/zip")


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
    with transaction.atomic():
        if jobs.lock_take_briefly(STORING):
            orphans_delete(
                FOLDER,
                known=lambda names: Release.objects.filter(file__in=names).values_list("file", flat=True),
                after=ORPHANED_AFTER,
            )
    return sent
