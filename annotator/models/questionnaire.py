"""What somebody answered in a study's questionnaires."""

from __future__ import annotations

from django.db import models


class QuestionnaireAnswer(models.Model):
    """One person's answers to the questionnaires before or after a study's tasks, of which they may have left any blank.

    They are asked once at each of the two moments, and never again if the study's questionnaire changes.
    """

    class Moment(models.TextChoices):
        BEFORE = "before", "before the tasks"
        AFTER = "after", "after the tasks"

    participation = models.ForeignKey("Participation", models.CASCADE, related_name="questionnaires")
    moment = models.CharField(max_length=6, choices=Moment)
    #: The version of the questionnaires: of their content, without comments.
    version = models.CharField(max_length=12)
    #: The study's version whose questionnaires they were.
    snapshot = models.ForeignKey("Snapshot", models.PROTECT, null=True, db_index=False, related_name="+")
    #: Questionnaire -> question -> answer; blank answers are left out.
    response = models.JSONField(default=dict)
    #: The attributes that reports group and filter by: ``before.demographics.age`` -> value.
    attributes = models.JSONField(default=dict)
    answered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participation", "moment"], name="questionnaire_answered_once"),
        ]

    def __str__(self) -> str:
        return f"{self.participation} {self.moment}"
