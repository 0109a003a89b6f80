"""HIT types and questionnaires of workspaces on the command line. Apart from the command, which checks files without Django's models."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from annotator.core.words import plural
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.management.arguments import owner_named
from annotator.models import DeclaredType, Workspace
from annotator.selectors.declared_type import names_in
from annotator.services.declared_type import declared_type_save
from annotator.services.gallery_demo import gallery_demo_make, gallery_rehearse


def workspace_named(text: str) -> Workspace:
    """The workspace of that name or number; raises ``CommandError``, also if several have the name."""
    found = list(Workspace.objects.filter(name=text)[:3])
    if not found and text.isdecimal() and len(text) < 10:
        found = list(Workspace.objects.filter(pk=int(text)))
    if len(found) != 1:
        several = f"several workspaces are named {text!r}; give its number: " + ", ".join(
            str(one.pk) for one in found
        )
        raise CommandError(
            f"--workspace: {several}" if found else f"--workspace: there is no workspace {text!r}"
        )
    return found[0]


def imported(source: bytes, workspace: str, owner: str, file: str) -> str:
    """Save a file as the next version of a workspace's type or questionnaire, and say which; raises ``CommandError`` with every problem."""
    by = owner_named(owner)
    try:
        saved = declared_type_save(workspace=workspace_named(workspace), by=by, source=source)
    except DeclarationRefused as error:
        raise CommandError(f"{file}:\n{error}\nNothing was saved.") from None
    except ValidationError as error:
        raise CommandError("\n".join([*error.messages, "Nothing was saved."])) from None
    return f"{saved.type.name}, version {saved.version}, is version {saved.number} in {saved.type.workspace}"


def exported(name: str, workspace: str, number: int | None, *, questionnaire: bool = False) -> str:
    """The file of a version of a workspace's type or questionnaire, by default the latest; raises ``CommandError``."""
    owner = workspace_named(workspace)
    kind = DeclaredType.Kind.QUESTIONNAIRE if questionnaire else DeclaredType.Kind.HIT_TYPE
    found = DeclaredType.objects.filter(workspace=owner, name=name, kind=kind).first()
    if found is None:
        names = ", ".join(names_in(owner.pk, kind)) or "none"
        raise CommandError(f"{owner} has no {kind.label} {name!r} (there are: {names})")
    versions = found.versions.select_related("declaration").order_by("-number")
    version = (versions if number is None else versions.filter(number=number)).first()
    if version is None:
        raise CommandError(f"{name} has no version {number}")
    return version.declaration.source


def tried(name: str, workspace: str, owner: str) -> Iterator[str]:
    """Make a demo study of a type of the gallery and carry out its rehearsal; a line for each step. Raises ``CommandError``."""
    by = owner_named(owner)
    try:
        study = gallery_demo_make(
            hit_type=name, by=by, workspace=workspace_named(workspace) if workspace else None, rehearsed=False
        )
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    yield f"{study.slug}: {plural(study.items.count(), 'item')} in {study.workspace}"
    yield f"{study.slug}: {plural(gallery_rehearse(study=study), 'rehearsal judgment')}"
