"""Studies whose rows were moved into an encrypted file: what is left of them here is where the file is."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class KeptStudy(models.Model):
    """A study that was archived into a file and removed. The file's SHA-256 shows whether a file is the right one."""

    workspace = models.ForeignKey(
        "annotator.Workspace", models.PROTECT, null=True, blank=True, related_name="kept_studies"
    )
    #: The number that the study had, and gets again; the audit trail refers to it.
    study = models.BigIntegerField()
    slug = models.SlugField(max_length=80)
    title = models.CharField(max_length=300)
    place = models.CharField(max_length=1000, help_text="Where the file was written.")
    #: Its name in the default storage, if it is there and can be downloaded; empty if a command wrote it elsewhere.
    file = models.CharField(max_length=200, blank=True, default="", db_default="")
    sha256 = models.CharField(max_length=64)
    bytes = models.PositiveBigIntegerField()
    #: Whether it was encrypted with a passphrase; otherwise with a key file.
    passphrase = models.BooleanField()
    people = models.PositiveIntegerField(help_text="People who took part.")
    rows = models.JSONField(default=dict, help_text="Number of rows by table.")
    kept_by = models.ForeignKey("annotator.User", models.SET_NULL, null=True, blank=True, related_name="+")
    kept_at = models.DateTimeField(auto_now_add=True)
    brought_back_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study"], condition=models.Q(brought_back_at__isnull=True), name="kept_study_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.slug}, kept in {self.place}"


class KeptJob(models.Model):
    """A background job that writes a study to a file and removes it, makes it again from its file, or makes a new draft like it."""

    class Kind(models.TextChoices):
        KEEP = "keep", "keep in a file"
        BRING_BACK = "bring_back", "bring back"
        TEMPLATE = "template", "make a template of"

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    kind = models.CharField(max_length=10, choices=Kind)
    workspace = models.ForeignKey("annotator.Workspace", models.CASCADE, related_name="kept_jobs")
    #: The study's number, which it has before and after; there is no row in between.
    study = models.BigIntegerField()
    slug = models.SlugField(max_length=80, help_text="The study's short name, or the one that it gets.")
    kept = models.ForeignKey(KeptStudy, models.SET_NULL, null=True, blank=True, related_name="jobs")
    #: The key, encrypted with the installation's own. Emptied when the job ends.
    sealed = models.TextField(blank=True, default="")
    #: The uploaded file in the default storage, which is deleted when the job ends.
    upload = models.CharField(max_length=200, blank=True, default="")
    #: The file in the default storage that the job writes. Whoever carries on for a killed worker removes what that one left.
    writes = models.CharField(max_length=200, blank=True, default="", db_default="")
    without_releases = models.BooleanField(default=False)
    without_shared_reports = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    progress = models.CharField(max_length=200, blank=True, default="")
    error = models.TextField(blank=True, default="")
    created_by = models.ForeignKey("annotator.User", models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    #: States in which it waits or is carried out.
    OPEN = (State.QUEUED, State.RUNNING)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study"], name="kept_job_once", condition=Q(state__in=["queued", "running"])
            ),
            models.CheckConstraint(
                name="kept_job_failed_says_why", condition=~Q(state="failed") | ~Q(error="")
            ),
            models.CheckConstraint(
                name="kept_job_ended_has_no_key",
                condition=Q(state__in=["queued", "running"]) | Q(sealed="", upload=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.slug}"

    @property
    def waiting(self) -> bool:
        """Whether it hasn't ended yet."""
        return self.state in self.OPEN
