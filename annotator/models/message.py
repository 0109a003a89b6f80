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
    #: Whether it was also sent through the participant's recruitment panel.
    through_panel = models.BooleanField(default=False, db_default=False)

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


class MessageTemplate(models.Model):
    """A text that a workspace's researchers write to participants again and again."""

    workspace = models.ForeignKey("Workspace", models.CASCADE, related_name="message_templates")
    title = models.CharField(max_length=80)
    text = models.TextField()
    created_by = models.ForeignKey("annotator.User", models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["title"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "title"], name="message_template_once"),
            models.CheckConstraint(name="message_template_not_empty", condition=~Q(text="") & ~Q(title="")),
        ]

    def __str__(self) -> str:
        return self.title
