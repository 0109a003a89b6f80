"""A study's analysis plan, and the looks at its planned comparisons before the study was complete."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class AnalysisPlan(models.Model):
    """What will be analysed and how, written before the data. ``document`` is ``planning.plan_document.Plan`` as JSON.

    Once sealed, a trigger in Postgres keeps document, design, hash and time as they are.
    """

    study = models.OneToOneField("annotator.Study", models.CASCADE, related_name="analysis_plan")
    document = models.JSONField(
        help_text="Hypotheses, options, exclusion rules, test, correction, stopping rule."
    )
    #: Items and raters for each item when it was sealed.
    design = models.JSONField(default=dict, blank=True)
    #: The last power calculation, with the assumptions that it was made from.
    power = models.JSONField(null=True, blank=True)
    digest = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        help_text="SHA-256 of the canonical JSON of document, design and time of sealing.",
    )
    sealed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="analysis_plan_sealed_has_digest",
                condition=Q(sealed_at__isnull=True, digest="") | (Q(sealed_at__isnull=False) & ~Q(digest="")),
            )
        ]

    def __str__(self) -> str:
        return f"Analysis plan of {self.study}"


class PlanLook(models.Model):
    """A report of planned comparisons that was requested before the study was complete."""

    plan = models.ForeignKey(AnalysisPlan, models.CASCADE, related_name="looks")
    at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey("annotator.User", models.SET_NULL, null=True, blank=True, related_name="+")
    judgments = models.PositiveIntegerField(help_text="People’s judgments that counted by then.")
    planned = models.PositiveIntegerField(help_text="Judgments of the complete study.")

    class Meta:
        ordering = ["plan", "id"]

    def __str__(self) -> str:
        return f"look at {self.judgments} of {self.planned} judgments"
