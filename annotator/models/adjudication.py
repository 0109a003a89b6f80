"""Labels that settle what raters disagree on."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

#: Two people label an item without seeing each other's labels; a third settles what they disagree on.
FIRST_ROUND = 2
MOST_ADJUDICATORS = 3


class Adjudication(models.Model):
    """One person's labels of a contested item. Never changed; ``undone_at`` says that its author took it back.

    ``seat`` is 1 or 2 in the first round, whose two adjudicators don't see each other's labels, and 3 for the person who settles a
    tie between them. ``adjudicator`` is the author's number within the study, from 1: their pseudonym in reports, exports and releases.
    """

    study = models.ForeignKey("Study", models.CASCADE, related_name="adjudications")
    item = models.ForeignKey("Item", models.CASCADE, related_name="adjudications")
    #: Null: the row is from an imported release.
    by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    adjudicator = models.PositiveSmallIntegerField()
    seat = models.PositiveSmallIntegerField()
    response = models.JSONField()
    #: SHA-256 of the labels that the response gives: two adjudicators agree if and only if these are equal.
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                name="adjudication_seat_of_three",
                condition=Q(seat__gte=1, seat__lte=MOST_ADJUDICATORS),
            ),
            models.CheckConstraint(name="adjudication_adjudicator_from_one", condition=Q(adjudicator__gte=1)),
            models.UniqueConstraint(
                fields=["item", "seat"],
                condition=Q(undone_at__isnull=True),
                name="adjudication_seat_once",
            ),
            models.UniqueConstraint(
                fields=["item", "adjudicator"],
                condition=Q(undone_at__isnull=True),
                name="adjudication_person_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item} by adjudicator {self.adjudicator}"

    @property
    def round(self) -> int:
        """1 for the two who work independently, 2 for the person who settles a tie."""
        return 1 if self.seat <= FIRST_ROUND else 2
