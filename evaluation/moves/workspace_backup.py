"""Back up one workspace, while people work in it: its own rows and a copy of each of its studies, in one encrypted file."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import IO

from django.db.models import Q
from django.utils import timezone

from annotator.core.printable import printable
from annotator.core.words import listed
from annotator.models import AuditAction, Membership, Rater, Study, User, Workspace
from annotator.services.audit import audit_write
from evaluation.core.version import software
from evaluation.models import KeptStudy
from evaluation.moves.new_files import new_file
from evaluation.moves.sealed_file import Key, MoveError
from evaluation.moves.tables import Row
from evaluation.moves.workspace_archive import WORKSPACE, BackupPart, BackupReader, BackupWriter, Contents
from evaluation.moves.workspace_tables import OWN, WorkspaceScope
from evaluation.moves.writing import one_snapshot, rows_write, study_write

_LEFT_OUT = "was left out with --without"
_IN_A_FILE = "is kept in an encrypted file of its own since {at}; copy that file too: {place}"


def workspace_backup(
    *, workspace: Workspace, path: Path, key: Key, by: User | None = None, without: Collection[str] = ()
) -> Contents:
    """Write a workspace with all its studies to a new file, and read the file again to its end; returns its table of contents.

    Everything is as it was at one moment. Studies may be live: nobody has to stop working. Deleted ones that can still be restored
    are in it too. ``without`` are short names of studies to leave out. Raises ``MoveError``; then there is no file.
    """
    with new_file(path) as file:
        with one_snapshot():
            contents = _write(workspace, without, file, key)
        file.flush()
        file.seek(0)
        with BackupReader(file, key) as backup:
            backup.check()
        file.seek(0, 2)
    audit_write(
        action=AuditAction.WORKSPACE_BACKED_UP, workspace=workspace, by=by, target=contents.id,
        after={"studies": len(contents.studies)},
    )  # fmt: skip
    return contents


def _write(workspace: Workspace, without: Collection[str], file: IO[bytes], key: Key) -> Contents:
    studies = list(workspace.studies.order_by("pk"))
    unknown = sorted(set(without) - {one.slug for one in studies})
    if unknown:
        raise MoveError(f"--without: the workspace has no study {printable(listed(unknown), most=200)}")
    studies = [one for one in studies if one.slug not in without]
    out = BackupWriter(file, key)
    own = out.part(WORKSPACE, partial(_own_write, workspace, key))
    parts = list[BackupPart]()
    for number, study in enumerate(studies, start=1):
        name = f"studies/{number:04}.foretell"
        try:
            parts.append(out.part(name, partial(_study_write, study, key), _about(study)))
        except MoveError as error:
            raise MoveError(
                f"the study {study.slug} can't be written: {error}. --without {study.slug} leaves it out."
            ) from error
    kept = KeptStudy.objects.filter(workspace=workspace, brought_back_at__isnull=True)
    contents = Contents(
        id=secrets.token_hex(16), written_at=timezone.now().isoformat(timespec="seconds"), software=software(), name=workspace.name,
        workspace=own, studies=tuple(parts),
        without=dict.fromkeys(sorted(without), _LEFT_OUT)
        | {one.slug: _IN_A_FILE.format(at=one.kept_at.date(), place=one.place) for one in kept},
    )  # fmt: skip
    out.close(contents)
    return contents


def _own_write(workspace: Workspace, key: Key, file: IO[bytes]) -> dict[str, int]:
    scope = WorkspaceScope(workspace)
    working = Q(pk__in=scope.raters) | Q(participations__study__workspace=workspace)
    people = set(Rater.objects.filter(working).values_list("user", flat=True))
    return rows_write(
        scope=scope, tables=OWN, holds="workspace", head={"name": workspace.name}, participants=people, file=file, key=key,
    )  # fmt: skip


def _study_write(study: Study, key: Key, file: IO[bytes]) -> dict[str, int]:
    return study_write(study=study, file=file, key=key, copy=True)


def _about(study: Study) -> Row:
    """What the table of contents says of a study."""
    roles = Membership.objects.filter(study=study).order_by("pk").values_list("user", "role")
    return {
        "slug": study.slug, "title": study.title, "state": study.state, "archived": study.archived_at is not None,
        "deleted": study.deleted_at is not None, "hit_type": "" if study.declaration_id else study.hit_type,
        "members": [list(role) for role in roles],
    }  # fmt: skip
