"""Make a study again from an encrypted file: all of it, or nothing. Whatever the file says, it only refers to rows of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any

from django.core.validators import validate_slug
from django.db.models import Model
from django.utils import timezone

from annotator.core.printable import printable
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.registry import HIT_TYPES, hit_types
from annotator.models import Membership, PayBatch, Rater, ReviewDecision, Snapshot, Study, User, Workspace
from annotator.models.study import new_token
from annotator.services.declared_type import declared_type_check, declared_type_save
from annotator.services.erasure import erasures_repeat
from annotator.services.workspace import workspace_create
from evaluation.moves.lines import lines_read
from evaluation.moves.people import moment
from evaluation.moves.rows_import import RowsImport, all_or_nothing, head_check
from evaluation.moves.sealed_file import Key, MoveError
from evaluation.moves.tables import MOVED, MovedTable, Row

_CUT = "Restored from a backup that was written while this was under way."
#: What is said of payments and decisions of which a backup doesn't know whether they were carried out.
PAYMENTS_IN_DOUBT = f"{_CUT} See at the panel which payments were sent, and undo the records of the others."
DECISION_IN_DOUBT = f"{_CUT} See at the panel whether it was carried out, and decide again."


def study_read(
    *,
    file: IO[bytes],
    key: Key,
    by: User | None,
    slug: str = "",
    workspace: Workspace | None = None,
    name: str = "",
    pk: int | None = None,
    only: Collection[type[Model]] = (),
    renamed: Mapping[str, str] | None = None,
) -> Study:
    """Make the study of a file; ``by`` owns it.

    It gets the short name ``slug`` in place of its own, and is in ``workspace``, or in a new one named ``name`` or as before. ``pk`` is the
    number that it had here before. With ``only``, the rows of other tables are passed over. ``renamed`` says that the study is one of a
    workspace that is being restored: it maps short names there to those here, and whoever owns the workspace owns the study.

    Raises ``MoveError`` if the key is wrong, the file is damaged, or the short name is taken.
    """
    lines = lines_read(file, key)
    with all_or_nothing():
        return _StudyImport(lines, by, slug, workspace, name, pk, only=only, renamed=renamed).study()


class _StudyImport(RowsImport):
    """Puts the rows of a study's file into the database."""

    def __init__(
        self,
        lines: Iterator[Row],
        by: User | None,
        slug: str,
        workspace: Workspace | None,
        name: str,
        pk: int | None,
        *,
        only: Collection[type[Model]] = (),
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        head = next(lines, None) or {}
        head_check(head, holds="study", tables=MOVED)
        self._by, self._pk = by, pk
        old = str(head.get("slug", ""))
        self._slug = slug or old
        validate_slug(self._slug)
        if Study.objects.filter(slug=self._slug).exists():
            raise MoveError(
                f"there is a study named {self._slug} here already, perhaps this one. To make a second study of the file, give it another short name."
            )
        kept = workspace is not None
        if workspace is None:
            if by is None:
                raise MoveError("a new workspace needs an owner")
            workspace = workspace_create(by=by, name=(name or str(head.get("workspace") or self._slug))[:80])
        #: A study of a workspace's backup may have been live, and its workspace is restored with it.
        self._copy, self._restored = head.get("copy") is True, renamed is not None
        self._later: dict[str, Any] = {}
        #: Number of a rater in the file -> when the rater was made.
        self._raters: dict[int, Any] = {}
        super().__init__(
            lines, head=head, holds="study", tables=MOVED, workspace=workspace, kept=kept, only=only,
            renamed={old: self._slug} | dict(renamed or {}),
        )  # fmt: skip

    def study(self) -> Study:
        """Import all rows; returns the study."""
        self._all()
        made = self._ids.here.get(Study)
        if not made:
            raise MoveError("the file has no study")
        if len(made) != 1:
            raise MoveError("the file has several studies")
        (old_pk, pk), *_ = made.items()
        study = Study.objects.get(pk=pk)
        if self._later["snapshot_id"] is not None:
            study.snapshot_id = self._ids.of(Snapshot, self._later["snapshot_id"], "the study")
        study.state = self._state()
        study.save(update_fields=["snapshot", "state"])
        if study.declaration is not None and not self._kept:  # a kept study's workspace has or had its type
            self._declare(study)
        elif study.declaration is None and study.hit_type not in hit_types():
            raise MoveError(
                f"this installation has no HIT type {printable(study.hit_type, most=60)!r}; install it first"
            )
        if self._restored:  # people whose data were deleted after the backup was written
            erasures_repeat(study=study, before=old_pk, raters=self._raters_here())
        elif self._by is not None:
            Membership.objects.get_or_create(
                study=study, user=self._by, defaults={"role": Membership.Role.OWNER}
            )
        return study

    def _state(self) -> str:
        """The study's state here. Nobody works on a study because a file says so."""
        state = self._later["state"]
        if self._copy and state in (Study.State.LIVE, Study.State.PAUSED):
            return Study.State.PAUSED
        if state not in (Study.State.DRAFT, Study.State.CLOSED):
            raise MoveError(
                f"the study of the file is {printable(str(state), most=20)}; expected draft or closed"
            )
        return str(state)

    def _raters_here(self) -> dict[tuple[int, str], int]:
        found = {}
        for number, made in self._raters.items():
            if (at := moment(made)) is not None and number in self._ids.here[Rater]:
                found[number, at.isoformat()] = self._ids.here[Rater][number]
        return found

    def _declare(self, study: Study) -> None:
        """Check the file of the study's own HIT type, and give it to a workspace that is new here."""
        source = study.declaration.source if study.declaration else ""
        try:
            kind, checks = declared_type_check(source)
            if kind.name != study.hit_type or not all(check.passed for check in checks):
                raise MoveError("the file of the study's HIT type is of another type, or fails a check")
            if study.workspace is not None and kind.name not in HIT_TYPES:
                declared_type_save(workspace=study.workspace, by=self._by, source=source)
        except DeclarationRefused as error:
            raise MoveError(f"the file of the study's HIT type is refused: {error}") from None

    def put(self, table: MovedTable, lines: list[Row]) -> None:
        super().put(table, lines)
        if table.model is Study and len(self._ids.here[Study]) != 1:
            raise MoveError("the file has several studies")

    def new_numbers(self, model: type[Model], count: int) -> list[int]:
        return [self._pk] if model is Study and self._pk is not None else super().new_numbers(model, count)

    def _changed(self, table: MovedTable, old: Row, row: Row) -> Row:
        model = table.model
        if model is Rater:
            self._raters[old["id"]] = row["created_at"]
        if model is Study:
            self._later = {"snapshot_id": row["snapshot_id"], "state": row["state"]}
            row |= {"slug": self._slug, "snapshot_id": None, "state": Study.State.DRAFT}
            as_before = self._pk is not None or self._restored
            if not as_before:
                row["archived_at"] = None
            if Study.objects.filter(join_token=row["join_token"]).exists() or not as_before:
                row["join_token"] = new_token()
        paying = model is PayBatch and row["finished_at"] is None
        deciding = model is ReviewDecision and row["in_force"] and row["done_at"] is None
        if not paying and not deciding:
            return row
        if not self._copy:
            raise MoveError(
                f"{table.name} {old['id']} is under way; nothing is paid or decided because a file says so"
            )
        now = timezone.now().isoformat()
        if paying:
            return row | {"finished_at": now, "fault": PAYMENTS_IN_DOUBT, "retry_at": None}
        return row | {"in_force": False, "undone_at": now, "fault": DECISION_IN_DOUBT}
