"""An item assigned to a rater: the lease, the stages committed so far, the draft."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

#: The ``reason`` of a guest's task that was given back because they reopened an earlier one; they get it again afterwards.
GIVEN_BACK = "an earlier answer was taken back"


class Assignment(models.Model):
    """One item assigned to one rater; a pair of item and rater has at most one.

    ``leased`` holds a place until ``lease_until``. ``submitted`` has a judgment. ``expired`` and ``returned`` have
    released their place; an expired one can still be submitted late while the item has a free place. ``barred`` never
    had one: it keeps a corrected item from people who had an earlier version of it.
    """

    class State(models.TextChoices):
        LEASED = "leased", "in progress"
        SUBMITTED = "submitted", "submitted"
        EXPIRED = "expired", "lease expired"
        RETURNED = "returned", "returned"
        BARRED = "barred", "never offered: the person had an earlier version of the item"

    # No indexes of their own: other indexes begin with these columns, and each one more costs every turn a page or two.
    participation = models.ForeignKey(
        "Participation", models.CASCADE, db_index=False, related_name="assignments"
    )
    item = models.ForeignKey("Item", models.PROTECT, db_index=False, related_name="assignments")
    rater = models.ForeignKey("Rater", models.PROTECT, db_index=False, related_name="assignments")
    #: The item's instance, stored here so that "one condition per instance" takes a single index look-up.
    instance_id_of_item = models.BigIntegerField(null=True, blank=True)
    #: The study as it was when the task was given out: its pay and texts apply to this task. Null: from before this
    #: was kept.
    snapshot = models.ForeignKey("Snapshot", models.PROTECT, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.LEASED)
    stage = models.PositiveSmallIntegerField(
        default=0, help_text="The open stage. Earlier stages can't be changed."
    )
    presentation = models.JSONField(
        default=dict, blank=True, help_text="The order or condition drawn for this rater."
    )
    draft = models.JSONField(default=dict, blank=True)
    draft_version = models.PositiveIntegerField(default=0)
    leased_at = models.DateTimeField()
    lease_until = models.DateTimeField()
    stage_opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    taken_back = models.PositiveSmallIntegerField(default=0, help_text="How often its judgment was undone.")
    extended = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="How often its lease was extended, or renewed after it had expired.",
    )
    reason = models.TextField(blank=True, help_text="Why the rater returned it.")
    #: Assigned to a guest for whom no panel vouches: they can have only one open task at a time over all studies, or
    #: a single visitor could hold a place in each.
    sole = models.BooleanField(default=False, db_default=False, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "rater"], name="assignment_never_twice"),
            models.UniqueConstraint(
                fields=["rater"], name="assignment_one_of_a_guest", condition=Q(state="leased", sole=True)
            ),
        ]
        indexes = [
            models.Index(fields=["participation", "state"], name="assignment_by_participation"),
            models.Index(fields=["lease_until"], name="assignment_leases", condition=Q(state="leased")),
            models.Index(fields=["rater", "instance_id_of_item"], name="assignment_by_instance"),
        ]

    def __str__(self) -> str:
        return f"{self.item} for {self.rater}"


class StageCommit(models.Model):
    """A stage that is answered and cannot be changed; the last stage's answer is the judgment itself."""

    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="commits")
    stage = models.PositiveSmallIntegerField()
    response = models.JSONField()
    seconds = models.FloatField()
    #: What the browser measured on this stage's page; see ``annotator.core.behaviour``.
    signals = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()), blank=True)
    committed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["assignment", "stage"]
        constraints = [models.UniqueConstraint(fields=["assignment", "stage"], name="stage_committed_once")]

    def __str__(self) -> str:
        return f"{self.assignment}, stage {self.stage}"
