"""Make a study again from an encrypted file: all of it, or nothing. Whatever the file says, it only refers to rows of its own."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import DatabaseError, connection, transaction
from django.db.models import JSONField, Model

from annotator.core.new_ids import new_ids
from annotator.core.printable import printable, printable_lines
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.registry import HIT_TYPES, hit_types
from annotator.models import (
    Declaration,
    Explanation,
    LedgerEntry,
    Membership,
    PayBatch,
    Rater,
    ReviewDecision,
    Snapshot,
    Study,
    StudyImage,
    User,
    Workspace,
)
from annotator.models.study import new_token
from annotator.selectors.declaration import source_digest
from annotator.services.declared_type import declared_type_check, declared_type_save
from annotator.services.images import CheckedImage, image_check, image_file_store
from annotator.services.ledger_copy import ledger_copied
from annotator.services.workspace import workspace_create
from evaluation.models import Call, Release, Run
from evaluation.moves.archives import Archives, raters_renewed
from evaluation.moves.json_rows import default_of, rows_get, rows_put
from evaluation.moves.lines import lines_read
from evaluation.moves.people import account_here, account_new, rater_here, rater_new
from evaluation.moves.references import references_renewed, subject_renewed
from evaluation.moves.sealed_file import Key, MoveError
from evaluation.moves.tables import BY_NAME, MOVED, MovedTable, Row
from evaluation.releases.tables import refers_to

FORMAT = 1
_BATCH = 200


@dataclass
class Ids:
    """The numbers that rows of the file have here, and those of rows that were here before."""

    here: dict[type[Model], dict[int, int]] = field(default_factory=dict)
    reused: dict[type[Model], set[int]] = field(default_factory=dict)

    def of(self, model: type[Model], number: Any, where: str) -> int:
        """The number here. Raises ``MoveError`` if the file has no such row."""
        found = self.here.get(model, {}).get(number) if isinstance(number, int) else None
        if found is None:
            raise MoveError(
                f"{where} refers to {model._meta.label_lower} {printable(repr(number), most=50)}, which isn't in the file"
            )
        return found


def study_read(
    *,
    file: IO[bytes],
    key: Key,
    by: User,
    slug: str = "",
    workspace: Workspace | None = None,
    name: str = "",
    pk: int | None = None,
    only: Collection[type[Model]] = (),
) -> Study:
    """Make the study of a file; ``by`` owns it.

    It gets the short name ``slug`` in place of its own, and is in ``workspace``, or in a new one named ``name`` or as before. ``pk`` is the
    number that it had here before. With ``only``, the rows of other tables are passed over. Raises ``MoveError`` if the key is wrong, the file is damaged, or the short name is taken.
    """
    lines = lines_read(file, key)
    try:
        with transaction.atomic():
            study = _StudyImport(lines, by, slug, workspace, name, pk, only=only).study()
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            return study
    except DatabaseError as error:
        said = printable_lines(str(error).partition("DETAIL")[0]).strip()[:500]
        raise MoveError(f"the database refuses a row of the file: {said}") from error
    except ValidationError as error:
        raise MoveError("; ".join(error.messages)) from error


class _StudyImport:
    """Puts the rows of one file into the database, table by table; a row's references become the numbers of rows here."""

    def __init__(
        self,
        lines: Iterator[Row],
        by: User,
        slug: str,
        workspace: Workspace | None,
        name: str,
        pk: int | None,
        *,
        only: Collection[type[Model]] = (),
    ) -> None:
        head = next(lines, None)
        if head is None or head.get("foretell") != "study":
            raise MoveError("this is not the file of a study")
        if head.get("format") != FORMAT:
            raise MoveError(
                f"the file has format {printable(repr(head.get('format')), most=50)}; this version of Foretell reads format {FORMAT}"
            )
        self._lines, self._by, self._pk = lines, by, pk
        self._only = frozenset(only or (table.model for table in MOVED))
        self._old = str(head.get("slug", ""))
        self._slug = slug or self._old
        validate_slug(self._slug)
        self._columns = _columns(head.get("columns"))
        if Study.objects.filter(slug=self._slug).exists():
            raise MoveError(
                f"there is a study named {self._slug} here already, perhaps this one. To make a second study of the file, give it another short name."
            )
        self._kept = workspace is not None
        self._workspace = workspace or workspace_create(
            by=by, name=(name or str(head.get("workspace") or self._slug))[:80]
        )
        self._mark = sha256(repr(sorted(head.items(), key=str)).encode()).hexdigest()[:12]
        self._sources = {f"import:{self._old}": f"import:{self._slug}"}
        self._ids, self._counts = Ids(), Counter[str]()
        self._later: dict[str, Any] = {}
        self._images: dict[str, CheckedImage] = {}
        self._declared: set[str] = set()
        self._archives = Archives()
        #: The kinds of runs that made material, whose calls are about rows of it.
        self._kinds: dict[int, str] = {}

    def study(self) -> Study:
        """Import all rows; returns the study."""
        for table, rows in self._tables():
            model = table.model
            self._ids.here.setdefault(model, {})
            self._ids.reused.setdefault(model, set())
            if model in self._only:
                self._put(table, rows)
            if model is Study and len(self._ids.here[Study]) != 1:
                raise MoveError("the file has several studies")
            self._counts[table.name] += len(rows)
        made = self._ids.here.get(Study)
        if not made:
            raise MoveError("the file has no study")
        study = Study.objects.get(pk=next(iter(made.values())))
        if self._later["snapshot_id"] is not None:
            study.snapshot_id = self._ids.of(Snapshot, self._later["snapshot_id"], "the study")
        state = self._later["state"]
        if state not in (Study.State.DRAFT, Study.State.CLOSED):
            raise MoveError(
                f"the study of the file is {printable(str(state), most=20)}; expected draft or closed"
            )
        study.state = state
        study.save(update_fields=["snapshot", "state"])
        if study.declaration is not None and not self._kept:  # a kept study's workspace has or had its type
            self._declare(study)
        elif study.declaration is None and study.hit_type not in hit_types():
            raise MoveError(
                f"this installation has no HIT type {printable(study.hit_type, most=60)!r}; install it first"
            )
        Membership.objects.get_or_create(study=study, user=self._by, defaults={"role": Membership.Role.OWNER})
        return study

    def _declare(self, study: Study) -> None:
        """Check the file of the study's own HIT type, and give it to a workspace that is new here."""
        source = study.declaration.source if study.declaration else ""
        try:
            kind, checks = declared_type_check(source)
            if kind.name != study.hit_type or not all(one.passed for one in checks):
                raise MoveError("the file of the study's HIT type is of another type, or fails a check")
            if study.workspace is not None and kind.name not in HIT_TYPES:
                declared_type_save(workspace=study.workspace, by=self._by, source=source)
        except DeclarationRefused as error:
            raise MoveError(f"the file of the study's HIT type is refused: {error}") from None

    def _tables(self) -> Iterator[tuple[MovedTable, list[Row]]]:
        """Each table's lines in batches, in the order of ``MOVED``. Raises ``MoveError`` if the file's end is missing or counts other rows."""
        place, held = 0, list[Row]()
        order = [table.name for table in MOVED]
        for line in self._lines:
            if "end" in line:
                yield from [(BY_NAME[order[place]], held)] if held else []
                held = []
                if {name: n for name, n in line["end"].items() if n} != dict(self._counts) or next(
                    self._lines, None
                ) is not None:
                    raise MoveError("the file doesn't have the number of rows that its last line says")
                return
            if "piece" in line and held and BY_NAME[order[place]].model is Release:
                if Release in self._only:
                    self._archives.add(held[-1]["row"].get("id"), line["piece"])
                continue
            name = line.get("table")
            if name not in BY_NAME or order.index(name) < place or not isinstance(line.get("row"), dict):
                raise MoveError(f"the file has rows of {printable(str(name), most=60)} where none can be")
            if held and (order[place] != name or len(held) >= _BATCH):
                yield BY_NAME[order[place]], held
                held = []
            place = order.index(name)
            held.append(line)
        raise MoveError("the file ends without its last line")

    def _put(self, table: MovedTable, lines: list[Row]) -> None:
        model = table.model
        rows = [self._filled(table, line["row"]) for line in lines]
        numbers = [row["id"] for row in rows]
        known = self._ids.here[model]
        if not all(isinstance(number, int) for number in numbers) or len(set(numbers) | set(known)) < len(
            numbers
        ) + len(known):
            raise MoveError(f"{table.name}: a row has no number, or one that another row has")
        if table.model is Study and self._pk is not None:
            fresh = [self._pk]
        else:
            fresh = new_ids(model, len(rows), same_length=model is Explanation)
        known |= dict(zip(numbers, fresh, strict=True))
        columns = [one.attname for one in model._meta.concrete_fields]
        made = []
        for line, row, pk in zip(lines, rows, fresh, strict=True):
            if new := self._made(table, line, row, pk):
                made.append(new)
                if model in (User, Rater):  # their names depend on those before them
                    rows_put(model, [new], columns)
        there, back = self._there(table, made), dict(zip(fresh, numbers, strict=True))
        for pk, found in there.items():
            self._use(model, back[pk], found)
        if model not in (User, Rater):
            with ledger_copied() if model is LedgerEntry else nullcontext():
                rows_put(model, [row for row in made if row["id"] not in there], columns)

    def _filled(self, table: MovedTable, row: Row) -> Row:
        """The row with all columns of its table: withheld ones and those that the file's version didn't have get their default."""
        found = {name: row.get(name) for name in self._columns[table.name]}
        for one in table.model._meta.concrete_fields:
            if one.attname in table.put:
                found[one.attname] = table.put[one.attname]
            elif one.attname not in found:
                found[one.attname] = default_of(table.model, one.attname) if table.model is not User else None
            if isinstance(found[one.attname], list | dict) and not isinstance(one, JSONField):
                raise MoveError(f"{table.name}: {one.attname} is a list or an object; expected one value")
        return found

    def _made(self, table: MovedTable, line: Row, row: Row, pk: int) -> Row | None:
        """The row as it is stored here, or None if another is used."""
        model, where = table.model, f"{table.name} {row['id']}"
        if table.part_of:
            parent = table.model._meta.get_field(table.part_of.removesuffix("_id")).remote_field.model  # type: ignore[union-attr]
            if self._ids.of(parent, row[table.part_of], where) in self._ids.reused.get(parent, ()):
                return None
        old, row = row, row | {"id": pk}
        if model is Study:
            self._later = {"snapshot_id": row["snapshot_id"], "state": row["state"]}
            row |= {"slug": self._slug, "snapshot_id": None, "state": Study.State.DRAFT}
            if self._pk is None:
                row["archived_at"] = None
            if Study.objects.filter(join_token=row["join_token"]).exists() or self._pk is None:
                row["join_token"] = new_token()
        if model is Declaration:
            if not isinstance(row["source"], str) or source_digest(row["source"]) != row["digest"]:
                raise MoveError(f"{where}: the text is another than its hash says")
            self._declared.add(row["digest"])
        paying = model is PayBatch and row["finished_at"] is None
        if paying or (model is ReviewDecision and row["in_force"] and row["done_at"] is None):
            raise MoveError(f"{where} is under way; nothing is paid or decided because a file says so")
        if model is User:
            known = account_here(row)
            if known is not None:
                self._use(User, old["id"], known.pk)
                return None
            return account_new(row, participant=line.get("participant") is True)
        for one in model._meta.concrete_fields:
            if one.remote_field is None or (row[one.attname] is None and one.attname != "workspace_id"):
                continue
            target = refers_to(one)
            if target is None:  # the hash of a text, which is the same everywhere
                if row[one.attname] not in self._declared:
                    raise MoveError(f"{where}: its HIT type's file isn't there")
                continue
            if target not in self._only and target is not Workspace and one.null:
                row[one.attname] = None
                continue
            row[one.attname] = (
                self._workspace.pk
                if target is Workspace
                else self._ids.of(target, row[one.attname], f"{where}, {one.attname}")
            )
        if model is Rater:
            rater = rater_here(row, self._sources)
            if rater is not None:
                self._use(Rater, old["id"], rater.pk)
                return None
            return rater_new(row, self._sources, mark=self._mark)
        if model is Release:
            row["file"] = self._archives.stored(old["id"], row)
            row["raters_before"] = raters_renewed(row["raters_before"], self._ids.here[Rater])
        if model is StudyImage:
            row["file"] = self._image(line, row)
        if model is Run and row["study_id"] is None:
            self._kinds[pk] = str(row["kind"])
        if model is Call and row["run_id"] in self._kinds:
            row = subject_renewed(row, self._kinds[row["run_id"]], self._ids.here)
        return references_renewed(model, old, row, self._ids.here, slugs=(self._old, self._slug))

    def _use(self, model: type[Model], number: int, pk: int) -> None:
        self._ids.here[model][number] = pk
        self._ids.reused[model].add(pk)

    def _there(self, table: MovedTable, rows: list[Row]) -> dict[int, int]:
        """The rows that are here already: their new number -> that of the row here."""
        if not table.key or not rows:
            return {}
        model, names = table.model, list(table.key)
        fields = {one.attname: one for one in model._meta.concrete_fields}
        asked = []
        for row in rows:
            referred = [
                (fields[name].remote_field, row[name])
                for name in names
                if fields[name].remote_field and row[name] is not None
            ]
            if all(self._was_here(to.model, pk) for to, pk in referred if to is not None):
                asked.append(row)
        if not asked:
            return {}
        wanted = model._default_manager.all()
        for name in names:
            values = {row[name] for row in asked}
            if None not in values:
                wanted = wanted.filter(**{f"{name}__in": values})
        columns = ["id", *names, *table.same, *table.loose]
        by_key = {
            tuple(row[name] for name in names): row
            for row in rows_get(model, [row.pk for row in wanted.only("pk")], columns)
        }
        found = {}
        for row in asked:
            known = by_key.get(tuple(row[name] for name in names))
            if known is None:
                continue
            # What this row referred to went with the study, and has come back.
            back = {name: row[name] for name in table.loose if known[name] is None and row[name] is not None}
            if back:
                model._default_manager.filter(pk=known["id"]).update(**back)
            for name in table.same:
                if known[name] != row[name]:
                    raise MoveError(
                        f"{table.name} {known['id']} is here already and has another {name}: it was changed after the file was written. Import "
                        "the study into a new workspace."
                    )
            found[row["id"]] = known["id"]
        return found

    def _was_here(self, model: Any, pk: int) -> bool:
        return self._kept if model is Workspace else pk in self._ids.reused.get(model, ())

    def _image(self, line: Row, row: Row) -> str:
        """Store the file of an image, under a name made from its content."""
        if "data" in line:
            try:
                content = base64.b64decode(line["data"], validate=True)
                image = image_check(name=str(row["name"]), content=content)
            except (ValueError, binascii.Error, TypeError) as error:
                raise MoveError(f"the image {printable(str(row['name']), most=100)}: {error}") from None
            self._images[image.digest] = image
        image_ = self._images.get(row["digest"])
        if image_ is None:
            raise MoveError(
                f"the file has no image {printable(str(row['name']), most=100)} with the digest that its row has"
            )
        return image_file_store(study=Study.objects.get(pk=row["study_id"]), image=image_)


def _columns(found: Any) -> dict[str, list[str]]:
    """The columns of the file's tables. Raises ``MoveError`` if this version doesn't have one, or needs one that the file lacks."""
    if (
        not isinstance(found, dict)
        or set(found) - set(BY_NAME)
        or not all(isinstance(one, list) for one in found.values())
    ):
        raise MoveError(
            "the file has tables that this version of Foretell doesn't have; install the version that wrote it, or a later one"
        )
    for name, columns in found.items():
        table = BY_NAME[name]
        strange = [str(one) for one in columns if one not in table.columns]
        if strange:
            raise MoveError(
                f"{name} of the file has {printable(strange[0], most=60)}, which this version of Foretell doesn't have; update it"
            )
        for missing in set(table.columns) - set(columns):
            try:
                default_of(table.model, missing)
            except KeyError:
                raise MoveError(f"{name} of the file lacks {missing}") from None
    return {name: list(found.get(name, ())) for name in BY_NAME}
