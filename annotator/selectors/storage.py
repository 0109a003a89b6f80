"""The storage that a workspace's files use, and whether there is room for more."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db.models import Sum
from django.template.defaultfilters import filesizeformat

from annotator.core.workspace_use import files_of
from annotator.models import Export, FileImport, StudyImage, Workspace

MEGABYTE = 1024 * 1024


def image_bytes(workspace: int) -> int:
    """Bytes of a workspace's images. A file that several studies show is stored, and counted, once."""
    files = StudyImage.objects.filter(study__workspace=workspace).order_by().values("file", "size").distinct()
    return files.aggregate(total=Sum("size"))["total"] or 0


def export_bytes(workspace: int) -> int:
    """Bytes of the exports that can still be downloaded."""
    kept = Export.objects.filter(study__workspace=workspace).exclude(file="").order_by()
    return kept.aggregate(total=Sum("bytes"))["total"] or 0


def import_bytes(workspace: int) -> int:
    """Bytes of uploaded files that wait for their import."""
    waiting = FileImport.objects.filter(
        study__workspace=workspace, state__in=[FileImport.State.QUEUED, FileImport.State.RUNNING]
    )
    return waiting.order_by().aggregate(total=Sum("size"))["total"] or 0


def storage_check(*, workspace: int | None, more: int = 0) -> None:
    """Raises ``ValidationError`` if a workspace with a limit has no room for ``more`` bytes.

    Two requests at the same time are both let through if each alone would be. The rows of the database don't count.
    """
    limited = Workspace.objects.filter(pk=workspace or 0, storage_megabytes__isnull=False)
    most = limited.values_list("storage_megabytes", flat=True).first()
    if workspace is None or most is None:
        return
    used = sum(files_of(workspace).values())
    if used + max(more, 1) > most * MEGABYTE:
        size = f" and this file has {filesizeformat(more)}" if more else ""
        raise ValidationError(
            f"The workspace's files take {filesizeformat(used)} of the {filesizeformat(most * MEGABYTE)} that they may take"
            f"{size}. Delete images, exports or releases that nobody needs, or ask the operator of this installation for more."
        )
