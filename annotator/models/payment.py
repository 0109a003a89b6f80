"""The ledger: bonuses and payments. The pay for an item is computed from its judgment and snapshot, and not stored."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class LedgerEntry(models.Model):
    """An amount that a person is owed beyond the pay for items (bonus) or has been sent (payment)."""

    class Kind(models.TextChoices):
        BONUS = "bonus", "bonus"
        PAYMENT = "payment", "payment sent"

    study = models.ForeignKey("Study", models.PROTECT, related_name="ledger")
    rater = models.ForeignKey("Rater", models.PROTECT, related_name="ledger")
    kind = models.CharField(max_length=10, choices=Kind)
    amount = models.DecimalField(max_digits=10, decimal_places=4)
    reason = models.TextField()
    reference = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="For payments: a batch or transfer number.",
    )
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints = [
            models.CheckConstraint(name="ledger_amount_positive", condition=Q(amount__gt=0)),
            models.UniqueConstraint(
                fields=["study", "rater", "reference"],
                name="ledger_payment_once_per_reference",
                condition=Q(kind="payment") & ~Q(reference=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount} to {self.rater}"
