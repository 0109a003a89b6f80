"""Recruitment panels: how links are verified, signed links that were used, and webhooks that were received."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class PanelLinks(models.TextChoices):
    """How the link by which a panel sends people is verified."""

    SIGNED = "signed", "signed: only links that the panel has signed are accepted"
    PLAIN = "plain", "not verified: anyone can write any id into the link"


class RejectedWork(models.TextChoices):
    """What happens to the judgments of a person whose submission the researchers reject at the panel."""

    KEEP = "keep", "keep it in the statistics"
    EXCLUDE = "exclude", "exclude it"
    AGAIN = "again", "exclude it and ask other people instead"


class PanelLink(models.Model):
    """A signed link that somebody has joined or come back with. Each link works in one browser.

    The row can be deleted once the link has expired.
    """

    study = models.ForeignKey("Study", models.CASCADE, related_name="panel_links_used")
    participation = models.ForeignKey("Participation", models.CASCADE, related_name="panel_links_used")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the link's token.")
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["digest"], name="panel_link_used_once")]

    def __str__(self) -> str:
        return f"{self.digest[:8]} of {self.participation}"


class PanelEvent(models.Model):
    """A webhook of a study's panel, processed once."""

    class Outcome(models.TextChoices):
        APPLIED = "applied", "applied"
        NOTED = "noted", "noted: the participant had finished"
        OLDER = "older", "ignored: a newer one came first"
        UNKNOWN = "unknown", "not about anybody in this study"

    study = models.ForeignKey("Study", models.CASCADE, related_name="panel_events")
    #: The panel's id of the event, the same each time it is sent.
    event_id = models.CharField(max_length=200)
    #: The digest of the signature: a copy with another id is the same event.
    signature_digest = models.CharField(max_length=64)
    kind = models.CharField(max_length=60)
    #: The panel's study, or the digest of a submission's id: ids of people are only kept with their participation.
    subject = models.CharField(max_length=200)
    status = models.CharField(max_length=40)
    at = models.DateTimeField(help_text="When it happened at the panel.")
    participation = models.ForeignKey(
        "Participation", models.CASCADE, null=True, blank=True, related_name="panel_events"
    )
    outcome = models.CharField(max_length=10, choices=Outcome)
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "event_id"], name="panel_event_once"),
            models.UniqueConstraint(fields=["study", "signature_digest"], name="panel_event_signed_once"),
        ]
        indexes = [
            models.Index(fields=["study", "subject"], name="panel_event_subject"),
            models.Index(fields=["received_at"], name="panel_event_unknown", condition=Q(participation=None)),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.status}"
