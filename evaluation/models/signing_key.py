"""The key with which a lab signs its releases."""

from __future__ import annotations

from django.db import models


class SigningKey(models.Model):
    """A lab's Ed25519 key. The private part is encrypted with the secret key; the public one is published by the lab, so that anyone can tell
    its releases from forged ones. Studies without a workspace share one key."""

    workspace = models.OneToOneField(
        "annotator.Workspace", models.CASCADE, null=True, blank=True, related_name="signing_key"
    )
    public = models.CharField(max_length=100)
    private_sealed = models.TextField(editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace"], name="signing_key_once", nulls_distinct=False)
        ]

    def __str__(self) -> str:
        return self.public
