"""Messages between annotators and researchers of a study: flags on items, questions, answers."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Message(models.Model):
    """A flag on an item, a question to the researcher, or a researcher's answer, in one thread per person."""

    class Kind(models.TextChoices):
        FLAG = "flag", "problem with an item"
        QUESTION = "question", "question"
        REPLY = "reply", "from the researcher"
        DELETION = "deletion", "deletion request"

    study = models.ForeignKey("Study", models.CASCADE, related_name="messages")
    rater = models.ForeignKey("Rater", models.CASCADE, related_name="messages")
    item = models.ForeignKey("Item", models.SET_NULL, null=True, blank=True, related_name="messages")
    kind = models.CharField(max_length=10, choices=Kind)
    text = models.TextField()
    author = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    #: When the participant opened their page after a reply, or marked it as read. Until then, task pages announce it.
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["created_at"]
        constraints = [models.CheckConstraint(name="message_not_empty", condition=~Q(text=""))]
        indexes = [
            models.Index(
                fields=["rater"], name="message_reply_unread", condition=Q(kind="reply", read_at__isnull=True)
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.text[:60]}"
