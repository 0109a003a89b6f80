"""Ownership: a workspace (a lab) and its members."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models

from annotator.core.printable import steering_character
from annotator.core.ranges import InRange
from annotator.models.membership import Membership


class Workspace(models.Model):
    """A lab. It owns studies, systems, datasets, qualifications, endpoints and recipes, whose names are unique within
    it. Nothing of one workspace can be seen, changed or used in another unless it is shared: a study with a
    ``Membership``, an endpoint with its ``shared_with``. An object without a workspace was created on the command line,
    or by an earlier version during an upgrade; only the members of its study, its creator and superusers can reach it.
    """

    name = models.CharField(max_length=100)
    #: The user whose personal workspace it is. Every researcher has one, so that everything has an owner.
    personal_of = models.OneToOneField(
        "annotator.User",
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="personal_workspace",
    )
    people = models.ManyToManyField(
        "annotator.User", through="WorkspaceMember", related_name="workspaces", editable=False
    )
    second_factor_required = models.BooleanField(
        "two-factor login required",
        default=False,
        db_default=False,
        help_text="Members without two-factor login have to set it up before they can open any researcher's page.",
    )
    model_budget = models.DecimalField(
        "budget for models",
        max_digits=12,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[InRange(0, 1_000_000_000)],
        help_text="The maximum cost of all runs of the workspace together, in the currency of its endpoints' prices. "
        "Leave empty for no limit.",
    )
    # What the operator of the installation sets, so that workspaces on one server leave room for each other.
    calls_at_once = models.PositiveIntegerField(
        "calls to models at once",
        null=True,
        blank=True,
        validators=[InRange(1, 100_000)],
        help_text="The maximum number of calls of all runs of the workspace that may be in flight at the same time. "
        "Leave empty for no limit.",
    )
    jobs_at_once = models.PositiveSmallIntegerField(
        "long jobs at once",
        null=True,
        blank=True,
        validators=[InRange(1, 64)],
        help_text="The maximum number of worker processes that carry out runs, imports, exports, reports and releases of the "
        "workspace at the same time. Leave empty for no limit.",
    )
    storage_megabytes = models.PositiveIntegerField(
        "storage for files (MB)",
        null=True,
        blank=True,
        validators=[InRange(1, 1_000_000_000)],
        help_text="The maximum size of the workspace's files together. Leave empty for no limit.",
    )
    #: When a worker last began a long job of the workspace; see ``annotator.services.turns``.
    last_turn_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.CheckConstraint(
                name="workspace_budget_not_negative",
                condition=models.Q(model_budget__isnull=True) | models.Q(model_budget__gte=0),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Members read the name on lists, in emails and in the audit trail, where it must not change what is around it."""
        if found := steering_character(self.name):
            raise ValidationError({"name": f"Contains the control character {found}. Remove it."})


class WorkspaceMember(models.Model):
    """A researcher's role in a workspace, which is their role in each of its studies too."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="members")
    user = models.ForeignKey("annotator.User", models.CASCADE, related_name="workspace_roles")
    role = models.CharField(max_length=10, choices=Membership.Role, default=Membership.Role.VIEWER)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="workspace_member_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"
