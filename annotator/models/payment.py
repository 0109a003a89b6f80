"""The ledger, and batches of payments that are sent through a panel's API.

The pay for items and the exam is computed from judgments, their versions and exam attempts, and isn't stored again;
``selectors.ledger`` lists it with the entries. Triggers of the database keep the balances: entries are only added or undone, never changed
(an erasure may replace the person and the words), and nobody's payments exceed what they have earned.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class LedgerEntry(models.Model):
    """An amount that a person is owed beyond the pay for items and the exam, or that they have been sent (payment)."""

    class Kind(models.TextChoices):
        BONUS = "bonus", "bonus"
        SCREEN_OUT = "screen_out", "screen-out"
        TOP_UP = "top_up", "top-up"
        REWARD = "reward", "rest of the panel's reward"
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
    #: An entry that was undone stays, and counts for nothing.
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints = [
            models.CheckConstraint(name="ledger_amount_positive", condition=Q(amount__gt=0)),
            models.UniqueConstraint(
                fields=["study", "rater", "reference"],
                name="ledger_payment_once_per_reference",
                condition=Q(kind="payment", undone_at__isnull=True) & ~Q(reference=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount} to {self.rater}"


class PayBatch(models.Model):
    """Approvals and bonuses that are sent to a panel together. ``key`` makes it one batch however often it's asked for, and
    ``digest`` says what was asked for. The payments are in the ledger from the beginning, so that nobody else pays them.
    """

    study = models.ForeignKey("Study", models.CASCADE, related_name="pay_batches")
    panel = models.CharField(max_length=40)
    key = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    currency = models.CharField(max_length=3)
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    #: What went wrong at the last attempt; empty if nothing did.
    fault = models.CharField(max_length=800, blank=True, default="", db_default="")
    #: When the sweep continues it; None if only a researcher does, because trying again would change nothing.
    retry_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "pay batches"
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="pay_batch_once_per_key"),
            models.UniqueConstraint(
                fields=["study"], name="pay_batch_one_open", condition=Q(finished_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.panel} {self.pk}"


class PayPart(models.Model):
    """What one request of a batch sends: approvals, or bonuses, of one of the panel's studies.

    A bonus is first set up at the panel (``set_up``: its id there), which pays nothing. ``sending`` is stored before the request that
    pays: whoever finds it later doesn't know whether it was carried out, and never sends it again by itself.
    """

    class Kind(models.TextChoices):
        APPROVE = "approve", "approvals"
        SCREEN_OUT = "screen_out", "screen-outs"
        BONUS = "bonus", "bonuses"

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        SET_UP = "set_up", "set up"
        SENDING = "sending", "sending"
        SENT = "sent", "sent"
        CANCELLED = "cancelled", "cancelled"

    batch = models.ForeignKey(PayBatch, models.CASCADE, related_name="parts")
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    remote_study = models.CharField(max_length=100)
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    remote_id = models.CharField(max_length=100, blank=True, default="")
    #: What the panel charges in all, with its fees; None until it has said so.
    cost = models.DecimalField(max_digits=14, decimal_places=2, null=True, blank=True)
    #: How many bonuses of the same amount the first person had before, which tells whether the part was paid.
    seen_before = models.PositiveSmallIntegerField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "number"], name="pay_part_number_unique"),
            models.CheckConstraint(
                name="pay_part_state",
                condition=Q(state__in=["waiting", "set_up", "sending", "sent", "cancelled"]),
            ),
            models.CheckConstraint(
                name="pay_part_sending_has_id",
                condition=~Q(state="sending") | (~Q(remote_id="") & Q(sent_at__isnull=False)),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.batch}, part {self.number}"


class PayLine(models.Model):
    """One person's payment in a part: the entry of the ledger. The person's ids are those of their participation."""

    part = models.ForeignKey(PayPart, models.CASCADE, related_name="lines")
    entry = models.OneToOneField(LedgerEntry, models.CASCADE, related_name="pay_line")

    def __str__(self) -> str:
        return f"{self.entry} in {self.part}"
