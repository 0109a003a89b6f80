"""Emails to researchers: what each of them wants to hear about, and what each has been told."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

_KINDS = ("messages", "full", "quality", "pay", "places")


class NoticeChoices(models.Model):
    """What a researcher wants emails about, and how soon. Without a row, they get none."""

    class When(models.TextChoices):
        OFF = "off", "no email"
        DAILY = "daily", "once a day"
        NOW = "now", "at once"

    user = models.OneToOneField(
        "annotator.User", models.CASCADE, primary_key=True, related_name="notice_choices"
    )
    messages = models.CharField("messages of participants", max_length=5, choices=When, default=When.OFF)
    full = models.CharField("a study is full", max_length=5, choices=When, default=When.OFF)
    quality = models.CharField(
        "low agreement, or a run that fails", max_length=5, choices=When, default=When.OFF
    )
    pay = models.CharField("pay below a study's minimum", max_length=5, choices=When, default=When.OFF)
    places = models.CharField("places are running out", max_length=5, choices=When, default=When.OFF)
    #: The address of this installation as the researcher's browser used it, for the links in emails.
    site = models.CharField(max_length=300, editable=False)
    #: Nothing older is reported.
    since = models.DateTimeField(editable=False)
    #: When the last daily email was sent.
    digest_at = models.DateTimeField(null=True, blank=True, editable=False)

    #: The kinds of news, in the order of the form and of emails.
    KINDS = _KINDS

    class Meta:
        constraints = [
            models.CheckConstraint(
                name=f"notice_choices_{kind}_known", condition=Q(**{f"{kind}__in": ["off", "daily", "now"]})
            )
            for kind in _KINDS
        ]

    def __str__(self) -> str:
        return f"emails to {self.user}"

    def when(self, kind: str) -> str:
        """How soon the researcher wants to hear about a kind of news."""
        return str(getattr(self, kind))


class Notice(models.Model):
    """One piece of news about a study for one researcher. It is sent once."""

    user = models.ForeignKey("annotator.User", models.CASCADE, related_name="notices", db_index=False)
    study = models.ForeignKey("Study", models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=10)
    #: What distinguishes it from other news about the study, such as ``message 7``.
    key = models.CharField(max_length=100)
    text = models.CharField(max_length=300)
    #: The page where something can be done about it.
    path = models.CharField(max_length=300)
    created_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "study", "key"], name="notice_once"),
        ]
        indexes = [models.Index(fields=["user"], name="notice_unsent", condition=Q(sent_at=None))]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.text[:60]}"
