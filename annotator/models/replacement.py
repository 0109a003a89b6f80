"""Places that were opened because a judgment was excluded, so that somebody else judges the item."""

from __future__ import annotations

from django.db import models

#: The numbers of an item's k places end here; places that replace others have higher ones.
MOST_RATERS = 100


class Replacement(models.Model):
    """A place that was opened for another person in place of an excluded judgment.

    A judgment is replaced once at most, so an item has at most k places and one more for each of these rows. It stays if
    the exclusion is lifted after the place was taken: both judgments count then.
    """

    place = models.OneToOneField("Place", models.CASCADE, related_name="replacement")
    judgment = models.OneToOneField("Judgment", models.CASCADE, related_name="replacement")
    exclusion = models.ForeignKey("Exclusion", models.CASCADE, related_name="replacements")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.place} instead of judgment {self.judgment_id}"
