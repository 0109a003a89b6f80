"""Personal links: who is on a study's list, and the link that lets each of them take part."""

from __future__ import annotations

import secrets

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone


def made_up_id() -> str:
    """An id that says nothing about anybody."""
    return secrets.token_hex(8)


class PersonalLink(models.Model):
    """Somebody on a study's list. ``person`` is their made-up id, the only one that the study's data has; ``link`` is part of their
    current link, so that an earlier one can be told from it."""

    study = models.ForeignKey("Study", models.CASCADE, related_name="personal_links")
    person = models.CharField(max_length=16, default=made_up_id, editable=False)
    link = models.CharField(max_length=16, default=made_up_id, editable=False)
    #: As the list has them; at least one isn't empty.
    name = models.CharField(max_length=200, blank=True, default="")
    email = models.CharField(max_length=254, blank=True, default="")
    own_id = models.CharField(max_length=100, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey("User", models.SET_NULL, null=True, blank=True, related_name="+")
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "person"], name="personal_link_person_once"),
            models.UniqueConstraint(
                "study", Lower("email"), condition=~Q(email=""), name="personal_link_email_once"
            ),
            models.UniqueConstraint(
                fields=["study", "own_id"], condition=~Q(own_id=""), name="personal_link_id_once"
            ),
            models.CheckConstraint(
                condition=~Q(name="", email="", own_id=""), name="personal_link_of_somebody"
            ),
        ]

    def __str__(self) -> str:
        return f"personal link {self.pk}"  # logs and the admin have no names

    @property
    def state(self) -> str:
        """``works``, ``revoked`` or ``expired``."""
        if self.revoked_at is not None:
            return "revoked"
        expired = self.expires_at is not None and self.expires_at < timezone.now()
        return "expired" if expired else "works"
