"""A new draft like a study in a file or a release: its material, texts, exam and plan, but nobody and no judgments."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core.printable import printable_lines
from annotator.models import Study, User
from annotator.selectors.study import slug_near
from annotator.services.study_copy import study_duplicate
from annotator.services.study_removal import study_rows_remove
from evaluation.models import KeptStudy
from evaluation.moves.keeping import kept_file_check
from evaluation.moves.reading import study_read
from evaluation.moves.sealed_file import Key, MoveError
from evaluation.moves.tables import OF_TEMPLATES
from evaluation.planning.plan_document import PlanError
from evaluation.releases.archive import ArchiveError
from evaluation.releases.importing import release_import
from evaluation.releases.reading import Archive
from evaluation.services.analysis_plan import plan_save


def kept_study_template(*, kept: KeptStudy, path: Path, key: Key, by: User, slug: str = "") -> Study:
    """Make a draft like a kept study, in its workspace; the study stays in its file, and nobody of it comes back.

    Its short name is ``slug``, or one like that of the study. Raises ``MoveError`` if the file isn't the one that was kept, the key is
    wrong, or ``by`` isn't an editor of the workspace.
    """
    with transaction.atomic(), path.open("rb") as file:
        kept_file_check(kept, file)
        whole = study_read(
            file=file,
            key=key,
            by=by,
            slug=_aside(kept.slug),
            workspace=kept.workspace,
            name=kept.slug,
            only=OF_TEMPLATES,
        )
        return _draft_like(whole, by, slug=slug or slug_near(kept.slug), title=kept.title, copy_of=kept.slug)


def release_template(release: Archive, *, by: User, workspace: str = "") -> list[Study]:
    """Make a draft like each study of a release, in a new workspace that ``by`` owns, under short names like those of the studies.

    They have what a release has of the material, the settings and the plan. Raises ``ArchiveError`` if the file is wrong.
    """
    with transaction.atomic():
        made: list[Study] = []
        for whole, named in _renamed(release, by, workspace):
            try:
                made.append(_draft_like(whole, by, slug=slug_near(named), title=whole.title, copy_of=named))
            except MoveError as error:
                raise ArchiveError(str(error)) from None
        _plan_again(release, made, by)
        return made


def _plan_again(release: Archive, made: Sequence[Study], by: User) -> None:
    """Give the draft the plan that the release was sealed with; a report on several studies has none."""
    facts = release.report.get("plan")
    if len(made) != 1 or not isinstance(facts, Mapping) or "sha256" not in facts:
        return
    try:
        plan_save(study=made[0], document=facts.get("plan"), user=by)
    except PlanError as error:
        raise ArchiveError(f"the plan of the release: {printable_lines(str(error))[:500]}") from None


def _renamed(release: Archive, by: User, workspace: str) -> Sequence[tuple[Study, str]]:
    names: dict[str, str] = {}

    def aside(slug: str) -> str:
        names[found := _aside(slug)] = slug
        return found

    studies = release_import(release, by=by, workspace=workspace, only=OF_TEMPLATES, named=aside)
    return [(study, names[study.slug]) for study in studies]


def _aside(slug: str) -> str:
    """A short name for as long as the draft is being made."""
    return f"{slug[:60]}-{secrets.token_hex(6)}"


def _draft_like(whole: Study, by: User, *, slug: str, title: str, copy_of: str) -> Study:
    """A draft with everything that a template has of a study, whose own rows are removed."""
    try:
        made = study_duplicate(study=whole, by=by, slug=slug, title=title, material=True, copy_of=copy_of)
    except ValidationError as error:
        raise MoveError("; ".join(error.messages)) from None
    # A sealed plan goes only with a study that is deleted.
    Study.objects.filter(pk=whole.pk).update(deleted_at=timezone.now())
    study_rows_remove(study=whole)
    return made
