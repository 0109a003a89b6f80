"""Users, who log in, and raters, who make judgments: people and simulators."""

from __future__ import annotations

import re

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _


class User(AbstractUser):
    """A user account. Researchers are staff; everybody else is an annotator, with or without a password."""

    #: Made by the demo, with a password that `make run` prints. Production refuses to log such an account in.
    demo = models.BooleanField(default=False, db_default=False, editable=False)

    #: The language that the person chose for their pages and emails; empty if they chose none.
    language = models.CharField(max_length=10, blank=True, default="", db_default="", editable=False)

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="user_name_unique_without_case",
                violation_error_message=_("A user with that username already exists."),
            )
        ]

    def __str__(self) -> str:
        return self.username


#: The name of raters whom an imported file doesn't name, followed by their number within the item.
UNNAMED = "unnamed"


class Rater(models.Model):
    """A person or a simulator that makes judgments; both have the same form. A person has a user account, or an outside
    identity if their judgments were imported. A simulator is one model with one prompt and one set of parameters, named
    so that its judgments can be distinguished from any other's.
    """

    class Kind(models.TextChoices):
        HUMAN = "human", "person"
        SIMULATOR = "simulator", "simulator"

    kind = models.CharField(max_length=10, choices=Kind)
    user = models.OneToOneField("annotator.User", models.PROTECT, null=True, blank=True, related_name="rater")
    #: Where the name comes from: "login", a recruiter, "import:<study>", or "simulator".
    source = models.CharField(max_length=100, default="login")
    name = models.CharField(
        max_length=200, help_text="Shown to the study's researchers. Releases use a pseudonym instead."
    )
    #: A synthetic annotator that rehearses a study. Statistics about people leave it out.
    rehearsal = models.BooleanField(default=False)
    #: Attributes of the rater from an imported file (name -> text); reports can group and filter by them.
    attributes = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()), blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "source", "name"], name="rater_name_unique_in_source"),
            models.CheckConstraint(
                name="rater_simulator_has_no_login",
                condition=Q(kind="human") | Q(user__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_numbered(self) -> bool:
        """Whether the name is a number within each item, because the imported file named no raters: not one person."""
        return self.source.startswith("import:") and bool(re.fullmatch(rf"{UNNAMED} \d+", self.name))


class LoginAttempt(models.Model):
    """One attempt to log in, or one request for a link that sets a password: counted for the login throttle.

    Kept for a day at most. User names and network addresses are stored only as keyed digests.
    """

    class Kind(models.TextChoices):
        LOGIN = "login", "login"
        RESET = "reset", "request for a reset link"
        MAIL = "mail", "reset link sent"
        JOIN = "join", "new account"

    kind = models.CharField(max_length=8, choices=Kind)
    account = models.CharField(max_length=64)
    address = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["account", "at"], name="attempt_by_account"),
            models.Index(fields=["address", "at"], name="attempt_by_address"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.at:%Y-%m-%d %H:%M}"
