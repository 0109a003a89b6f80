"""A person's participation in one study: consent, instructions, practice, exam, tasks, completion."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotator.recruitment.webhooks import ENDED


class Participation(models.Model):
    """One rater in one study, and how far they have got."""

    class State(models.TextChoices):
        ACTIVE = "active", "active"
        FINISHED = "finished", "finished"
        LEFT = "left", "left the study"
        REMOVED = "removed", "removed by the researcher"

    study = models.ForeignKey("Study", models.CASCADE, related_name="participations")
    rater = models.ForeignKey("Rater", models.CASCADE, related_name="participations")
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    #: The name of the panel that the person came from, and their id there.
    recruiter = models.CharField(max_length=40, blank=True)
    recruiter_id = models.CharField(max_length=200, blank=True)
    #: Their submission at the panel: this attempt at its study.
    recruiter_session = models.CharField(max_length=200, blank=True, default="", db_default="")
    #: Whether the panel has signed these ids. Without a signature, anyone could have written them into the link.
    recruiter_verified = models.BooleanField(default=False, db_default=False)
    #: The latest status of the submission that the panel has told us, such as "RETURNED", and when it changed.
    panel_status = models.CharField(max_length=40, blank=True, default="", db_default="")
    panel_status_at = models.DateTimeField(null=True, blank=True)
    #: The parameters of the join link that the study keeps (``Study.join_parameters``), as the panel set them.
    join_parameters = models.JSONField(
        default=dict, db_default=models.Value({}, models.JSONField()), blank=True
    )
    instructions_at = models.DateTimeField(null=True, blank=True)
    #: The version of the study whose instructions they last confirmed. Null: from before this was kept.
    instructions_seen = models.ForeignKey(
        "Snapshot", models.PROTECT, null=True, blank=True, db_index=False, related_name="+"
    )
    practice_done = models.PositiveSmallIntegerField(
        default=0, help_text="The number of practice questions completed."
    )
    practice_answered = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="The number of practice questions answered. The next question opens once the feedback has been shown.",
    )
    #: The person's current position in the study's order; see ``Place``.
    cursor = models.BigIntegerField(default=-1)
    joined_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "rater"], name="participation_once"),
            models.UniqueConstraint(
                fields=["study", "recruiter", "recruiter_id"],
                name="participation_once_per_recruiter_id",
                condition=~Q(recruiter_id=""),
            ),
            models.UniqueConstraint(
                fields=["study", "recruiter", "recruiter_session"],
                name="participation_once_per_submission",
                condition=~Q(recruiter_session=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater} in {self.study}"

    @property
    def panel_ended(self) -> bool:
        """Whether the panel has said that the person's submission has ended without pay."""
        return self.panel_status in ENDED


class Consent(models.Model):
    """A person's agreement to a consent text, which is stored in full."""

    participation = models.ForeignKey(Participation, models.CASCADE, related_name="consents")
    text = models.TextField()
    digest = models.CharField(max_length=64)
    given_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participation", "digest"], name="consent_once_per_text")
        ]

    def __str__(self) -> str:
        return f"{self.participation} ({self.digest[:8]})"
