"""Restore a workspace from its backup: its own rows at once, then study by study, so that a restore that was killed goes on where it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.printable import printable
from annotator.core.words import listed
from annotator.hit_types.registry import hit_types
from annotator.models import AuditAction, Membership, Study, User, Workspace, WorkspaceMember
from annotator.selectors.study import slug_near
from annotator.services.audit import audit_write
from evaluation.models import WorkspaceRestore
from evaluation.moves.lines import lines_read
from evaluation.moves.reading import study_read
from evaluation.moves.rows_import import RowsImport, all_or_nothing
from evaluation.moves.sealed_file import Key, MoveError
from evaluation.moves.tables import MovedTable, Row
from evaluation.moves.workspace_archive import WORKSPACE, BackupPart, BackupReader, Contents
from evaluation.moves.workspace_tables import OWN

OWNER = Membership.Role.OWNER


def workspace_restore(
    *,
    path: Path,
    key: Key,
    name: str = "",
    by: User | None = None,
    said: Callable[[str], object] = lambda text: None,
) -> WorkspaceRestore:
    """Make the workspace of a backup, named as before or ``name``. Called again after it was interrupted, it goes on with the next study.

    The whole file is checked before anything is written. Nobody is a member before all studies are there. Then everybody who was one is a
    member again, with the same role; ``by`` is an owner too. ``said`` is called with the short name of each study once it is there.
    Other workspaces aren't touched.

    Raises ``MoveError`` if the file is damaged, the name can't be that of a workspace, there is a workspace of that name which isn't an unfinished restore of this backup, or
    nobody could own it.
    """
    with path.open("rb") as file, BackupReader(file, key) as backup:
        backup.check()
        contents = backup.contents
        _types_check(contents)
        with jobs.lock_held("workspace restore", contents.id) as mine:
            if not mine:
                raise MoveError("another process is restoring this backup at this moment")
            restore = _begun(backup, key, (name or contents.name).strip(), by)
            for part in contents.studies:
                if part.name not in restore.studies:
                    said(_study(backup, part, key, restore).slug)
            _finish(restore, contents)
    return restore


def _types_check(contents: Contents) -> None:
    """Check that this installation has the HIT types of the studies, apart from those of the workspace itself."""
    missing = {str(study.about["hit_type"]) for study in contents.studies} - {"", *hit_types()}
    if missing:
        raise MoveError(
            f"this installation doesn't have the HIT type {printable(listed(sorted(missing)), most=200)}; install it first"
        )


def _begun(backup: BackupReader, key: Key, name: str, by: User | None) -> WorkspaceRestore:
    """The unfinished restore of this backup, or a new one with the workspace's own rows."""
    try:
        Workspace(name=name).full_clean()
    except ValidationError as error:
        raise MoveError(f"the name {printable(name, most=50)!r}: {' '.join(error.messages)}") from None
    there = WorkspaceRestore.objects.filter(workspace__name=name, backup=backup.contents.id)
    going = there.filter(finished_at__isnull=True).first()
    if going is not None:
        return going
    if Workspace.objects.filter(name=name).exists():
        done = there.first()
        how = f", restored from this backup on {done.started_at:%Y-%m-%d}" if done is not None else ""
        raise MoveError(
            f"there is a workspace named {printable(name)} here already{how}. To restore the backup beside it, choose another name with --as."
        )
    slugs = _slugs(backup.contents)
    with backup.open(WORKSPACE, backup.contents.workspace.title) as member, all_or_nothing():
        made = _WorkspaceImport(lines_read(member, key), name, slugs)
        workspace = made.workspace()
        members = made.members | ({by.pk: OWNER} if by is not None else {})
        owners = [pk for pk, role in members.items() if role == OWNER]
        if not User.objects.filter(pk__in=owners, is_active=True, is_staff=True).exists():
            raise MoveError(
                "none of the workspace's owners is a researcher here; name an owner with --owner USER"
            )
        return WorkspaceRestore.objects.create(
            workspace=workspace, backup=backup.contents.id, people=made.people(_with_roles(backup.contents)), slugs=slugs, members=list(map(list, members.items())),
        )  # fmt: skip


def _with_roles(contents: Contents) -> set[int]:
    """Accounts, by their number in the backup, that have a role in a single study."""
    return {user for part in contents.studies for user, _ in part.about["members"]}


def _slugs(contents: Contents) -> dict[str, str]:
    """Short names that the studies get here: their own, unless another study has it."""
    found = dict[str, str]()
    for part in contents.studies:
        before = str(part.about["slug"])
        after = slug_near(before)
        number = 2
        while after in found.values():
            after, number = slug_near(f"{before[:60]}-{number}"), number + 1
        found[before] = after
    return found


@transaction.atomic
def _study(backup: BackupReader, part: BackupPart, key: Key, restore: WorkspaceRestore) -> Study:
    """Make one study, and record that it is there, together or not at all."""
    about, before = part.about, str(part.about["slug"])
    slug = restore.slugs[before]
    if Study.objects.filter(slug=slug).exists():  # somebody has taken it since the restore began
        slug = slug_near(before)
    with backup.open(part.name, part.title) as member:
        study = study_read(
            file=member, key=key, by=None, slug=slug, workspace=restore.workspace, renamed=restore.slugs
        )
    for user, role in about["members"]:
        if str(user) in restore.people and role in Membership.Role:
            Membership.objects.get_or_create(
                study=study, user_id=restore.people[str(user)], defaults={"role": role}
            )
    if about["deleted"]:  # can be restored for as long as if it had just been deleted
        Study.objects.filter(pk=study.pk).update(deleted_at=timezone.now())
    audit_write(action=AuditAction.STUDY_MOVED_IN, study=study, target=restore.backup)
    restore.studies[part.name] = study.pk
    restore.save(update_fields=["studies"])
    return study


@transaction.atomic
def _finish(restore: WorkspaceRestore, contents: Contents) -> None:
    """Let the members in."""
    for user, role in restore.members:
        if User.objects.filter(pk=user).exists():
            WorkspaceMember.objects.update_or_create(
                workspace=restore.workspace, user_id=user, defaults={"role": role}
            )
    restore.finished_at = timezone.now()
    restore.people = {}
    restore.save(update_fields=["finished_at", "people"])
    audit_write(
        action=AuditAction.WORKSPACE_RESTORED, workspace=restore.workspace, target=restore.backup,
        after={"studies": len(contents.studies)},
    )  # fmt: skip


class _WorkspaceImport(RowsImport):
    """Puts the workspace's own rows into the database. Members are remembered, not made."""

    def __init__(self, lines: Iterator[Row], name: str, slugs: dict[str, str]) -> None:
        head = next(lines, None) or {}
        super().__init__(
            lines, head=head, holds="workspace", tables=OWN, workspace=None, kept=False, renamed=slugs
        )
        self._name = name
        #: Number of an account here -> the role.
        self.members: dict[int, str] = {}

    def workspace(self) -> Workspace:
        """Import all rows; returns the workspace."""
        self._all()
        if self._workspace is None:
            raise MoveError("the file has no workspace")
        return self._workspace

    def people(self, wanted: set[int]) -> dict[str, int]:
        """Number of an account in the file -> here, for some of them."""
        return {str(number): pk for number, pk in self._ids.here.get(User, {}).items() if number in wanted}

    def put(self, table: MovedTable, lines: list[Row]) -> None:
        if table.model is WorkspaceMember:
            for line in lines:
                row = line["row"]
                if row.get("role") not in Membership.Role:
                    raise MoveError(f"{table.name} {row.get('id')}: there is no such role")
                self.members[self._ids.of(User, row.get("user_id"), table.name)] = row["role"]
            return
        super().put(table, lines)
        if table.model is Workspace:
            made = self._ids.here[Workspace]
            if len(made) != 1:
                raise MoveError("the file has several workspaces")
            self._workspace = Workspace.objects.get(pk=next(iter(made.values())))

    def _changed(self, table: MovedTable, old: Row, row: Row) -> Row:
        return row | {"name": self._name} if table.model is Workspace else row
