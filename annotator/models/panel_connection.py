"""A workspace's connection to a recruitment panel's API, and the panel's studies that we watch through it."""

from __future__ import annotations

from django.db import models

from annotator.recruitment.api import DRAFT, ENDED, LIVE, OTHER, PAUSED


class PanelConnection(models.Model):
    """One workspace's access to one panel. The token is encrypted for the address of the panel's API; see ``annotator.core.sealed``."""

    workspace = models.ForeignKey("Workspace", models.CASCADE, related_name="panel_connections")
    panel = models.CharField(max_length=40)
    token_sealed = models.TextField(editable=False)
    #: The secret that signs the webhooks of the panel's workspace, encrypted; empty until webhooks are set up.
    secret_sealed = models.TextField(blank=True, default="", editable=False)
    #: The panel's workspace and project in which studies are created, and the currency of its rewards.
    remote_workspace = models.CharField(max_length=100, blank=True, default="")
    remote_workspace_name = models.CharField(max_length=200, blank=True, default="")
    project = models.CharField(max_length=100, blank=True, default="")
    project_name = models.CharField(max_length=200, blank=True, default="")
    currency = models.CharField(max_length=3, blank=True, default="")
    #: The studies whose address for webhooks is confirmed at the panel: id -> when that was last seen.
    hooks = models.JSONField(default=dict, blank=True)
    connected_by = models.ForeignKey("User", models.SET_NULL, null=True, blank=True, related_name="+")
    connected_at = models.DateTimeField(auto_now_add=True)
    #: When the panel last accepted the token, and what it said if it didn't since.
    tested_at = models.DateTimeField(null=True, blank=True)
    fault = models.CharField(max_length=800, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "panel"], name="panel_connection_once"),
        ]

    def __str__(self) -> str:
        return f"{self.workspace} on {self.panel}"


class PanelStudy(models.Model):
    """A panel's study that recruits for one of ours: what we sent, and what the panel last told us about it."""

    STATES = ((DRAFT, "draft"), (LIVE, "live"), (PAUSED, "paused"), (ENDED, "ended"), (OTHER, "other"))

    study = models.ForeignKey("Study", models.CASCADE, related_name="panel_study_rows")
    panel = models.CharField(max_length=40)
    #: The panel's id of the study.
    remote_id = models.CharField(max_length=100)
    state = models.CharField(max_length=6, choices=STATES, default=OTHER)
    status = models.CharField(max_length=40, blank=True, default="")
    #: The plan as it was sent (``recruitment.plans``); empty for a study that was created at the panel. ``remote``: its values there.
    plan = models.JSONField(default=dict, blank=True)
    remote = models.JSONField(default=dict, blank=True)
    #: Submissions there by status, and those that only one side knows (``services.panel_reconcile``).
    counts = models.JSONField(default=dict, blank=True)
    #: How many came back with the code of each exit, by the study's field; exits that nobody took are left out.
    exits = models.JSONField(default=dict, blank=True)
    only_there = models.JSONField(default=list, blank=True)
    only_here = models.JSONField(default=list, blank=True)
    #: Whether the sweep pauses, resumes, raises and stops it as the work goes, and the most places that it may raise it to.
    follows_work = models.BooleanField(default=False)
    most_places = models.PositiveIntegerField(null=True, blank=True)
    #: Paused by the sweep, because enough people are at work; a researcher's own pause is never resumed by it.
    paused_by_sweep = models.BooleanField(default=False)
    created_by = models.ForeignKey("User", models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    #: When the panel last answered, and what went wrong if it didn't since.
    checked_at = models.DateTimeField(null=True, blank=True)
    fault = models.CharField(max_length=800, blank=True, default="")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["panel", "remote_id", "study"], name="panel_study_once"),
            models.CheckConstraint(
                name="panel_study_state", condition=models.Q(state__in=[DRAFT, LIVE, PAUSED, ENDED, OTHER])
            ),
            models.CheckConstraint(
                name="panel_study_follows_within_limit",
                condition=models.Q(follows_work=False) | models.Q(most_places__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.remote_id} for {self.study}"
