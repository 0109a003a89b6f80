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


class PlanJob(models.Model):
    """A calculation on a plan that takes longer than a page may: its power, or the intervals that are valid at a look.

    ``digest`` is that of everything that the result is computed from, so a result is kept and not computed again for the same inputs.
    """

    class Kind(models.TextChoices):
        POWER = "power", "power"
        LOOK = "look", "valid intervals"

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    study = models.ForeignKey("annotator.Study", models.CASCADE, related_name="plan_jobs")
    kind = models.CharField(max_length=10, choices=Kind)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the canonical JSON of the inputs.")
    #: What it is computed from, beside the study's rows: the plan, and for power the structure, assumptions and number of studies.
    inputs = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True)
    created_by = models.ForeignKey("annotator.User", models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    #: States in which it waits or is computed.
    OPEN = (State.QUEUED, State.RUNNING)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "kind"],
                condition=Q(state__in=["queued", "running"]),
                name="plan_job_one_open",
            ),
            models.CheckConstraint(
                name="plan_job_done_has_result",
                condition=~Q(state="done") | Q(result__isnull=False, finished_at__isnull=False),
            ),
            models.CheckConstraint(
                name="plan_job_failed_says_why", condition=~Q(state="failed") | ~Q(error="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of the plan of {self.study}"

    @property
    def open(self) -> bool:
        return self.state in self.OPEN

    @property
    def percent(self) -> int:
        """How much of it is done, in per cent."""
        return 100 * self.done // self.total if self.total else 0
