"""Studies whose rows were moved into an encrypted file: what is left of them here is where the file is."""

from __future__ import annotations

from django.db import models


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
