"""Import of research material: a file's rows become the items of a study, all or none."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import partial
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.db import connection, models, transaction

from annotator.core.labels import cell_text
from annotator.core.tables.faults import FaultLog
from annotator.core.tables.rows import Line, TableFile
from annotator.core.words import plural
from annotator.hit_types.base import FieldErrors, HitType, ItemDraft
from annotator.hit_types.images import ImageText, StoredImage, image_columns, images_resolve
from annotator.models import AuditAction, Dataset, FollowUp, Instance, Item, Study, System
from annotator.selectors.study import study_hit_type
from annotator.selectors.uploaded_images import images_of
from annotator.services.audit import audit_write
from annotator.services.control_arms import control_items_make
from annotator.services.images import images_add
from annotator.services.imports.image_addresses import SECONDS_IN_REQUEST, ImageAddresses
from annotator.services.imports.readers import table_open
from annotator.services.imports.staging import stage_row, staged_store, staging
from annotator.services.items import items_clear

PREVIEW = 5


@dataclass
class ImportResult:
    """What an import wrote; ``unchanged`` items were in the study already with the same content. ``ignored`` lists
    columns of the file that the HIT type doesn't know; they aren't stored.
    """

    rows: int = 0
    items: int = 0
    unchanged: int = 0
    instances: int = 0
    systems: int = 0
    explanations: int = 0
    follow_ups: int = 0
    outputs: int = 0
    units: int = 0
    ignored: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    preview: list[ItemDraft] = field(default_factory=list)
    dry_run: bool = False
    #: Of a dry run: how many images an import would fetch from other servers, and how many rows name them.
    to_fetch: int = 0
    waiting: int = 0

    @property
    def fetch_note(self) -> str:
        """What a dry run leaves to the import, because it asks no other server; empty if nothing."""
        if not self.to_fetch:
            return ""
        return (
            f"{plural(self.to_fetch, 'image')} will be fetched from other servers when the file is imported. "
            f"Until then, what names them ({plural(self.waiting, 'row')}) isn't compared with the study's items."
        )

    def as_json(self) -> dict[str, Any]:
        left_out = ("preview", "to_fetch", "waiting")
        found = {name: value for name, value in vars(self).items() if name not in left_out}
        return found | {"warnings": [*self.warnings, *filter(None, [self.fetch_note])]}


def material_import(
    *,
    study: Study,
    file: IO[bytes],
    name: str,
    mapping: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
    attributes: Sequence[str] = (),
    replace: bool = False,
    dry_run: bool = False,
    fetch_seconds: float = SECONDS_IN_REQUEST,
) -> ImportResult:
    """Read a file (of a format in ``core/tables/plain_file.py``, recognised by the extension of ``name``) into a draft study.

    ``mapping`` names the file's column for a column of the HIT type; ``constants`` gives a value for every row.
    ``attributes`` are further columns about an item (domain, difficulty), by which reports can group and filter.
    An item that exists already with the same content is left unchanged, so the same file can be imported again.
    With ``replace`` the study's items are deleted first. ``dry_run`` does everything and rolls it back. Raises
    ``FileRefused`` with every fault; then nothing is written.

    Images that rows name by their address are fetched, in at most ``fetch_seconds`` altogether, and stored with the study. A dry run
    fetches nothing.

    The rows go through a temporary table: time is linear in their number and memory constant.
    """
    addresses = ImageAddresses()
    read = partial(
        _import, study=study, file=file, name=name, mapping=mapping or {}, constants=constants or {}, attributes=attributes,
        replace=replace, dry_run=dry_run, addresses=addresses,
    )  # fmt: skip
    result = read()
    if dry_run or not addresses.unfetched:
        return result
    # No lock is held here: other servers may be slow.
    with addresses.fetch(file=name, seconds=fetch_seconds):
        return read()


def _import(
    *,
    study: Study,
    file: IO[bytes],
    name: str,
    mapping: Mapping[str, str],
    constants: Mapping[str, str],
    attributes: Sequence[str],
    replace: bool,
    dry_run: bool,
    addresses: ImageAddresses,
) -> ImportResult:
    """Import the rows; keeps nothing if some name images that have yet to be fetched."""
    log = FaultLog(name)
    result = ImportResult(dry_run=dry_run)
    with transaction.atomic():
        _store_fetched(study, addresses, log)
        study = Study.objects.select_for_update().get(pk=study.pk)
        if study.state != Study.State.DRAFT:
            log.add(f"the study is {study.state}; material can be imported into a draft only")
            log.check()
        if replace:
            try:
                items_clear(study=study)
            except ValidationError as error:
                log.add(" ".join(error.messages))
                log.check()
        reader = _Reader(
            kind=study_hit_type(study),
            mapping=mapping,
            constants=constants,
            attributes=attributes,
            log=log,
            result=result,
            variant=study.variant,
            images=images_of(study=study),
            addresses=addresses,
        )
        dataset, _ = Dataset.objects.get_or_create(workspace=study.workspace, name=study.slug)
        with staging() as copy:
            for line, draft in reader.drafts(table_open(file, name=name, log=log)):
                # Also after a fault: keys that occur twice are reported together with it.
                stage_row(copy, line, draft, unnamed=f"{study.slug} (system not named)")
        staged = staged_store(
            study_pk=study.pk,
            dataset_pk=dataset.pk,
            workspace_pk=study.workspace_id,
            log=log,
            columns=[column.name for column in reader.kind.columns],
        )
        if not staged.rows and not reader.waiting and not log:
            log.add("has no rows")
        log.check()
        result.rows, result.unchanged = staged.rows, staged.unchanged
        for noun, count in staged.written.items():
            setattr(result, noun, count)
        if addresses.unfetched:
            result.rows += reader.waiting
            result.items += reader.waiting
            result.to_fetch, result.waiting = len(addresses.named), reader.waiting
            transaction.set_rollback(True)
            return result
        if same := _same_content(study):
            result.warnings.append(
                f"{plural(same, 'item')} of the study {'has' if same == 1 else 'have'} the same content as another item"
                " under a different key"
            )
        try:
            control = control_items_make(study=study)
        except ValidationError as error:
            log.add(" ".join(error.messages))
            log.check()
        if control:
            result.warnings.append(
                f"{plural(control, 'item')} of the study's control arms are made from them"
            )
        if dry_run:
            transaction.set_rollback(True)
            return result
        counts = {"rows": result.rows, "unchanged": result.unchanged, **staged.written}
        audit_write(action=AuditAction.ITEMS_IMPORTED, study=study, target=name, after=counts)
    return result


def _store_fetched(study: Study, addresses: ImageAddresses, log: FaultLog) -> None:
    """Store the fetched images with the study. Before the study is locked, because images lock its workspace first."""
    if addresses.fetched:
        try:
            images_add(study=study, files=addresses.files())
        except ValidationError as error:
            for message in error.messages:
                log.add(message)
            log.check()


def _same_content(study: Study) -> int:
    """How many items of a study repeat the content of another one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) - count(DISTINCT md5(payload::text)) FROM annotator_item WHERE study_id = %s",
            [study.pk],
        )
        (same,) = cursor.fetchone()
    return int(same)


class _Reader:
    """Turns a table's rows into item drafts, renaming columns on the way; faults go to the log."""

    def __init__(
        self,
        *,
        kind: HitType,
        mapping: Mapping[str, str],
        constants: Mapping[str, str],
        attributes: Sequence[str],
        log: FaultLog,
        result: ImportResult,
        variant: str = "",
        images: Mapping[str, StoredImage] | None = None,
        addresses: ImageAddresses,
    ):
        self.kind = kind
        self.addresses = addresses
        #: Rows that name an image that has yet to be fetched.
        self.waiting = 0
        self._waits = False
        #: Read before the rows, because the connection can't do anything else while they are copied.
        self.images = images or {}
        self.variant = variant
        #: What a row that does not name its variant is taken for.
        self.usual = {kind.variant_field: variant} if variant else {}
        self.log = log
        self.result = result
        self.constants = constants
        self.attributes = attributes
        self.known = {column.name for column in kind.columns}
        self.source = {name: mapping.get(name, name) for name in self.known if name not in constants}
        for name in [*mapping, *constants]:
            if name not in self.known:
                log.add(
                    f"{kind.name} has no such column; it has: {', '.join(sorted(self.known))}", field=name
                )
        for name in set(mapping) & set(constants):
            log.add("is both mapped to a column and set to one value; choose one", field=name)
        self.mapped = {source: name for name, source in mapping.items()}
        self.seen: set[str] = set()

    def drafts(self, table: TableFile) -> Iterator[tuple[int, ItemDraft]]:
        if table.columns is not None:
            self._check_columns(table.columns)
        self.log.check()
        for line, values in table.rows:
            if not self.seen.issuperset(values):
                self.seen.update(values)
            draft = self._draft((line, values))
            if draft is not None:
                if len(self.result.preview) < PREVIEW:
                    self.result.preview.append(draft)
                if self._waits:
                    self.waiting += 1
                else:
                    yield line, draft
        self._tell_ignored()

    def _check_columns(self, columns: tuple[str, ...]) -> None:
        """Report a missing column once, for the header, and not for each row. The first one lists what the file has."""
        told = False
        for name in self.attributes:
            if name not in columns:
                self.log.add(
                    f"this column is missing; the file has: {', '.join(columns)}"[:400], line=1, field=name
                )
        for column in self.kind.columns:
            source = self.source.get(column.name)
            if source is None or source in columns:
                continue
            if column.name in self.usual and source not in self.mapped:
                continue
            if column.required or source in self.mapped:
                close = difflib.get_close_matches(source, columns, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                if not (close or told):
                    hint, told = f"; the file has: {', '.join(columns)}", True
                self.log.add(f"this column is missing{hint}"[:400], line=1, field=source)

    def _draft(self, row: Line) -> ItemDraft | None:
        line, values = row
        self._waits = False
        renamed = {name: values[source] for name, source in self.source.items() if source in values}
        read = self.usual | renamed | dict(self.constants)
        try:
            read = dict(self.kind.with_formats(read))
            if image_columns(read):
                read, faults = images_resolve(read, self.images, at_address=partial(self._image_at, line))
                if faults:
                    raise FieldErrors(faults)
            draft = self.kind.parse_item(read)
        except FieldErrors as error:
            for name, message in error.errors.items():
                source = self.source.get(name, name)
                self.log.add(message, line=line, field=source, value=values.get(source) or None)
            return None
        if fault := self.kind.variant_fault(draft.payload, self.variant):
            field = self.source.get(self.kind.variant_field, self.kind.variant_field)
            self.log.add(fault, line=line, field=field)
            return None
        for what, limit, text in _too_long(draft):
            self.log.add(f"{what}: at most {limit} characters, got {len(text)}", line=line, value=text)
            return None
        texts = {name: cell_text(values.get(name)) for name in self.attributes}
        return changed(draft, attributes={name: text for name, text in texts.items() if text})

    def _image_at(self, line: int, image: ImageText, column: str) -> ImageText:
        found = self.addresses.image_at(image, line=line, column=self.source.get(column, column))
        self._waits |= found.stored is None
        return found

    def _tell_ignored(self) -> None:
        strange = self.seen - set(self.source.values()) - set(self.attributes)
        self.result.ignored = tuple(sorted(strange)[:100])
        unused = sorted(set(self.source.values()) - self.seen)
        for name in self.result.ignored:
            close = difflib.get_close_matches(name, unused, n=1)
            if close:
                self.result.warnings.append(f"column {name!r} is not used; did you mean {close[0]!r}?")


def _limit(model: type[models.Model], name: str) -> int:
    return int(getattr(model._meta.get_field(name), "max_length", None) or 0)


_SYSTEM, _SYSTEM_LIMIT = "the system's name", _limit(System, "name")
_LIMITS = (
    ("the item's key", _limit(Item, "key"), lambda d: d.key),
    ("the condition", _limit(Item, "condition"), lambda d: d.condition),
    ("the instance's key", _limit(Instance, "key"), lambda d: d.material.instance_key),
    ("the gold label", _limit(Instance, "gold_label"), lambda d: d.material.gold_label),
    (_SYSTEM, _SYSTEM_LIMIT, lambda d: d.material.system),
    ("the model's name", _limit(System, "model"), lambda d: d.material.model),
    ("the method", _limit(System, "method"), lambda d: d.material.method),
    ("the generator", _limit(FollowUp, "generator"), lambda d: d.material.generator),
    ("the follow-up's right answer", _limit(FollowUp, "gold_label"), lambda d: d.material.follow_up_gold),
    ("the follow-up's kind", _limit(FollowUp, "kind"), lambda d: d.material.kind),
)


def _too_long(draft: ItemDraft) -> Iterator[tuple[str, int, str]]:
    for what, limit, read in _LIMITS:
        text = read(draft)
        if len(text) > limit:
            yield what, limit, text
    for _, system, _ in draft.material.parts:
        if len(system) > _SYSTEM_LIMIT:
            yield _SYSTEM, _SYSTEM_LIMIT, system
