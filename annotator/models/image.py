"""Images that a study's material and questions show."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class StudyImage(models.Model):
    """One uploaded image of a study, by the name of its file.

    Material names it by its digest, so what an annotator sees is the file that the researcher checked. The file itself is
    in the default storage, once for all studies of a workspace that use it.
    """

    class MediaType(models.TextChoices):
        PNG = "image/png", "PNG"
        JPEG = "image/jpeg", "JPEG"
        WEBP = "image/webp", "WebP"
        GIF = "image/gif", "GIF"

    study = models.ForeignKey("annotator.Study", models.CASCADE, related_name="images")
    name = models.CharField(max_length=150, help_text="The file name that material uses for the image.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the file.")
    media_type = models.CharField(max_length=10, choices=MediaType)
    width = models.PositiveIntegerField(help_text="Pixels.")
    height = models.PositiveIntegerField(help_text="Pixels.")
    size = models.PositiveIntegerField(help_text="Bytes.")
    #: Name in the default storage.
    file = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "name"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="image_name_once_in_study"),
            models.CheckConstraint(
                name="image_digest_is_sha256", condition=Q(digest__regex="^[0-9a-f]{64}$")
            ),
        ]
        indexes = [
            models.Index(fields=["study", "digest"], name="image_by_digest"),
            models.Index(fields=["file"], name="image_by_file"),
        ]

    def __str__(self) -> str:
        return self.name
