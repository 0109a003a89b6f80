"""Items and their places: what is assigned, and to how many raters."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Item(models.Model):
    """One task of a study: a payload that its HIT type shows and asks about."""

    class Role(models.TextChoices):
        ORDINARY = "ordinary", "ordinary"
        GOLD = "gold", "gold (has a known answer)"
        ATTENTION = "attention", "attention check"

    study = models.ForeignKey("Study", models.CASCADE, related_name="items")
    key = models.CharField(
        max_length=200, help_text="The researcher's name for the item, unique in the study."
    )
    payload = models.JSONField(help_text="Everything that any stage can show.")
    gold = models.JSONField(
        null=True, blank=True, help_text="The correct response. It is never sent to annotators."
    )
    role = models.CharField(max_length=10, choices=Role, default=Role.ORDINARY)
    condition = models.CharField(max_length=100, blank=True)
    instance = models.ForeignKey("Instance", models.PROTECT, null=True, blank=True, related_name="items")
    explanation = models.ForeignKey(
        "Explanation", models.PROTECT, null=True, blank=True, related_name="items"
    )
    follow_up = models.ForeignKey("FollowUp", models.PROTECT, null=True, blank=True, related_name="items")
    #: Unit suffix -> explanation id, for types that show several explanations (plausibility).
    parts = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    #: The researcher's own columns (name -> text), by which reports can group and filter.
    attributes = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()), blank=True)
    # These columns have a default in the database, so that code of the previous version can still write rows.
    version = models.PositiveSmallIntegerField(
        default=1, db_default=1, help_text="A corrected item is a new version that replaces the previous one."
    )
    replaces = models.OneToOneField(
        "self", models.PROTECT, null=True, blank=True, related_name="replaced_by", editable=False
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True, editable=False)
    withdrawn_by = models.ForeignKey(
        "annotator.User", models.PROTECT, null=True, blank=True, related_name="+", editable=False
    )
    withdrawn_reason = models.TextField(blank=True, default="", db_default="", editable=False)

    class Meta:
        ordering = ["study", "id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="item_key_unique"),
            models.CheckConstraint(
                name="item_withdrawn_has_reason",
                condition=Q(withdrawn_at__isnull=True) | ~Q(withdrawn_reason=""),
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Place(models.Model):
    """One of an item's k places. Free while no assignment holds it.

    An item has exactly k places, and a judgment counts only if it holds one, so no item can have more than k counted
    raters, whatever the code does. ``position`` is the item's place in the study's seeded order; every annotator walks
    that order from where they last were, which fills the items nearest to completion first and never scans what has
    already been passed.

    A rehearsal has places of its own (``rehearsal``), so it never takes one that a participant could have.
    """

    study = models.ForeignKey("Study", models.CASCADE, related_name="places")
    #: Without an index of its own, because ``place_number_unique_in_layer`` begins with it.
    item = models.ForeignKey(Item, models.CASCADE, db_index=False, related_name="places")
    number = models.PositiveSmallIntegerField()
    position = models.PositiveIntegerField()
    assignment = models.OneToOneField(
        "Assignment", models.SET_NULL, null=True, blank=True, related_name="place"
    )
    #: Held once and given back: offered first, whatever the annotator's position in the order.
    freed = models.BooleanField(default=False)
    rehearsal = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "number", "rehearsal"], name="place_number_unique_in_layer"
            ),
            models.CheckConstraint(name="place_number_from_one", condition=Q(number__gte=1)),
        ]
        indexes = [
            models.Index(
                fields=["study", "rehearsal", "position", "number"],
                name="place_open_in_layer",
                condition=Q(assignment__isnull=True),
            ),
            models.Index(
                fields=["study", "rehearsal", "position", "number"],
                name="place_freed_in_layer",
                condition=Q(assignment__isnull=True, freed=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item} #{self.number}"
