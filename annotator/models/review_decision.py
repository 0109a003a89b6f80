"""Decisions of the review desk about a participant's submission. ``Review`` says what was accepted as paid work."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class ReviewDecision(models.Model):
    """What a researcher has decided about one participation: accept it, ask to return it, reject it, or not pay it.

    A decision is held until ``due_at`` and can be undone meanwhile. Then it's carried out: the panel is told (``at_panel``),
    and work is accepted here. At most one is in force for a participation; earlier ones stay.
    """

    class Kind(models.TextChoices):
        ACCEPT = "accept", "accepted"
        ASK_RETURN = "return", "asked to return"
        REJECT = "reject", "rejected"
        NOT_PAID = "unpaid", "not paid"

    study = models.ForeignKey("Study", models.CASCADE, related_name="review_decisions")
    participation = models.ForeignKey("Participation", models.CASCADE, related_name="review_decisions")
    kind = models.CharField(max_length=10, choices=Kind)
    #: Decisions that were made by one press share it, and are undone together.
    batch = models.UUIDField()
    at_panel = models.BooleanField(default=False)
    bonus = models.DecimalField(max_digits=10, decimal_places=4, null=True, blank=True)
    #: The reason of the bonus, of the return or of the rejection, as the participant reads it.
    text = models.TextField(blank=True, default="")
    #: The panel's reason of a rejection.
    category = models.CharField(max_length=40, blank=True, default="")
    #: Of work that isn't paid: the condition of the study's terms that it meets, as they have it.
    term = models.TextField(blank=True, default="", db_default="")
    by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    #: When it's carried out, or tried again. Null: the panel has refused it, so a person has to look at ``fault``.
    due_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    fault = models.CharField(max_length=800, blank=True, default="")
    #: False once it was undone, or once another decision has followed it.
    in_force = models.BooleanField(default=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["participation"], name="review_decision_one_in_force", condition=Q(in_force=True)
            ),
            models.CheckConstraint(
                name="review_decision_bonus_of_accepted",
                condition=Q(bonus__isnull=True) | Q(kind="accept", bonus__gt=0) & ~Q(text=""),
            ),
            models.CheckConstraint(
                name="review_decision_has_reason",
                condition=Q(kind="accept") | Q(kind="return") & ~Q(text="") | Q(kind="reject") & ~Q(text="") & ~Q(category="")
                | Q(kind="unpaid", at_panel=False) & ~Q(text="") & ~Q(term=""),
            ),
            models.CheckConstraint(
                name="review_decision_undone_not_in_force",
                condition=Q(undone_at__isnull=True) | Q(in_force=False),
            ),
        ]  # fmt: skip
        indexes = [
            models.Index(
                fields=["due_at"], name="review_decision_due", condition=Q(in_force=True, done_at__isnull=True)
            )
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.participation}: {self.kind}"

    @property
    def held(self) -> bool:
        """Whether it can still be undone without telling anyone."""
        return self.in_force and self.started_at is None and self.done_at is None


class UnpaidWork(models.Model):
    """A judgment that isn't paid, because of a decision that was carried out. Undoing the decision removes it."""

    judgment = models.OneToOneField("Judgment", models.CASCADE, related_name="unpaid")
    decision = models.ForeignKey(ReviewDecision, models.CASCADE, related_name="unpaid_work")

    class Meta:
        verbose_name_plural = "unpaid work"

    def __str__(self) -> str:
        return f"{self.judgment}: not paid"
