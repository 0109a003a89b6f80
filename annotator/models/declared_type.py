"""HIT types and questionnaires of workspaces: files that declare one, each in immutable versions known by the digest of their content."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Declaration(models.Model):
    """The content of one file that passed all checks. Never changed; the same content is stored once on a server.

    Studies and versions refer to it by its digest, so whoever has the content can check that it is the one that was meant.
    """

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the source.")
    source = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.digest[:12]


class DeclaredType(models.Model):
    """A HIT type or a questionnaire that a workspace owns. Its name is that of its file and never changes."""

    class Kind(models.TextChoices):
        HIT_TYPE = "hit_type", "HIT type"
        QUESTIONNAIRE = "questionnaire", "questionnaire"

    workspace = models.ForeignKey("annotator.Workspace", models.PROTECT, related_name="declared_types")
    kind = models.CharField(max_length=13, choices=Kind, default=Kind.HIT_TYPE, db_default=Kind.HIT_TYPE)
    name = models.CharField(max_length=40)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "HIT type"
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind", "name"], name="declared_type_once_per_workspace"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["hit_type", "questionnaire"]), name="declared_type_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class DeclaredQuestionnaire(DeclaredType):
    """A questionnaire of a workspace, as the researchers' pages list it."""

    class Meta:
        proxy = True
        verbose_name = "questionnaire"


class DeclaredVersion(models.Model):
    """One saved version of a type, with the result of its checks. The latest one is offered for new studies."""

    type = models.ForeignKey(DeclaredType, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    declaration = models.ForeignKey(Declaration, models.PROTECT, to_field="digest", related_name="versions")
    title = models.CharField(max_length=200)
    #: The version that studies record: of the content, without comments.
    version = models.CharField(max_length=12)
    #: ``{"name": ..., "detail": ...}`` of each check that it passed.
    checks = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ["type", "number"]
        constraints = [
            models.UniqueConstraint(fields=["type", "number"], name="declared_version_number_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="declared_version_number_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.type} v{self.number}"
