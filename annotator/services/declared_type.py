"""Save, copy and delete the HIT types of a workspace. Only a file that passes every check is stored, whole and in a version of its own."""

from __future__ import annotations

import re
from itertools import islice

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.words import listed, plural
from annotator.hit_types.declaration.document import MOST_BYTES, document_read
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.problems import DeclarationRefused, Problem
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.hit_types.registry import HIT_TYPES
from annotator.models import AuditAction, Declaration, DeclaredType, DeclaredVersion, User, Workspace
from annotator.selectors.declaration import source_digest
from annotator.selectors.declared_type import studies_using, version_get
from annotator.services.audit import audit_write
from annotator.services.declared_checks import TypeCheck, declared_checks

#: Types of a workspace, and versions of a type.
MOST_TYPES = 200
MOST_VERSIONS = 500


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


def source_text(source: str | bytes) -> str:
    """A file's text as it is stored: UTF-8 without a byte order mark, with one kind of line end and one at the end.

    Raises ``DeclarationRefused`` for too many bytes, or bytes that are no text.

    >>> source_text(b"a: 1\\r\\nb: 2")
    'a: 1\\nb: 2\\n'
    """
    size = len(source if isinstance(source, bytes) else source.encode(errors="replace"))
    if size > MOST_BYTES:
        raise _refused(f"has {size:,} bytes; expected at most {MOST_BYTES:,}")
    text = _decoded(source) if isinstance(source, bytes) else source
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip("\n") + "\n"


def _decoded(source: bytes) -> str:
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1
        raise _refused("isn't UTF-8 text; save it as UTF-8", line) from None


def _refused(message: str, line: int = 1, *path: str) -> DeclarationRefused:
    return DeclarationRefused([Problem(path, message, line)])


def declared_type_check(source: str | bytes) -> tuple[DeclaredHitType, list[TypeCheck]]:
    """The type of a file and the results of its checks, of which some may have failed. Raises ``DeclarationRefused``."""
    kind = hit_type_read(source_text(source))
    return kind, declared_checks(kind)


def _checked(source: str) -> tuple[DeclaredHitType, list[TypeCheck]]:
    kind, checks = declared_type_check(source)
    failed = [Problem((), f"fails a check. {one.name}: {one.detail}", 1) for one in checks if not one.passed]
    if failed:
        raise DeclarationRefused(failed)
    return kind, checks


def declared_type_save(
    *,
    workspace: Workspace,
    by: User | None,
    source: str | bytes,
    base: int | None = None,
    of: DeclaredType | None = None,
) -> DeclaredVersion:
    """Store a file as the next version of the workspace's type of its name, or as the first one of a new type.

    ``base`` is the version that the text was made from, 0 for a new type: if there is a later one by now, ``SavedMeanwhile`` is
    raised, so no change is lost. Without it, the text becomes the next version whatever there is. The file must have the name of
    ``of``, if that is given. The same text as the latest version's is not stored again.

    Raises ``DeclarationRefused`` with all problems of the file, or ``ValidationError``; then nothing is stored.
    """
    text = source_text(source)
    kind, checks = _checked(text)
    if of is not None and kind.name != of.name:
        line = document_read(text).lines.get(("name",), 1)
        raise _refused(
            f'is "{kind.name}"; this type is named {of.name}, for good. Duplicate it to rename it',
            line,
            "name",
        )
    with transaction.atomic():
        # One at a time in a workspace: the versions of a type have consecutive numbers.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        found = DeclaredType.objects.filter(workspace=workspace, name=kind.name).first()
        if of is not None and found is None:
            raise ValidationError(f"The HIT type {of.name} was deleted meanwhile. Your text was not saved.")
        latest = version_get(type=found) if found else None
        if base is not None and latest is not None and latest.number != base:
            if latest.declaration_id == source_digest(text):
                return latest
            raise SavedMeanwhile(latest, base)
        if found is None:
            found = _type_create(workspace, kind.name, text)
        if latest is not None and latest.declaration_id == source_digest(text):
            return latest
        number = latest.number + 1 if latest else 1
        if number > MOST_VERSIONS:
            raise ValidationError(
                f"{kind.name} has {MOST_VERSIONS:,} versions, and no type can have more. Duplicate it under another name."
            )
        version = DeclaredVersion.objects.create(
            type=found,
            number=number,
            declaration_id=declaration_store(text),
            title=kind.title,
            version=kind.version,
            checks=[{"name": one.name, "detail": one.detail} for one in checks],
            created_by=by,
        )
        audit_write(
            action=AuditAction.HIT_TYPE_SAVED, workspace=workspace, by=by, target=kind.name,
            after={"number": number, "version": kind.version},
        )  # fmt: skip
    return version


def declaration_store(source: str) -> str:
    """Store a file's text that passed the checks, and return its digest; the same text is stored once."""
    digest = source_digest(source)
    Declaration.objects.bulk_create([Declaration(digest=digest, source=source)], ignore_conflicts=True)
    return digest


def _type_create(workspace: Workspace, name: str, text: str) -> DeclaredType:
    if name in HIT_TYPES:
        line = document_read(text).lines.get(("name",), 1)
        raise _refused(f'is "{name}", a type that comes with Foretell; choose another name', line, "name")
    if workspace.declared_types.count() >= MOST_TYPES:
        raise ValidationError(
            f"The workspace has {MOST_TYPES:,} HIT types, and can't have more. Delete some that no study uses."
        )
    return DeclaredType.objects.create(workspace=workspace, name=name)


def declared_type_copy(
    *, type: DeclaredType, workspace: Workspace, by: User | None, name: str = "", number: int | None = None
) -> DeclaredVersion:
    """Copy a version of a type, by default its latest, into a workspace under a name that no type there has yet.

    Raises ``ValidationError``, or ``DeclarationRefused`` if the copy isn't a type, such as for a name with a space in it.
    """
    source = version_get(type=type, number=number).declaration.source
    name = name or type.name
    if DeclaredType.objects.filter(workspace=workspace, name=name).exists():
        raise ValidationError(
            {"name": f"The workspace “{workspace}” already has a type named {name}. Choose another name."}
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
    """Delete a type with all its versions. Raises ``ValidationError`` if a study uses one of them."""
    Workspace.objects.select_for_update(no_key=True).get(pk=type.workspace_id)
    used = list(studies_using(type).order_by("slug")[:6])
    if used:
        names = listed(
            [f"{one.slug} (deleted, can be restored)" if one.deleted_at else one.slug for one in used[:5]]
        )
        more = " and others" if len(used) > 5 else ""
        raise ValidationError(f"{type.name} is used by {names}{more}. A type in use can't be deleted.")
    audit_write(
        action=AuditAction.HIT_TYPE_DELETED, workspace=type.workspace, by=by, target=type.name,
        before={"versions": plural(type.versions.count(), "version")},
    )  # fmt: skip
    digests = list(type.versions.values_list("declaration", flat=True))
    type.delete()
    left = Declaration.objects.filter(digest__in=digests, versions__isnull=True, studies__isnull=True)
    left.delete()
