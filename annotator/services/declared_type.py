"""Save, copy and delete the HIT types and questionnaires of a workspace. Only a file that passes every check is stored, whole and in a version of its own."""

from __future__ import annotations

import re
from itertools import islice

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.words import listed, plural
from annotator.hit_types.declaration.document import document_read
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.problems import DeclarationRefused, Problem
from annotator.hit_types.declaration.questionnaire_files import questionnaire_names
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.hit_types.registry import HIT_TYPES
from annotator.models import AuditAction, Declaration, DeclaredType, DeclaredVersion, User, Workspace
from annotator.selectors.declaration import source_digest
from annotator.selectors.declared_type import studies_using, version_get
from annotator.services.audit import audit_write
from annotator.services.declared_checks import TypeCheck, declared_checks
from annotator.services.declared_file import CheckedFile, declared_file_check, refused, source_text

#: Types of a workspace, and versions of a type.
MOST_TYPES = 200
MOST_VERSIONS = 500
Kind = DeclaredType.Kind
_ACTIONS = {
    Kind.HIT_TYPE: (AuditAction.HIT_TYPE_SAVED, AuditAction.HIT_TYPE_DELETED),
    Kind.QUESTIONNAIRE: (AuditAction.QUESTIONNAIRE_SAVED, AuditAction.QUESTIONNAIRE_DELETED),
}


class SavedMeanwhile(ValidationError):
    """Someone else saved a version after this text was opened; ``latest`` is theirs. Nothing was stored."""

    def __init__(self, latest: DeclaredVersion, base: int):
        self.latest = latest
        who = latest.created_by or "Someone"
        opened = (
            f"after you opened version {base}" if base else "while you were writing a new type of this name"
        )
        super().__init__(
            f"{who} saved version {latest.number} of {latest.type.name} at {latest.created_at:%H:%M} UTC, {opened}. "
            "Your text was not saved."
        )


def declared_type_check(source: str | bytes) -> tuple[DeclaredHitType, list[TypeCheck]]:
    """The type of a file and the results of its checks, of which some may have failed. Raises ``DeclarationRefused``."""
    kind = hit_type_read(source_text(source))
    return kind, declared_checks(kind)


def _checked(source: str) -> CheckedFile:
    found = declared_file_check(source)
    failed = [
        Problem((), f"fails a check. {check.name}: {check.detail}", 1)
        for check in found.checks
        if not check.passed
    ]
    if failed:
        raise DeclarationRefused(failed)
    return found


def declared_type_save(
    *,
    workspace: Workspace,
    by: User | None,
    source: str | bytes,
    base: int | None = None,
    of: DeclaredType | None = None,
    kind: str = "",
) -> DeclaredVersion:
    """Store a file as the next version of the workspace's type or questionnaire of its name, or as the first one of a new one.

    ``base`` is the version that the text was made from, 0 for a new type: if there is a later one by now, ``SavedMeanwhile`` is
    raised, so no change is lost. Without it, the text becomes the next version whatever there is. The file must have the name of
    ``of``, if that is given, and declare a ``kind``, if that is given. The same text as the latest version's is not stored again.

    Raises ``DeclarationRefused`` with all problems of the file, or ``ValidationError``; then nothing is stored.
    """
    text = source_text(source)
    found_file = _checked(text)
    wanted = of.kind if of is not None else kind
    if wanted and found_file.kind != wanted:
        raise refused(
            f"declares a {Kind(found_file.kind).label}, which is saved on its own page; expected a {Kind(wanted).label}"
        )
    noun = "type" if found_file.kind == Kind.HIT_TYPE else "questionnaire"
    if of is not None and found_file.name != of.name:
        line = document_read(text).lines.get(("name",), 1)
        raise refused(
            f'is "{found_file.name}"; this {noun} is named {of.name}, for good. Duplicate it to rename it',
            line,
            "name",
        )
    with transaction.atomic():
        # One at a time in a workspace: the versions of a type have consecutive numbers.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        found = DeclaredType.objects.filter(
            workspace=workspace, name=found_file.name, kind=found_file.kind
        ).first()
        if of is not None and found is None:
            raise ValidationError(
                f"The {Kind(of.kind).label} {of.name} was deleted meanwhile. Your text was not saved."
            )
        latest = version_get(type=found) if found else None
        if base is not None and latest is not None and latest.number != base:
            if latest.declaration_id == source_digest(text):
                return latest
            raise SavedMeanwhile(latest, base)
        if found is None:
            found = _type_create(workspace, found_file, text)
        if latest is not None and latest.declaration_id == source_digest(text):
            return latest
        number = latest.number + 1 if latest else 1
        if number > MOST_VERSIONS:
            raise ValidationError(
                f"{found_file.name} has {MOST_VERSIONS:,} versions, and no {noun} can have more. Duplicate it under another name."
            )
        version = DeclaredVersion.objects.create(
            type=found,
            number=number,
            declaration_id=declaration_store(text),
            title=found_file.title,
            version=found_file.version,
            checks=[{"name": check.name, "detail": check.detail} for check in found_file.checks],
            created_by=by,
        )
        audit_write(
            action=_ACTIONS[Kind(found_file.kind)][0], workspace=workspace, by=by, target=found_file.name,
            after={"number": number, "version": found_file.version},
        )  # fmt: skip
    return version


def declaration_store(source: str) -> str:
    """Store a file's text that passed the checks, and return its digest; the same text is stored once."""
    digest = source_digest(source)
    Declaration.objects.bulk_create([Declaration(digest=digest, source=source)], ignore_conflicts=True)
    return digest


def _type_create(workspace: Workspace, file: CheckedFile, text: str) -> DeclaredType:
    noun = Kind(file.kind).label
    known = HIT_TYPES if file.kind == Kind.HIT_TYPE else questionnaire_names()
    if file.name in known:
        line = document_read(text).lines.get(("name",), 1)
        raise refused(
            f'is "{file.name}", a {noun.removeprefix("HIT ")} that comes with Foretell; choose another name',
            line,
            "name",
        )
    if workspace.declared_types.filter(kind=file.kind).count() >= MOST_TYPES:
        raise ValidationError(
            f"The workspace has {MOST_TYPES:,} {noun}s, and can't have more. Delete some that no study uses."
        )
    return DeclaredType.objects.create(workspace=workspace, name=file.name, kind=file.kind)


def declared_type_copy(
    *, type: DeclaredType, workspace: Workspace, by: User | None, name: str = "", number: int | None = None
) -> DeclaredVersion:
    """Copy a version of a type or questionnaire, by default its latest, into a workspace under a name that none there has yet.

    Raises ``ValidationError``, or ``DeclarationRefused`` if the copy isn't a type, such as for a name with a space in it.
    """
    source = version_get(type=type, number=number).declaration.source
    name = name or type.name
    if DeclaredType.objects.filter(workspace=workspace, name=name, kind=type.kind).exists():
        noun = Kind(type.kind).label.removeprefix("HIT ")
        raise ValidationError(
            {"name": f"The workspace “{workspace}” already has a {noun} named {name}. Choose another name."}
        )
    return declared_type_save(workspace=workspace, by=by, source=source_renamed(source, name), base=0)


def source_renamed(source: str, name: str) -> str:
    """A file that is right, under another name; everything else stays as it is written.

    >>> source_renamed("foretell_hit_type: 1\\nname: clarity  # ours\\n", "clarity_2")
    'foretell_hit_type: 1\\nname: clarity_2  # ours\\n'
    """
    document = document_read(source)
    value, line = document.value, document.lines.get(("name",), 0)
    start = len("".join(source.splitlines(keepends=True)[: line - 1])) if line else len(source)
    # The word may be in other texts of the same line too: the right one is where the file reads as meant.
    places = re.compile(rf"\b{re.escape(str(value.get('name')))}\b").finditer(source, start)
    for place in islice(places, 20):
        renamed = source[: place.start()] + name + source[place.end() :]
        if _value(renamed) == value | {"name": name}:
            return renamed
    return source


def _value(source: str) -> object:
    try:
        return document_read(source).value
    except DeclarationRefused:
        return None


@transaction.atomic
def declared_type_delete(*, type: DeclaredType, by: User | None) -> None:
    """Delete a type or questionnaire with all its versions. Raises ``ValidationError`` if a study uses a version of a type; studies have the
    whole files of their questionnaires."""
    Workspace.objects.select_for_update(no_key=True).get(pk=type.workspace_id)
    used = list(studies_using(type).order_by("slug")[:6])
    if used:
        names = listed(
            [f"{one.slug} (deleted, can be restored)" if one.deleted_at else one.slug for one in used[:5]]
        )
        more = " and others" if len(used) > 5 else ""
        raise ValidationError(f"{type.name} is used by {names}{more}. A type in use can't be deleted.")
    audit_write(
        action=_ACTIONS[Kind(type.kind)][1], workspace=type.workspace, by=by, target=type.name,
        before={"versions": plural(type.versions.count(), "version")},
    )  # fmt: skip
    digests = list(type.versions.values_list("declaration", flat=True))
    type.delete()
    left = Declaration.objects.filter(digest__in=digests, versions__isnull=True, studies__isnull=True)
    left.delete()
