"""How far the restore of a workspace from its backup has come."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class WorkspaceRestore(models.Model):
    """A workspace that is being made, or was made, from a backup. Until it is finished, nobody is a member of the workspace."""

    workspace = models.ForeignKey("annotator.Workspace", models.CASCADE, related_name="restores")
    #: The random id in the backup's table of contents.
    backup = models.CharField(max_length=32)
    #: Number of an account in the backup -> here, for members and people with a role in a single study.
    people = models.JSONField(default=dict)
    #: Short name of a study in the backup -> the one that it gets here.
    slugs = models.JSONField(default=dict)
    #: Name of a study's file in the backup -> the study's number here, for those that are restored.
    studies = models.JSONField(default=dict)
    #: ``[number of the account here, role]`` of each member.
    members = models.JSONField(default=list)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace"], condition=Q(finished_at__isnull=True), name="workspace_restore_one_open"
            )
        ]

    def __str__(self) -> str:
        return f"{self.workspace} from the backup {self.backup}"
