"""The part of a dataset that an instance belongs to, where the dataset's file names it."""

from __future__ import annotations

from django.db import models


class InstancePart(models.Model):
    """Whether models are trained, validated or tested on an instance, as its file says; without a row it depends on its key."""

    class Part(models.TextChoices):
        TRAIN = "train", "training"
        VALIDATION = "validation", "validation"
        TEST = "test", "test"

    instance = models.OneToOneField("annotator.Instance", models.CASCADE, related_name="own_part")
    part = models.CharField(max_length=10, choices=Part)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(part__in=["train", "validation", "test"]), name="instance_part_known"
            )
        ]

    def __str__(self) -> str:
        return f"{self.instance}: {self.get_part_display()}"
