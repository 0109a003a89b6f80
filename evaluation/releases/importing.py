"""The way back: from the file of a release to a study, with its material, versions, pseudonymous raters, judgments and runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import nullcontext
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.db.models import Model, OuterRef, Subquery
from django.utils import timezone

from annotator.core.canonical import digest_of
from annotator.core.new_ids import new_ids
from annotator.core.printable import printable, printable_lines
from annotator.core.words import listed
from annotator.hit_types.base import HitType
from annotator.hit_types.confidence import answer_of
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.registry import HIT_TYPES
from annotator.models import (
    Adjudication,
    Assignment,
    AuditAction,
    Declaration,
    Explanation,
    Item,
    Judgment,
    LedgerEntry,
    Membership,
    Participation,
    Place,
    Rater,
    Snapshot,
    Study,
    User,
    Workspace,
)  # fmt: skip
from annotator.selectors.adjudication import labels_digest
from annotator.selectors.study import study_hit_type
from annotator.services.audit import audit_write
from annotator.services.declared_type import (
    declaration_store,
    declared_type_check,
    declared_type_save,
    source_text,
)
from annotator.services.ledger_copy import ledger_copied
from annotator.services.workspace import workspace_create
from evaluation.models import Call, Endpoint, Pipeline, Run
from evaluation.releases.archive import ArchiveError
from evaluation.releases.pseudonyms import source_imported
from evaluation.releases.reading import Archive
from evaluation.releases.tables import TABLES, ReleasedTable, refers_to

_BATCH = 2_000
_GOES_ON = (*Run.LIVE, Pipeline.State.RUNNING)
_ON_A_PAGE = (Judgment.Source.WEB, Judgment.Source.REHEARSAL)
Row = dict[str, Any]


def release_import(
    release: Archive,
    *,
    by: User,
    workspace: str = "",
    only: Collection[type[Model]] = (),
    named: Callable[[str], str] = str,
) -> list[Study]:
    """Make the studies of a release again, in a new workspace that ``by`` owns: all of it, or nothing.

    The studies are closed, or drafts if the release has no version of them: nobody joins them. Raters keep their pseudonyms. The new workspace is named ``workspace``, or after the
    release. With ``only``, the rows of other tables are passed over; ``named`` gives each study its short name here. Raises ``ArchiveError`` if the file is wrong, or if a study of the same short name is here already.
    """
    title = workspace or str(release.manifest.get("title") or "Imported release")
    try:
        with transaction.atomic():
            made = _ReleaseImport(release, by, title[:80], only, named).studies()
            for study in made:
                for action in () if only else (AuditAction.ITEMS_IMPORTED, AuditAction.JUDGMENTS_IMPORTED):
                    audit_write(action=action, study=study, by=by, target="a release")
            return made
    except DatabaseError as error:
        raise ArchiveError(
            f"the database refuses a row of the release: {printable_lines(str(error).partition('DETAIL')[0]).strip()[:500]}"
        ) from error
    except DeclarationRefused as error:
        raise ArchiveError(
            f"a HIT type of the release is refused: {printable_lines(str(error))[:500]}"
        ) from error
    except ValidationError as error:
        raise ArchiveError("; ".join(error.messages)) from error


class _ReleaseImport:
    """Puts the rows of one release into the database, table by table; a row's references become the ids of the new rows."""

    def __init__(
        self,
        release: Archive,
        by: User,
        title: str,
        only: Collection[type[Model]],
        named: Callable[[str], str],
    ) -> None:
        self._release, self._by, self._title, self._named = release, by, title, named
        self._only = frozenset(only or (table.model for table in TABLES)) | {Workspace}
        self._ids: dict[type[Model], dict[int, int]] = {}
        #: How many places of each item are held, for people and in a rehearsal.
        self._places: Counter[tuple[int, bool]] = Counter()
        #: For rows that the release has in no workspace.
        self._workspace = 0
        # Two releases may have the same pseudonym, and the same simulator may be here already.
        self._mark = sha256(json.dumps(release.digests, sort_keys=True).encode()).hexdigest()[:12]

    def studies(self) -> list[Study]:
        """Import all tables; returns the studies in their order."""
        rows = self._release.rows()
        for table in TABLES:
            make = self._workspaces if table.model is Workspace else self._rows
            passed = () if table.model not in self._only else rows[table.name]
            self._ids[table.model] = make(table, iter(passed))
        found = Study.objects.filter(pk__in=self._ids[Study].values())
        latest = Snapshot.objects.filter(study=OuterRef("pk")).order_by("-number").values("pk")[:1]
        launched = found.filter(snapshots__isnull=False).distinct()
        found.filter(pk__in=launched).update(state=Study.State.CLOSED, snapshot=Subquery(latest))
        self._digest_adjudications()
        for study in found.filter(declaration__isnull=False).order_by("pk"):
            self._declare(study)
        for study in found:
            Membership.objects.create(study=study, user=self._by, role=Membership.Role.OWNER)
        return list(found.order_by("pk"))

    def _workspaces(self, table: ReleasedTable, rows: Iterator[Row]) -> dict[int, int]:
        found: dict[int, int] = {}
        for number, row in enumerate(rows, 1):
            name = self._title if number == 1 else f"{self._title[:75]} ({number})"
            found[row["id"]] = workspace_create(by=self._by, name=name).pk
        self._workspace = found.get(1) or workspace_create(by=self._by, name=self._title).pk
        return found

    def _rows(self, table: ReleasedTable, rows: Iterator[Row]) -> dict[int, int]:
        model = table.model
        found: dict[int, int] = {}
        fields = {field.attname: field for field in model._meta.concrete_fields}
        references = {
            name: target
            for name, field in fields.items()
            if name in table.columns and (target := refers_to(field))
        }
        while batch := list(islice(rows, _BATCH)):
            if model is Declaration:
                # The same file may be here already; studies refer to it by its digest.
                found.update({row["id"]: _declaration(row) for row in batch})
                continue
            made = [self._made(model, row, references) for row in batch]
            if model is Study:
                _free([one.slug for one in made])
            if model is Explanation:
                _same_length(made)
            if model is Judgment:
                self._hold_places(made)
                for (
                    one
                ) in made:  # two answers are the same by their digests: contested items, agreement so far
                    one.digest = digest_of(answer_of(self._kinds[one.study_id], one.response))
            with ledger_copied() if model is LedgerEntry else nullcontext():
                model._default_manager.bulk_create(made)
            found.update(zip((row["id"] for row in batch), (one.pk for one in made), strict=True))
        return found

    def _made(self, model: type[Model], row: Row, references: dict[str, Any]) -> Any:
        values = {name: value for name, value in row.items() if name != "id"}
        for name, target in references.items():
            if values.get(name) is not None:
                values[name] = self._ids[target][values[name]] if target in self._only else None
        if model is Item:
            numbers = self._ids[Explanation]
            values["parts"] = {suffix: numbers[number] for suffix, number in values["parts"].items()}
        if model is Rater:
            values["source"] = source_imported(values["source"], self._mark)
        if "workspace_id" in values and values["workspace_id"] is None:
            values["workspace_id"] = self._workspace
        if model is Study:
            values["state"] = Study.State.DRAFT
            values["slug"] = self._named(values["slug"])
        if model is Run:
            values["endpoint_id"] = self._endpoint
        if model is Call:
            values["key"] = f"released call {row['id']}"
        if model in (Run, Pipeline) and values["state"] in _GOES_ON:
            # Nothing is sent or paid for because a file says so.
            values["state"] = Run.State.PAUSED
        return model(**values)

    def _declare(self, study: Study) -> None:
        """Give the workspace the HIT type that a study of it uses, so that it can be opened and used again."""
        if study.declaration is None or study.workspace is None:
            return
        kind = study_hit_type(study)
        if kind.name != study.hit_type:
            raise ArchiveError(
                f"a study's HIT type is {kind.name} in its file, and {printable(study.hit_type, most=60)} in the study"
            )
        if kind.name not in HIT_TYPES:
            declared_type_save(workspace=study.workspace, by=self._by, source=study.declaration.source)

    @cached_property
    def _kinds(self) -> dict[int, HitType]:
        """The type of each study."""
        return {
            study.pk: study_hit_type(study)
            for study in Study.objects.filter(pk__in=self._ids[Study].values())
        }

    def _digest_adjudications(self) -> None:
        """By their digests, adjudicators agree or not."""
        made = Adjudication.objects.filter(pk__in=self._ids[Adjudication].values())
        rows = list(made.select_related("item", "study"))
        kinds = {one.pk: study_hit_type(one) for one in {row.study for row in rows}}
        for row in rows:
            row.digest = labels_digest(kinds[row.study_id], row.item.payload, row.response)
        Adjudication.objects.bulk_update(rows, ["digest"], batch_size=_BATCH)

    @cached_property
    def _endpoint(self) -> int:
        """An endpoint that leads nowhere, for runs: a release doesn't name theirs."""
        return Endpoint.objects.create(
            workspace_id=self._workspace, name="of a release", base_url="https://release.invalid/v1"
        ).pk

    def _hold_places(self, made: list[Judgment]) -> None:
        """Give judgments that were made on a page the place and the assignment by which they count."""
        held = [one for one in made if one.source in _ON_A_PAGE and one.standing == Judgment.Standing.COUNTED]
        joined = Participation.objects.filter(study__in=self._ids[Study].values())
        of = {(study, rater): pk for pk, study, rater in joined.values_list("pk", "study", "rater")}
        if any((one.study_id, one.rater_id) not in of for one in held):
            raise ArchiveError("a judgment was made on a page by somebody who didn't join the study")
        now = timezone.now()
        assignments = [
            Assignment(
                participation_id=of[one.study_id, one.rater_id], item_id=one.item_id, rater_id=one.rater_id,
                snapshot_id=one.snapshot_id, state=Assignment.State.SUBMITTED, leased_at=now, lease_until=now,
                stage_opened_at=now, closed_at=now,
            )
            for one in held
        ]  # fmt: skip
        Assignment.objects.bulk_create(assignments)
        places = []
        for one, assignment in zip(held, assignments, strict=True):
            rehearsal = one.source == Judgment.Source.REHEARSAL
            self._places[one.item_id, rehearsal] += 1
            number = self._places[one.item_id, rehearsal]
            places.append(
                Place(
                    study_id=one.study_id, item_id=one.item_id, number=number, position=number,
                    assignment=assignment, rehearsal=rehearsal,
                )
            )  # fmt: skip
        for one, place in zip(held, Place.objects.bulk_create(places), strict=True):
            one.place, one.assignment = place, place.assignment


def _declaration(row: Row) -> int:
    """Store the file of a HIT type; its number here. Raises ``ArchiveError`` if it isn't what its digest says, or no HIT type."""
    try:
        text = source_text(row["source"])
        declared_type_check(text)
        digest = declaration_store(text)
    except DeclarationRefused as error:
        raise ArchiveError(
            f"the file of a HIT type is refused: {printable_lines(str(error))[:500]}"
        ) from None
    if digest != row["digest"]:
        raise ArchiveError("the file of a HIT type was changed: it has another SHA-256")
    return Declaration.objects.values_list("pk", flat=True).get(digest=digest)


def _free(slugs: Iterable[str]) -> None:
    """Check that no study has one of these short names."""
    taken = list(Study.objects.filter(slug__in=list(slugs)).order_by("slug").values_list("slug", flat=True))
    if taken:
        raise ArchiveError(
            f"there is a study named {listed(taken)} already. A report names its studies, so they can't be renamed: import the release on "
            "another installation, or delete the study first."
        )


def _same_length(made: list[Explanation]) -> None:
    """Give explanations ids with one number of digits: reports draw from their names, in the order of the alphabet."""
    for one, pk in zip(made, new_ids(Explanation, len(made), same_length=True), strict=True):
        one.pk = pk
