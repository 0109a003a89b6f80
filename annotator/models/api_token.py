"""Tokens with which programs use the API in a researcher's name."""

from __future__ import annotations

from django.db import models


class ApiToken(models.Model):
    """One program's access. Only a digest of the token is stored, so the table alone doesn't grant access."""

    user = models.ForeignKey("annotator.User", models.CASCADE, related_name="api_tokens")
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token.")
    name = models.CharField(
        max_length=100, blank=True, db_default="", help_text="What uses it, such as the name of a script."
    )
    #: What it may do besides reading. Personal data are participants' names and the answers linked to them.
    may_write = models.BooleanField(default=True, help_text="Change studies, items and exclusions.")
    may_run = models.BooleanField(
        default=False, db_default=False, help_text="Start, pause and cancel runs of models."
    )
    may_see_people = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Read judgments, exclusions and exports, with participants' names.",
    )
    #: Changes with the user's password, which ends the token.
    password_state = models.CharField(max_length=20)
    created = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="Accurate to the hour.")

    def __str__(self) -> str:
        return f"{self.name or self.user}, until {self.expires_at:%Y-%m-%d}"
