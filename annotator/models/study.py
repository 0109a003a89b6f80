"""A study, and the frozen snapshots that its judgments refer to. Its settings are in ``study_settings``."""

from __future__ import annotations

import secrets

from django.db import models
from django.db.models import F, Q

from annotator.models.panel import PanelLinks
from annotator.models.setting import range_constraints
from annotator.models.study_settings import StudySettings
from annotator.models.study_settings.personal_data import ErasurePolicy


def new_token() -> str:
    return secrets.token_urlsafe(16)


class Study(StudySettings):
    """One HIT type put to raters on a set of items, under fixed rules."""

    class State(models.TextChoices):
        DRAFT = "draft", "draft"
        LIVE = "live", "live"
        PAUSED = "paused", "paused"
        CLOSED = "closed", "closed"

    ErasurePolicy = ErasurePolicy

    workspace = models.ForeignKey(
        "annotator.Workspace", models.PROTECT, null=True, blank=True, related_name="studies"
    )
    #: The file of the HIT type that a workspace declared, in the version that the study uses; none for built-in types.
    declaration = models.ForeignKey(
        "annotator.Declaration",
        models.PROTECT,
        to_field="digest",
        null=True,
        blank=True,
        editable=False,
        related_name="studies",
    )
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT, editable=False)
    #: The digest of the original that each translated text was made from: ``{"de": {"title": "9f86...", "exam owls": ...}}``.
    translated_from = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), blank=True, editable=False
    )

    join_token = models.CharField(max_length=64, default=new_token, unique=True, editable=False)
    #: The secret that signs the panel's webhooks, encrypted; see ``annotator.core.sealed``.
    panel_secret_sealed = models.TextField(blank=True, default="", db_default="", editable=False)
    snapshot = models.ForeignKey(
        "Snapshot", models.PROTECT, null=True, blank=True, editable=False, related_name="+"
    )
    researchers = models.ManyToManyField("annotator.User", through="Membership", related_name="studies")
    created_at = models.DateTimeField(auto_now_add=True)
    launched_at = models.DateTimeField(null=True, blank=True, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    #: Hidden from everybody since then; removed for good after ``services.study_removal.KEPT_DAYS``.
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    deleted_by = models.ForeignKey(
        "annotator.User", models.SET_NULL, null=True, blank=True, editable=False, related_name="+"
    )

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]
        constraints = [
            *range_constraints(StudySettings),
            models.CheckConstraint(
                name="study_pass_mark_in_exam", condition=Q(pass_mark__lte=F("exam_questions"))
            ),
            models.CheckConstraint(
                name="study_panel_known",
                condition=Q(panel_links__in=PanelLinks.values),
            ),
            models.CheckConstraint(
                name="study_launched_has_snapshot", condition=Q(state="draft") | Q(snapshot__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Snapshot(models.Model):
    """All rules and texts under which judgments were made, frozen and identified by a digest of the content."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="snapshots")
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64, help_text="SHA-256 of the canonical JSON of the content.")
    content = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ["study", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "digest"], name="snapshot_once_per_study"),
            models.UniqueConstraint(fields=["study", "number"], name="snapshot_number_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.study.slug} v{self.number} ({self.digest[:8]})"
