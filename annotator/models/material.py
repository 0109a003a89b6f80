"""Research material: what is explained, by which system, how, and what was asked next."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import MD5


class Dataset(models.Model):
    """A named set of instances; each study's import makes or extends one. Its name is unique in its workspace."""

    workspace = models.ForeignKey(
        "annotator.Workspace", models.PROTECT, null=True, blank=True, related_name="datasets"
    )
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "name"], name="dataset_name_unique_in_workspace", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return self.name


class Instance(models.Model):
    """An input x of the system: a question, a post with two responses, an article."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="instances")
    key = models.CharField(max_length=200)
    input = models.TextField()
    gold_label = models.CharField(max_length=200, blank=True)
    gold_rationale = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dataset", "key"], name="instance_key_unique")]
        #: Finds the same input in other datasets: a person who saw it in one study has seen it.
        indexes = [models.Index(MD5("input"), name="instance_by_input")]

    def __str__(self) -> str:
        return self.key


class System(models.Model):
    """A model together with an explanation method (chain of thought, post-hoc, forced, gold).

    Its name is unique in its workspace; the same name in another workspace is a different system.
    """

    workspace = models.ForeignKey(
        "annotator.Workspace", models.PROTECT, null=True, blank=True, related_name="systems"
    )
    name = models.CharField(max_length=200)
    model = models.CharField(max_length=200, blank=True)
    method = models.CharField(max_length=60, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "name"], name="system_name_unique_in_workspace", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return self.name


class Explanation(models.Model):
    """A system's explanation e_x of an instance, with the output o_x that it goes with."""

    instance = models.ForeignKey(Instance, models.CASCADE, related_name="explanations")
    system = models.ForeignKey(System, models.PROTECT, related_name="explanations")
    text = models.TextField()
    output = models.TextField(blank=True)
    digest = models.CharField(max_length=64, help_text="SHA-256 of text and output.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["instance", "system", "digest"], name="explanation_once_per_system"
            )
        ]

    def __str__(self) -> str:
        return f"{self.instance} · {self.system}"


class FollowUp(models.Model):
    """A further input: a counterfactual of an explanation or a generalization question of an instance."""

    instance = models.ForeignKey(Instance, models.CASCADE, related_name="follow_ups")
    explanation = models.ForeignKey(
        Explanation, models.CASCADE, null=True, blank=True, related_name="follow_ups"
    )
    text = models.TextField()
    generator = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=60, blank=True)
    gold_label = models.CharField(max_length=200, blank=True)
    digest = models.CharField(max_length=64, help_text="SHA-256 of text, generator and kind.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["instance", "explanation", "digest"], name="follow_up_once", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return self.text[:80]


class Output(models.Model):
    """A system's real output on a follow-up. Never sent to an annotator."""

    follow_up = models.ForeignKey(FollowUp, models.CASCADE, related_name="outputs")
    system = models.ForeignKey(System, models.PROTECT, related_name="outputs")
    text = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["follow_up", "system"], name="output_once_per_system")]

    def __str__(self) -> str:
        return self.text[:80]


class AtomicUnit(models.Model):
    """One atomic unit of an explanation, with its role (P2)."""

    class Role(models.TextChoices):
        BOTH = "both", "input and output"
        INPUT = "input", "input"
        OUTPUT = "output", "output"

    explanation = models.ForeignKey(Explanation, models.CASCADE, related_name="units")
    number = models.PositiveSmallIntegerField()
    role = models.CharField(max_length=6, choices=Role, default=Role.BOTH)
    text = models.TextField()

    class Meta:
        ordering = ["explanation", "number"]
        constraints = [models.UniqueConstraint(fields=["explanation", "number"], name="unit_number_unique")]

    def __str__(self) -> str:
        return self.text[:80]
