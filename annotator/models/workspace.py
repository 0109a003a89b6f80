"""Who owns what: a workspace (a lab) and its members."""

from __future__ import annotations

from django.db import models

from annotator.models.study import Membership


class Workspace(models.Model):
    """A lab. It owns studies, systems, datasets, qualifications, endpoints and recipes; names are its own.

    Nothing of one workspace is seen, changed or used in another, unless it is shared on purpose: a study with a
    ``Membership``, an endpoint with its ``shared_with``. What has no workspace was made on the command line, or by an
    earlier version during an upgrade: only the members of its study, its maker and superusers reach it.
    """

    name = models.CharField(max_length=100)
    #: Whose own workspace it is: everybody who works here has one, so that nothing is ever nobody's.
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
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


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
