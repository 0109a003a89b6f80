"""Puts the rows of an encrypted file into the database. Whatever the file says, they only refer to rows of the same file."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction
from django.db.models import JSONField, Model

from annotator.core.new_ids import new_ids
from annotator.core.printable import printable, printable_lines
from annotator.models import (
    Declaration,
    Explanation,
    LedgerEntry,
    Rater,
    Study,
    StudyImage,
    User,
    Workspace,
)
from annotator.selectors.declaration import source_digest
from annotator.services.images import CheckedImage, image_check, image_file_store
from annotator.services.ledger_copy import ledger_copied
from evaluation.models import Call, Endpoint, Release, Run
from evaluation.moves.archives import Archives, raters_renewed
from evaluation.moves.json_rows import default_of, rows_get, rows_put
from evaluation.moves.numbers import MOST, NumberMap
from evaluation.moves.people import account_here, account_new, rater_here, rater_new
from evaluation.moves.references import references_renewed, subject_renewed
from evaluation.moves.sealed_file import MoveError
from evaluation.moves.tables import MovedTable, Row
from evaluation.releases.tables import refers_to

FORMAT = 1
_BATCH = 200


@dataclass
class Ids:
    """The numbers that rows of the file have here, and those of rows that were here before."""

    here: dict[type[Model], NumberMap] = field(default_factory=dict)
    reused: dict[type[Model], set[int]] = field(default_factory=dict)

    def of(self, model: type[Model], number: Any, where: str) -> int:
        """The number here. Raises ``MoveError`` if the file has no such row."""
        found = self.here[model].get(number) if isinstance(number, int) and model in self.here else None
        if found is None:
            raise MoveError(
                f"{where} refers to {model._meta.label_lower} {printable(repr(number), most=50)}, which isn't in the file"
            )
        return found


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """A transaction around the rows of one file; what the database refuses in it is a ``MoveError``."""
    try:
        with transaction.atomic():
            yield
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    except DatabaseError as error:
        said = printable_lines(str(error).partition("DETAIL")[0]).strip()[:500]
        raise MoveError(f"the database refuses a row of the file: {said}") from error
    except ValidationError as error:
        raise MoveError("; ".join(error.messages)) from error


def head_check(head: Row | None, *, holds: str, tables: Sequence[MovedTable]) -> dict[str, list[str]]:
    """The columns of the file's tables, by its first line. Raises ``MoveError`` if it holds something else, or this version can't read it."""
    if head is None or head.get("foretell") != holds:
        raise MoveError(f"this is not the file of a {holds}")
    if head.get("format") != FORMAT:
        raise MoveError(
            f"the file has format {printable(repr(head.get('format')), most=50)}; this version of Foretell reads format {FORMAT}"
        )
    return _columns(head.get("columns"), {table.name: table for table in tables})


class RowsImport:
    """Puts the rows of one file into the database, table by table; a row's references become the numbers of rows here.

    ``renamed`` maps short names of studies in the file to those here. ``kept`` says that the workspace was here before, so that its rows
    can be used again.
    """

    def __init__(
        self,
        lines: Iterator[Row],
        *,
        head: Row,
        holds: str,
        tables: Sequence[MovedTable],
        workspace: Workspace | None,
        kept: bool,
        renamed: Mapping[str, str],
        only: Collection[type[Model]] = (),
    ) -> None:
        self._lines, self._table_list = lines, tables
        self._by_name = {table.name: table for table in tables}
        self._columns = head_check(head, holds=holds, tables=tables)
        self._only = frozenset(only or (table.model for table in tables))
        self._workspace, self._kept, self._renamed = workspace, kept, dict(renamed)
        self._mark = sha256(repr(sorted(head.items(), key=str)).encode()).hexdigest()[:12]
        self._sources = {f"import:{before}": f"import:{after}" for before, after in renamed.items()}
        self._ids, self._counts = Ids(), Counter[str]()
        self._images: dict[str, CheckedImage] = {}
        self._declared: set[str] = set()
        self._archives = Archives()
        #: The kinds of runs that made material, whose calls are about rows of it.
        self._kinds: dict[int, str] = {}

    def _all(self) -> None:
        """Import every row of the file."""
        for table, rows in self._tables():
            model = table.model
            self._ids.here.setdefault(model, NumberMap())
            self._ids.reused.setdefault(model, set())
            if model in self._only:
                self.put(table, rows)
            self._counts[table.name] += len(rows)

    def _tables(self) -> Iterator[tuple[MovedTable, list[Row]]]:
        """Each table's lines in batches, in the order of the list of tables. Raises ``MoveError`` if the file's end is missing or counts other rows."""
        place, held = 0, list[Row]()
        order = [table.name for table in self._table_list]
        for line in self._lines:
            if "end" in line:
                yield from [(self._by_name[order[place]], held)] if held else []
                held = []
                if {name: n for name, n in line["end"].items() if n} != dict(self._counts) or next(
                    self._lines, None
                ) is not None:
                    raise MoveError("the file doesn't have the number of rows that its last line says")
                return
            if "piece" in line and held and self._by_name[order[place]].model is Release:
                if Release in self._only:
                    self._archives.add(held[-1]["row"].get("id"), line["piece"])
                continue
            name = line.get("table")
            if (
                name not in self._by_name
                or order.index(name) < place
                or not isinstance(line.get("row"), dict)
            ):
                raise MoveError(f"the file has rows of {printable(str(name), most=60)} where none can be")
            if held and (order[place] != name or len(held) >= _BATCH):
                yield self._by_name[order[place]], held
                held = []
            place = order.index(name)
            held.append(line)
        raise MoveError("the file ends without its last line")

    def put(self, table: MovedTable, lines: list[Row]) -> None:
        """Insert some rows of a table, apart from those that are here already."""
        model = table.model
        rows = [self._filled(table, line["row"]) for line in lines]
        numbers = [row["id"] for row in rows]
        known = self._ids.here[model]
        sound = all(isinstance(number, int) and 0 <= number <= MOST for number in numbers)
        if not sound or len(set(numbers)) < len(numbers) or any(number in known for number in numbers):
            raise MoveError(f"{table.name}: a row has no number, or one that another row has")
        fresh = self.new_numbers(model, len(rows))
        known.update(zip(numbers, fresh, strict=True))
        columns = [concrete_field.attname for concrete_field in model._meta.concrete_fields]
        made = []
        for line, row, pk in zip(lines, rows, fresh, strict=True):
            if new := self._made(table, line, row, pk):
                made.append(new)
                if model in (User, Rater):  # their names depend on those before them
                    rows_put(model, [new], columns)
        there, back = self._there(table, made), dict(zip(fresh, numbers, strict=True))
        for pk, found in there.items():
            self._use(model, back[pk], found)
        if model is Endpoint:
            _endpoints_named([row for row in made if row["id"] not in there])
        if model not in (User, Rater):
            with ledger_copied() if model is LedgerEntry else nullcontext():
                rows_put(model, [row for row in made if row["id"] not in there], columns)

    def new_numbers(self, model: type[Model], count: int) -> list[int]:
        """The numbers of new rows."""
        return new_ids(model, count, same_length=model is Explanation)

    def _filled(self, table: MovedTable, row: Row) -> Row:
        """The row with all columns of its table: withheld ones and those that the file's version didn't have get their default."""
        found = {name: row.get(name) for name in self._columns[table.name]}
        for concrete_field in table.model._meta.concrete_fields:
            if concrete_field.attname in table.put:
                found[concrete_field.attname] = table.put[concrete_field.attname]
            elif concrete_field.attname not in found:
                found[concrete_field.attname] = (
                    default_of(table.model, concrete_field.attname) if table.model is not User else None
                )
            if isinstance(found[concrete_field.attname], list | dict) and not isinstance(
                concrete_field, JSONField
            ):
                raise MoveError(
                    f"{table.name}: {concrete_field.attname} is a list or an object; expected one value"
                )
        return found

    def _made(self, table: MovedTable, line: Row, row: Row, pk: int) -> Row | None:
        """The row as it is stored here, or None if another is used."""
        model, where = table.model, f"{table.name} {row['id']}"
        if table.part_of:
            parent = table.model._meta.get_field(table.part_of.removesuffix("_id")).remote_field.model  # type: ignore[union-attr]
            if self._ids.of(parent, row[table.part_of], where) in self._ids.reused.get(parent, ()):
                return None
        old, row = row, row | {"id": pk}
        if model is Declaration:
            if not isinstance(row["source"], str) or source_digest(row["source"]) != row["digest"]:
                raise MoveError(f"{where}: the text is another than its hash says")
            self._declared.add(row["digest"])
        row = self._changed(table, old, row)
        if model is User:
            known = account_here(row)
            if known is not None:
                self._use(User, old["id"], known.pk)
                return None
            return account_new(row, participant=line.get("participant") is True)
        for concrete_field in model._meta.concrete_fields:
            if concrete_field.remote_field is None or (
                row[concrete_field.attname] is None and concrete_field.attname != "workspace_id"
            ):
                continue
            target = refers_to(concrete_field)
            if target is None:  # the hash of a text, which is the same everywhere
                if row[concrete_field.attname] not in self._declared:
                    raise MoveError(f"{where}: its HIT type's file isn't there")
                continue
            if target not in self._only and target is not Workspace and concrete_field.null:
                row[concrete_field.attname] = None
                continue
            row[concrete_field.attname] = (
                self._workspace_pk(where)
                if target is Workspace
                else self._ids.of(target, row[concrete_field.attname], f"{where}, {concrete_field.attname}")
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
        if model is Run:
            row["reserved_cost"] = 0
            if row["study_id"] is None:
                self._kinds[pk] = str(row["kind"])
        if model is Call and row["state"] == Call.State.IN_FLIGHT:  # whoever waited for its reply isn't here
            row |= {"state": Call.State.PENDING, "reserved_cost": 0}
        if model is Call and row["run_id"] in self._kinds:
            row = subject_renewed(row, self._kinds[row["run_id"]], self._ids.here)
        return references_renewed(model, old, row, self._ids.here, renamed=self._renamed)

    def _changed(self, table: MovedTable, old: Row, row: Row) -> Row:
        """The row, before its references are renewed, as a kind of file wants it; ``old`` is the row of the file."""
        return row

    def _workspace_pk(self, where: str) -> int:
        if self._workspace is None:
            raise MoveError(f"{where} comes before the workspace")
        return self._workspace.pk

    def _use(self, model: type[Model], number: int, pk: int) -> None:
        self._ids.here[model][number] = pk
        self._ids.reused[model].add(pk)

    def _there(self, table: MovedTable, rows: list[Row]) -> dict[int, int]:
        """The rows that are here already: their new number -> that of the row here."""
        if not table.key or not rows:
            return {}
        model, names = table.model, list(table.key)
        fields = {concrete_field.attname: concrete_field for concrete_field in model._meta.concrete_fields}
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


def _endpoints_named(rows: list[Row]) -> None:
    """Give endpoints another name if one of the workspace has theirs: those that another workspace shared may."""
    for row in rows:
        name, number = str(row["name"]), 1
        others = [one["name"] for one in rows if one is not row]
        while (
            row["name"] in others
            or Endpoint.objects.filter(workspace=row["workspace_id"], name=row["name"]).exists()
        ):
            number += 1
            row["name"] = f"{name[:90]} ({number})"


def _columns(found: Any, by_name: Mapping[str, MovedTable]) -> dict[str, list[str]]:
    """The columns of the file's tables. Raises ``MoveError`` if this version doesn't have one, or needs one that the file lacks."""
    if (
        not isinstance(found, dict)
        or set(found) - set(by_name)
        or not all(isinstance(one, list) for one in found.values())
    ):
        raise MoveError(
            "the file has tables that this version of Foretell doesn't have; install the version that wrote it, or a later one"
        )
    for name, columns in found.items():
        table = by_name[name]
        strange = [str(column) for column in columns if column not in table.columns]
        if strange:
            raise MoveError(
                f"{name} of the file has {printable(strange[0], most=60)}, which this version of Foretell doesn't have; update it"
            )
        for missing in set(table.columns) - set(columns):
            try:
                default_of(table.model, missing)
            except KeyError:
                raise MoveError(f"{name} of the file lacks {missing}") from None
    return {name: list(found.get(name, ())) for name in by_name}
