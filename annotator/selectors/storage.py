"""The storage that a workspace's files use, and whether there is room for more."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class StorageRoom:
    """Bytes that a workspace's files take, and may take; without a limit, ``most`` is None. The rows of the database don't count."""

    used: int
    most: int | None

    def check(self, more: int) -> None:
        """Raises ``ValidationError`` if there is no room for ``more`` bytes; with 0, if there is none at all."""
        if self.most is None or self.used + max(more, 1) <= self.most:
            return
        size = f" and what would be added has {filesizeformat(more)}" if more else ""
        raise ValidationError(
            f"The workspace's files take {filesizeformat(self.used)} of the {filesizeformat(self.most)} that they may take"
            f"{size}. Delete images, exports or releases that nobody needs, or ask the operator of this installation for more."
        )


def storage_room(*, workspace: int | None) -> StorageRoom:
    """The room that a workspace has at present. Two requests at the same time are both let through if each alone would be."""
    limited = Workspace.objects.filter(pk=workspace or 0, storage_megabytes__isnull=False)
    most = limited.values_list("storage_megabytes", flat=True).first()
    if workspace is None or most is None:
        return StorageRoom(0, None)
    return StorageRoom(sum(files_of(workspace).values()), most * MEGABYTE)


def storage_check(*, workspace: int | None, more: int = 0) -> None:
    """Raises ``ValidationError`` if a workspace with a limit has no room for ``more`` bytes."""
    storage_room(workspace=workspace).check(more)
