"""The members of a study, and invitations to become one."""

from __future__ import annotations

from django.db import models


class Membership(models.Model):
    """A researcher's role in one study, for people from outside its workspace or with a larger role than there."""

    class Role(models.TextChoices):
        OWNER = "owner", "owner"
        EDITOR = "editor", "editor"
        REVIEWER = "reviewer", "reviewer"
        VIEWER = "viewer", "viewer"

    study = models.ForeignKey("Study", models.CASCADE, related_name="memberships")
    user = models.ForeignKey("annotator.User", models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class Invitation(models.Model):
    """A link that makes a colleague a member of a study. Only a digest of its secret is kept."""

    study = models.ForeignKey("Study", models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Membership.Role, default=Membership.Role.VIEWER)
    email = models.EmailField(
        blank=True, help_text="The person who is invited. Leave empty to invite anyone with the link."
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_by = models.ForeignKey("annotator.User", models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(
        "annotator.User", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.email or 'anyone with the link'} as {self.role}"
