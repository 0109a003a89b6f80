"""Which generalization questions the validators of a study accept (Joshi et al. 2023, A.6.2)."""

from __future__ import annotations

from django.db import models


class QuestionVerdict(models.Model):
    """Whether the majority in one validation study found that a question is of its kind, answerable and correctly answered.

    Pipelines on one dataset share its questions, and each counts the verdicts of its own validation study.
    """

    study = models.ForeignKey("annotator.Study", models.CASCADE, related_name="question_verdicts")
    follow_up = models.ForeignKey("annotator.FollowUp", models.CASCADE, related_name="verdicts")
    accepted = models.BooleanField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["study", "follow_up"], name="question_verdict_once")]

    def __str__(self) -> str:
        return f"{self.follow_up}: {'accepted' if self.accepted else 'not accepted'}"
