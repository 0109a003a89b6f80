"""Rehearsals: a study filled with synthetic answers, separate from its participants' answers."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q


class Rehearsal(models.Model):
    """One run of synthetic raters over a copy of a study's places, carried out by a worker."""

    class State(models.TextChoices):
        QUEUED = "queued", "waiting for a worker"
        RUNNING = "running", "running"
        DONE = "done", "finished"
        STOPPED = "stopped", "stopped"
        FAILED = "failed", "failed"

    study = models.ForeignKey("Study", models.CASCADE, related_name="rehearsals")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    raters = models.PositiveSmallIntegerField(
        default=12, validators=[MinValueValidator(1), MaxValueValidator(200)]
    )
    accuracy = models.FloatField(
        default=0.85,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
        help_text="Mean share of correct answers, from 0 to 1.",
    )
    seed = models.PositiveIntegerField(default=1)
    error = models.TextField(blank=True)
    created_by = models.ForeignKey("annotator.User", models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study"],
                name="rehearsal_one_at_a_time",
                condition=Q(state__in=["queued", "running"]),
            ),
            models.CheckConstraint(
                name="rehearsal_accuracy_is_a_share", condition=Q(accuracy__gte=0, accuracy__lte=1)
            ),
        ]

    def __str__(self) -> str:
        return f"rehearsal of {self.study.slug}, {self.state}"
