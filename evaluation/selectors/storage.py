"""The storage that a workspace's reports, releases and kept studies use."""

from __future__ import annotations

from django.db.models import Sum
from django.db.models.functions import Length

from evaluation.models import KeptStudy, Release, ReportFile


def report_bytes(workspace: int) -> int:
    """Bytes of the files of a workspace's reports. A report across studies belongs to the study it was made on."""
    files = ReportFile.objects.filter(report__study__workspace=workspace)
    return files.aggregate(total=Sum(Length("body")))["total"] or 0


def release_bytes(workspace: int) -> int:
    """Bytes of the archives of a workspace's releases."""
    built = Release.objects.filter(report__study__workspace=workspace).exclude(file="").order_by()
    return built.aggregate(total=Sum("bytes"))["total"] or 0


def kept_bytes(workspace: int) -> int:
    """Bytes of the encrypted files of studies that were kept after archiving."""
    return (
        KeptStudy.objects.filter(workspace=workspace).order_by().aggregate(total=Sum("bytes"))["total"] or 0
    )
