"""Imports that a job carries out: files too large for a page to wait for."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q


class FileImport(models.Model):
    """One file that a worker imports into a study, all or nothing: its progress, and the problems in its rows."""

    class Kind(models.TextChoices):
        MATERIAL = "material", "material"
        JUDGMENTS = "judgments", "judgments"

    class State(models.TextChoices):
        QUEUED = "queued", "waiting for a worker"
        RUNNING = "running", "running"
        DONE = "done", "imported"
        REFUSED = "refused", "refused"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    UNFINISHED = (State.QUEUED, State.RUNNING)

    study = models.ForeignKey("annotator.Study", models.CASCADE, related_name="file_imports")
    kind = models.CharField(max_length=10, choices=Kind)
    name = models.CharField(max_length=150, help_text="The file's name. Its ending gives the format.")
    #: Name in the default storage, until the import has ended.
    file = models.CharField(max_length=200, blank=True)
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    #: What the columns mean; the arguments of the service that imports.
    options = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()), blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.QUEUED)
    bytes_read = models.PositiveBigIntegerField(default=0, db_default=0)
    cancel_asked = models.BooleanField(default=False, db_default=False)
    #: What was written, once it's done.
    result = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()), blank=True)
    #: The first problems in full. ``problems_file`` (CSV) has more of them; the count includes all.
    problems = models.JSONField(default=list, db_default=models.Value([], models.JSONField()), blank=True)
    problem_count = models.PositiveIntegerField(default=0, db_default=0)
    problems_file = models.CharField(max_length=200, blank=True, default="", db_default="")
    error = models.TextField(blank=True, default="", db_default="")
    created_by = models.ForeignKey("annotator.User", models.CASCADE, related_name="file_imports")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="import_reads_at_most_its_file", condition=Q(bytes_read__lte=F("size"))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} into {self.study.slug}"

    @property
    def unfinished(self) -> bool:
        return self.state in self.UNFINISHED

    @property
    def percent(self) -> int:
        """How much of the file has been read, from 0 to 100; the rows are stored after that."""
        return 100 * self.bytes_read // self.size if self.size else 0
