"""Exams: versions of their questions, attempts, and the qualifications that they grant."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q


class Exam(models.Model):
    """One version of an exam, identified by a digest of its questions. Never changed once created."""

    hit_type = models.CharField(max_length=60)
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["hit_type", "digest"], name="exam_once_per_content")]

    def __str__(self) -> str:
        return f"{self.hit_type} exam {self.digest[:8]}"


class ExamQuestion(models.Model):
    """A question with its correct response (never sent before grading) and the reason for it."""

    exam = models.ForeignKey(Exam, models.CASCADE, related_name="questions")
    key = models.CharField(max_length=100)
    number = models.PositiveSmallIntegerField()
    pool = models.CharField(max_length=60, blank=True)
    payload = models.JSONField()
    gold = models.JSONField()
    reason = models.TextField()

    class Meta:
        ordering = ["exam", "number"]
        constraints = [models.UniqueConstraint(fields=["exam", "key"], name="exam_question_key_unique")]

    def __str__(self) -> str:
        return self.key


class ExamAttempt(models.Model):
    """One person's attempt: the questions drawn, in their order, and the score once submitted."""

    participation = models.ForeignKey("Participation", models.CASCADE, related_name="exam_attempts")
    exam = models.ForeignKey(Exam, models.PROTECT, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    drawn = models.JSONField(help_text="Keys of the questions, in the order shown.")
    pass_mark = models.PositiveSmallIntegerField()
    started_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    score = models.PositiveSmallIntegerField(null=True, blank=True)
    offered = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        help_text="What the exam paid when the attempt was started. Later changes of the pay don't affect it.",
    )
    pay = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        default=0,
        db_default=0,
        help_text="What the person earned by submitting it. Only the first attempt is paid.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participation", "number"], name="exam_attempt_number_unique"),
            models.CheckConstraint(
                name="exam_attempt_scored_when_submitted",
                condition=Q(submitted_at__isnull=True, score__isnull=True)
                | Q(submitted_at__isnull=False, score__isnull=False),
            ),
        ]

    @property
    def passed(self) -> bool:
        return self.score is not None and self.score >= self.pass_mark

    def __str__(self) -> str:
        return f"{self.participation}, attempt {self.number}"


class ExamAnswer(models.Model):
    """The answer to one question of an attempt, and whether it was right."""

    attempt = models.ForeignKey(ExamAttempt, models.CASCADE, related_name="answers")
    question = models.ForeignKey(ExamQuestion, models.PROTECT, related_name="answers")
    response = models.JSONField()
    right = models.BooleanField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "question"], name="exam_answer_once")]

    def __str__(self) -> str:
        return f"{self.question}: {'right' if self.right else 'wrong'}"


class Qualification(models.Model):
    """A rater's permission to do a HIT type in the studies of a workspace, earned in an exam or granted by a
    researcher."""

    workspace = models.ForeignKey(
        "annotator.Workspace", models.PROTECT, null=True, blank=True, related_name="qualifications"
    )
    rater = models.ForeignKey("Rater", models.CASCADE, related_name="qualifications")
    hit_type = models.CharField(max_length=60)
    exam = models.ForeignKey(Exam, models.PROTECT, null=True, blank=True, related_name="qualifications")
    attempt = models.OneToOneField(
        ExamAttempt, models.SET_NULL, null=True, blank=True, related_name="qualification"
    )
    granted_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    granted_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["rater", "workspace", "hit_type", "exam"],
                name="qualification_once_in_workspace",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                name="qualification_revoked_after_granted",
                condition=Q(revoked_at__isnull=True) | Q(revoked_at__gte=F("granted_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater}: {self.hit_type}"


class QualificationEvent(models.Model):
    """One change of a qualification: what, by whom and why. Rows are only ever added."""

    class Kind(models.TextChoices):
        PASSED = "passed", "exam passed"
        GRANTED = "granted", "granted"
        REVOKED = "revoked", "revoked"

    qualification = models.ForeignKey(Qualification, models.CASCADE, related_name="events")
    kind = models.CharField(max_length=8, choices=Kind)
    by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    reason = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.at:%Y-%m-%d %H:%M}"
