"""Stored reports and their files."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q


class Report(models.Model):
    """A stored computation over a study, or across several: agreement and metrics, with a record of its inputs."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    study = models.ForeignKey("annotator.Study", models.CASCADE, related_name="reports")
    others = models.ManyToManyField(
        "annotator.Study",
        related_name="reports_across",
        blank=True,
        help_text="Other studies that are included in the report.",
    )
    choices = models.JSONField(
        default=dict, help_text="Aggregation rule, exclusions, label set, bootstrap, seed."
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    progress = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    inputs_hash = models.CharField(
        max_length=64,
        blank=True,
        help_text="SHA-256 of the ratings and choices that the report was computed from.",
    )
    software = models.CharField(max_length=100, blank=True)
    content = models.JSONField(null=True, blank=True)
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="report_done_has_content",
                condition=~Q(state="done") | Q(content__isnull=False, finished_at__isnull=False),
            ),
            models.CheckConstraint(
                name="report_failed_says_why", condition=~Q(state="failed") | ~Q(error="")
            ),
        ]

    def __str__(self) -> str:
        return f"Report {self.pk} on {self.study}"

    @property
    def studies(self) -> list[Any]:
        """All studies that it is computed on, starting with the one that it was requested for."""
        return [self.study, *sorted(self.others.all(), key=lambda study: study.pk)]


class ReportFile(models.Model):
    """A file made with a report, to be shown or downloaded: a drawn figure, a long table."""

    report = models.ForeignKey(Report, models.CASCADE, related_name="files")
    name = models.CharField(max_length=150, help_text="File name, e.g. p1-table-4-precision.dark.svg.")
    media_type = models.CharField(max_length=60)
    body = models.BinaryField()

    class Meta:
        ordering = ["report", "name"]
        constraints = [models.UniqueConstraint(fields=["report", "name"], name="report_file_once")]

    def __str__(self) -> str:
        return f"{self.name} of report {self.report_id}"
