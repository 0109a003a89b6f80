"""Practice, the exam, and open tasks after a revocation."""

from __future__ import annotations

from django.db import models

from annotator.core.ranges import InRange
from annotator.models.setting import SettingGroup, setting


class RevokedWork(models.TextChoices):
    """What happens to a person's open task when their qualification is revoked."""

    KEEP = "keep", "keep the answer, but don't count it"
    REFUSE = "refuse", "refuse the answer"


class Training(models.Model):
    """Practice, the exam, and what follows from it."""

    practice_required = setting(
        models.BooleanField(default=True),
        "Practice before the exam", SettingGroup.EXAM, snapshot=True, released=True,
    )  # fmt: skip
    exam_required = setting(
        models.BooleanField(default=True),
        "Exam before the tasks", SettingGroup.EXAM, snapshot=True, released=True,
    )  # fmt: skip
    exam_questions = setting(
        models.PositiveSmallIntegerField(
            default=11, validators=[InRange(0, 500)],
            help_text="Questions are drawn evenly from the exam's pools.",
        ),
        "Questions in the exam", SettingGroup.EXAM, snapshot=True, released=True,
    )  # fmt: skip
    pass_mark = setting(
        models.PositiveSmallIntegerField(default=9, validators=[InRange(0, 500)]),
        "Correct answers to pass", SettingGroup.EXAM, snapshot=True, released=True,
    )  # fmt: skip
    exam_attempts = setting(
        models.PositiveSmallIntegerField(default=2, validators=[InRange(1, 100)]),
        "Attempts", SettingGroup.EXAM, snapshot=True, released=True,
    )  # fmt: skip
    exam_wait_minutes = setting(
        models.PositiveIntegerField(
            default=0, validators=[InRange(0, 43_200)],
            help_text="The time that people have to wait before their next attempt.",
        ),
        "Minutes between attempts", SettingGroup.EXAM, snapshot=True, released=True,
    )  # fmt: skip
    exam_feedback = setting(
        models.BooleanField(
            default=True,
            help_text="Show people which questions they got wrong, and why, after the exam.",
        ),
        "Show wrong answers with reasons", SettingGroup.EXAM, snapshot=True,
    )  # fmt: skip
    exam_key_early = setting(
        models.BooleanField(
            default=False,
            help_text="Show this even to people who can still take the exam again. Their next attempt uses different questions"
            " as far as the pools allow.",
        ),
        "Show correct answers before the last attempt", SettingGroup.EXAM, snapshot=True,
    )  # fmt: skip
    revoked_work = setting(
        models.CharField(
            max_length=6, choices=RevokedWork, default=RevokedWork.KEEP,
            help_text="What happens to the answer to a task that a person had open when their qualification was revoked.",
        ),
        "Open tasks when a qualification is revoked", SettingGroup.EXAM, snapshot=True,
    )  # fmt: skip

    class Meta:
        abstract = True
