"""People who asked to be told when a full study has places again."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class PlaceAlert(models.Model):
    """A person's request to be told when a study has places: on their own page, and by email if they gave an address.

    The address belongs to this request only. It is removed once the email is sent.
    """

    study = models.ForeignKey("Study", models.CASCADE, related_name="place_alerts")
    rater = models.ForeignKey("Rater", models.CASCADE, related_name="place_alerts")
    email = models.EmailField(blank=True, default="", db_default="")
    #: The study's URL for this person, with the host name that their browser used.
    url = models.CharField(max_length=500)
    #: The language of the page on which the person asked: the email is in it.
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    asked_at = models.DateTimeField(auto_now_add=True)
    told_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "rater"], name="place_alert_once"),
            models.CheckConstraint(name="place_alert_forgets_email", condition=Q(told_at=None) | Q(email="")),
        ]
        indexes = [models.Index(fields=["asked_at"], name="place_alert_open", condition=Q(told_at=None))]

    def __str__(self) -> str:
        return f"{self.study.slug}: asked on {self.asked_at:%Y-%m-%d}"
