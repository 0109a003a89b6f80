"""Duplicate a study: its settings, texts, exam and plan and, on request, its material; never people or judgments."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.copied_elsewhere import copy_elsewhere
from annotator.models import AuditAction, Item, Membership, Study, User, Workspace, settings_of
from annotator.selectors.study import slug_near
from annotator.selectors.workspace import workspaces_for
from annotator.services.audit import audit_write
from annotator.services.images import images_copy
from annotator.services.study_check import study_clean
from annotator.services.workspace import workspace_personal


@transaction.atomic
def study_duplicate(
    *, study: Study, by: User, slug: str, title: str, material: bool, copy_of: str = ""
) -> Study:
    """A new draft with the study's settings, texts, exam and analysis plan, which isn't sealed; ``by`` owns it. Nobody's work is copied.

    It stays in the study's workspace if ``by`` is an editor there. Otherwise it goes into their own, without material,
    because that belongs to the study's workspace; images of its exam and practice are copied.

    With ``material`` it has the same items too (the latest version of each, without withdrawn ones), which refer to the
    same instances and explanations. The audit trail names ``copy_of`` as the original, by default the study. Raises ``ValidationError``.
    """
    workspace = study.workspace
    if workspace is not None and not _editor(by, workspace):
        workspace = workspace_personal(user=by)
        if material:
            raise ValidationError(
                f"The material belongs to the workspace “{study.workspace}”, of which you aren't an editor. "
                "Copy the settings only, and import your own material."
            )
    copied = [name for name, setting in settings_of(Study).items() if setting.copied]
    values = {name: getattr(study, name) for name in (*copied, "declaration_id", "translated_from")}
    copy = Study(slug=slug, title=title, workspace=workspace, **values)
    study_clean(copy, images_from=study)
    copy.save()
    Membership.objects.create(study=copy, user=by, role=Membership.Role.OWNER)
    about = {"slug": slug, "title": title, "copy_of": copy_of or study.slug, "with_material": material}
    audit_write(action=AuditAction.STUDY_CREATED, study=copy, by=by, after=about)
    images_copy(study=study, copy=copy)
    copy_elsewhere(study=study, copy=copy, by=by)
    if material:
        names = (
            "payload", "gold", "role", "condition", "instance_id", "explanation_id", "follow_up_id", "parts", "attributes",
        )  # fmt: skip
        items = study.items.filter(withdrawn_at__isnull=True).order_by("id").iterator(chunk_size=2_000)
        Item.objects.bulk_create(
            (
                Item(
                    study=copy,
                    key=item.key.removesuffix(f".v{item.version}") if item.version > 1 else item.key,
                    **{name: getattr(item, name) for name in names},
                )
                for item in items
            ),
            batch_size=2_000,
        )
    return copy


def _editor(user: User, workspace: Workspace) -> bool:
    return workspaces_for(user=user, role=Membership.Role.EDITOR).filter(pk=workspace.pk).exists()


def slug_free(slug: str) -> str:
    """An unused short name for a copy: ``owls-copy``, ``owls-copy-2``, ..."""
    return slug_near(f"{slug[:70]}-copy")
