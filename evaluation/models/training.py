"""GEN-U as a reward (Joshi et al. 2023, section 4): the reward of each sampled rationale, and fine-tuning jobs."""

from __future__ import annotations

from django.db import models
from django.db.models import Q, Value

from evaluation.models.endpoint import Endpoint
from evaluation.models.pipeline import Pipeline


class Reward(models.Model):
    """The reward of one rationale in one round, and its quantile."""

    pipeline = models.ForeignKey(Pipeline, models.CASCADE, related_name="rewards")
    step = models.CharField(max_length=100, help_text="The reward step of the round.")
    explanation = models.ForeignKey("annotator.Explanation", models.CASCADE, related_name="+")
    value = models.FloatField(help_text="The reward, GEN-U: -1, 0 or 1.")
    quantile = models.PositiveSmallIntegerField(help_text="The lowest quantile is 0.")
    samples = models.PositiveSmallIntegerField(
        default=1,
        db_default=1,
        help_text="How many of the round's samples were exactly this rationale.",
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["pipeline", "step", "explanation"], name="reward_once_per_step")
        ]

    def __str__(self) -> str:
        return f"{self.step}: {self.value:g}"


class FineTuning(models.Model):
    """One fine-tuning job at an endpoint, with its training file.

    A step has one current job. Those that failed or were cancelled, and that another one has replaced, stay as a record.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting to be sent"
        RUNNING = "running", "at the endpoint"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        CANCELLING = "cancelling", "being cancelled"
        CANCELLED = "cancelled", "cancelled"

    #: States of a job that may still be sent or trained, and those in which it may still cost something.
    OPEN = (State.WAITING, State.RUNNING)
    UNDECIDED = (*OPEN, State.CANCELLING)

    pipeline = models.ForeignKey(Pipeline, models.CASCADE, related_name="tunings")
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="+")
    step = models.CharField(max_length=100)
    base_model = models.CharField(max_length=200)
    suffix = models.CharField(max_length=64, blank=True)
    epochs = models.PositiveSmallIntegerField(default=1)
    examples = models.PositiveIntegerField()
    file = models.TextField(help_text="The training file as it was sent, as JSON lines.")
    file_id = models.CharField(max_length=200, blank=True)
    job_id = models.CharField(max_length=200, blank=True)
    deployments = models.JSONField(
        default=list,
        blank=True,
        db_default=Value([], models.JSONField()),
        help_text="Where the file was sent, and the deployments that were confirmed to be the same.",
    )
    model = models.CharField(max_length=200, blank=True, help_text="The fine-tuned model's name.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    reported_state = models.CharField(
        max_length=40, blank=True, db_default="", help_text="The state in the endpoint's own word."
    )
    error = models.TextField(blank=True)
    #: Per million training tokens; before the job starts, the most that it can cost is checked against the budget.
    price = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    most_cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    trained_tokens = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(
        null=True, blank=True, help_text="When the endpoint accepted the job, or when it was found there."
    )
    looked_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    replaced_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When its step was started again, so that another job takes its place.",
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["pipeline", "step"],
                name="tuning_current_once_per_step",
                condition=Q(replaced_at__isnull=True),
            ),
            models.CheckConstraint(
                name="tuning_replaced_is_over",
                condition=Q(replaced_at__isnull=True) | Q(state__in=["failed", "cancelled"]),
            ),
            models.CheckConstraint(name="tuning_done_has_model", condition=~Q(state="done") | ~Q(model="")),
        ]

    def __str__(self) -> str:
        return f"{self.step}: {self.base_model}"
