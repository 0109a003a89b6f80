"""Exports that are too large to build within a request: a background job builds them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Export(models.Model):
    """A file of a study's judgments that a researcher requested, a job builds, and the same researcher downloads."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    class Form(models.TextChoices):
        JUDGMENTS = "judgments", "one row per judgment"
        RATINGS = "ratings", "one row per rating (long table)"

    class Format(models.TextChoices):
        CSV = "csv", "CSV"
        JSONL = "jsonl", "JSON lines"

    study = models.ForeignKey("annotator.Study", models.CASCADE, related_name="exports")
    form = models.CharField(max_length=10, choices=Form, default=Form.JUDGMENTS)
    format = models.CharField(max_length=5, choices=Format, default=Format.CSV)
    filters = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=6, choices=State, default=State.QUEUED)
    #: Name in the default storage; gzip.
    file = models.CharField(max_length=200, blank=True)
    rows = models.PositiveIntegerField(null=True, blank=True)
    bytes = models.PositiveBigIntegerField(null=True, blank=True)
    error = models.TextField(blank=True)
    created_by = models.ForeignKey("annotator.User", models.CASCADE, related_name="exports")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(name="export_done_has_file", condition=~Q(state="done") | ~Q(file="")),
        ]

    def __str__(self) -> str:
        return f"{self.study.slug}, {self.form} as {self.format}"
