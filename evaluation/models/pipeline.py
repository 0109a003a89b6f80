"""Recipes, and pipelines, which carry a recipe out on a dataset."""

from __future__ import annotations

from django.db import models

from evaluation.models.endpoint import Endpoint


class Recipe(models.Model):
    """A saved recipe, one row per version; never changed once created."""

    workspace = models.ForeignKey(
        "annotator.Workspace", models.PROTECT, null=True, blank=True, related_name="recipes"
    )
    name = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    content = models.JSONField(help_text="The steps with their choices.")
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "name", "version"],
                name="recipe_version_unique_in_workspace",
                nulls_distinct=False,
            ),
            models.UniqueConstraint(
                fields=["workspace", "name", "digest"],
                name="recipe_once_in_workspace",
                nulls_distinct=False,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"


class Pipeline(models.Model):
    """A recipe carried out on a dataset; it belongs to the dataset's workspace. It stores its current step and, if
    paused, the reason.
    """

    class State(models.TextChoices):
        RUNNING = "running", "running"
        PAUSED = "paused", "paused"
        CANCELLED = "cancelled", "cancelled"
        DONE = "done", "done"

    recipe = models.ForeignKey(Recipe, models.PROTECT, related_name="pipelines")
    dataset = models.ForeignKey("annotator.Dataset", models.CASCADE, related_name="pipelines")
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="pipelines")
    study = models.ForeignKey(
        "annotator.Study", models.SET_NULL, null=True, blank=True, related_name="pipelines"
    )
    step = models.PositiveSmallIntegerField(default=0, help_text="Index of the current or next step.")
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    reason = models.TextField(blank=True)
    overrides = models.JSONField(
        default=dict, blank=True, help_text="Settings by step name. They override the recipe's."
    )
    results = models.JSONField(default=dict, blank=True, help_text="Results by step name, as counts.")
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.recipe} on {self.dataset}"
