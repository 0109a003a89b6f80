"""The installation's copies of files in which studies are kept: downloaded, and deleted once the study is back."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.db import transaction

from annotator.core.downloads import Download
from annotator.models import AuditAction, User
from annotator.services.audit import audit_write
from evaluation.models import KeptStudy


def kept_study_download(kept: KeptStudy, *, by: User) -> Download | None:
    """The encrypted file; None if this installation has no copy."""
    try:
        file = default_storage.open(kept.file) if kept.file else None
    except FileNotFoundError:
        file = None
    if file is None:
        return None
    audit_write(
        action=AuditAction.DOWNLOADED, workspace=kept.workspace, by=by, target=f"kept study {kept.slug}"
    )
    return Download(file, f"{kept.slug}.foretell", "application/octet-stream")


@transaction.atomic
def kept_file_delete(kept: KeptStudy, *, by: User) -> None:
    """Delete the installation's copy of the file of a study that is back; copies that were downloaded stay where they are.

    Raises ``ValidationError`` if the study is only in its file.
    """
    kept = KeptStudy.objects.select_for_update().get(pk=kept.pk)
    if kept.brought_back_at is None:
        raise ValidationError("The study is only in this file. Bring it back first.")
    name, kept.file = kept.file, ""
    if not name:
        return
    kept.save(update_fields=["file"])
    audit_write(
        action=AuditAction.KEPT_FILE_DELETED,
        workspace=kept.workspace,
        by=by,
        target=f"kept study {kept.slug}",
    )
    transaction.on_commit(lambda: default_storage.delete(name))
