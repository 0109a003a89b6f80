"""Requests to delete personal data, and the record of a deletion: that it happened, not whose data it was."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone

#: A lab has a month to answer a request (GDPR, Art. 12(3)).
DAYS_TO_ANSWER = 30


def due_date() -> datetime:
    return timezone.now() + timedelta(days=DAYS_TO_ANSWER)


class DataRequest(models.Model):
    """A participant asks for the deletion of their data from one study: a task for the lab, with a deadline."""

    class State(models.TextChoices):
        OPEN = "open", "open"
        DONE = "done", "carried out"
        DECLINED = "declined", "declined"

    study = models.ForeignKey("Study", models.CASCADE, related_name="data_requests")
    #: Null once the person's data are gone from the whole installation.
    rater = models.ForeignKey("Rater", models.SET_NULL, null=True, blank=True, related_name="data_requests")
    state = models.CharField(max_length=8, choices=State, default=State.OPEN)
    asked_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(default=due_date)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey("annotator.User", models.SET_NULL, null=True, blank=True, related_name="+")
    note = models.TextField(
        blank=True, help_text="What the participant is told. If the request is declined, the reason."
    )

    class Meta:
        ordering = ["due_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "rater"], condition=Q(state="open"), name="data_request_one_open"
            ),
            models.CheckConstraint(
                name="data_request_declined_with_reason", condition=~Q(state="declined") | ~Q(note="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study.slug}: deletion asked for on {self.asked_at:%Y-%m-%d}"


class Tombstone(models.Model):
    """That somebody's data were removed from a study, so that a restored backup removes them again.

    It holds no personal data: only row ids, and a digest that tells whether the row with that id is still the same
    person.
    """

    study = models.BigIntegerField()
    rater = models.BigIntegerField()
    digest = models.CharField(max_length=64)
    policy = models.CharField(max_length=9)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "rater", "digest"], name="tombstone_once"),
        ]

    def __str__(self) -> str:
        return f"rater {self.rater} of study {self.study}"
