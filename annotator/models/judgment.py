"""Judgments (raters' responses) and exclusions (what doesn't count, and why)."""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q


class Judgment(models.Model):
    """The complete response of one rater to one item. Never changed; to leave it out of statistics, add an
    ``Exclusion``. ``standing`` is ``counted`` if it holds one of the item's k places (or needs none: simulators,
    imports), and ``surplus`` if it came after its lease had ended and the item was full: kept, marked, left out of
    statistics.
    """

    class Standing(models.TextChoices):
        COUNTED = "counted", "counted"
        SURPLUS = "surplus", "surplus (submitted late, when the item was full)"

    class Source(models.TextChoices):
        WEB = "web", "in the browser"
        IMPORT = "import", "imported"
        SIMULATOR = "simulator", "simulator"
        REHEARSAL = "rehearsal", "rehearsal"

    # No indexes of their own: ``judgment_by_rater`` and ``judgment_once`` begin with these columns.
    study = models.ForeignKey("Study", models.CASCADE, db_index=False, related_name="judgments")
    item = models.ForeignKey("Item", models.PROTECT, db_index=False, related_name="judgments")
    rater = models.ForeignKey("Rater", models.PROTECT, related_name="judgments")
    snapshot = models.ForeignKey("Snapshot", models.PROTECT, null=True, blank=True, related_name="judgments")
    #: The version whose instructions the rater had confirmed by then: ``snapshot`` unless they went on without reading
    #: a change. Null: simulators, imports, and judgments from before this was kept.
    instructions_seen = models.ForeignKey(
        "Snapshot", models.PROTECT, null=True, blank=True, db_index=False, related_name="+"
    )
    assignment = models.OneToOneField(
        "Assignment", models.PROTECT, null=True, blank=True, related_name="judgment"
    )
    place = models.OneToOneField("Place", models.PROTECT, null=True, blank=True, related_name="judgment")
    response = models.JSONField()
    #: SHA-256 of the parsed response, without how sure the rater is: two answers are the same if and only if their digests are
    #: equal.
    digest = models.CharField(max_length=64)
    #: The language of the page on which it was made; empty: not made on a page, or before this was kept.
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    standing = models.CharField(max_length=10, choices=Standing, default=Standing.COUNTED)
    source = models.CharField(max_length=10, choices=Source, default=Source.WEB)
    seconds = models.FloatField(
        null=True,
        blank=True,
        help_text="Seconds from when the item was shown to when the answer was submitted.",
    )
    #: ``stages``: seconds on each stage, by the server's clock. The rest was measured by the browser: see
    #: ``annotator.core.behaviour``; ``pages`` has it stage by stage where there are several. Simulators keep their run here.
    signals = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["item", "rater"], name="judgment_once"),
            models.CheckConstraint(
                name="judgment_in_browser_counts_only_with_a_place",
                condition=~Q(source__in=["web", "rehearsal"], standing="counted") | Q(place__isnull=False),
            ),
            models.CheckConstraint(
                name="judgment_in_browser_has_snapshot",
                condition=~Q(source__in=["web", "rehearsal"]) | Q(snapshot__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["study", "rater"], name="judgment_by_rater"),
            # A list's next page, an export in order, and a study's latest judgment: without it, Postgres walks through the
            # primary key, past every judgment of the other studies.
            models.Index(fields=["study", "id"], name="judgment_by_study"),
            # What lists look for and few judgments have. Those that people submit in time aren't in them, so a turn doesn't pay for them.
            models.Index(
                fields=["study", "source", "id"], name="judgment_not_in_browser", condition=~Q(source="web")
            ),
            models.Index(fields=["study", "id"], name="judgment_surplus", condition=Q(standing="surplus")),
            # Deleting a study's versions looks for each in all judgments. This index has the versions of every 128 pages, which change
            # once in thousands of turns.
            BrinIndex(
                fields=["instructions_seen"],
                name="judgment_by_version_seen",
                opclasses=["int8_minmax_multi_ops"],
                autosummarize=True,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item} by {self.rater}"


class Exclusion(models.Model):
    """A rater, an item or one judgment that is left out of a study's statistics, with the reason.

    Reversible: lifting it keeps the row. Every metric can be shown with and without exclusions.
    """

    study = models.ForeignKey("Study", models.CASCADE, related_name="exclusions")
    rater = models.ForeignKey("Rater", models.CASCADE, null=True, blank=True, related_name="exclusions")
    item = models.ForeignKey("Item", models.CASCADE, null=True, blank=True, related_name="exclusions")
    judgment = models.ForeignKey(Judgment, models.CASCADE, null=True, blank=True, related_name="exclusions")
    reason = models.TextField()
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    lifted_at = models.DateTimeField(null=True, blank=True)
    collect_again = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Ask other people in place of the excluded judgments: each item that has fewer raters than the study asks"
        " for gets another place.",
    )

    class Meta:
        indexes = [
            models.Index(
                fields=["study"],
                name="exclusion_collecting_again",
                condition=Q(collect_again=True, lifted_at__isnull=True),
            )
        ]
        constraints = [
            models.CheckConstraint(
                name="exclusion_collects_no_item_again",
                condition=Q(collect_again=False) | Q(item__isnull=True),
            ),
            models.CheckConstraint(
                name="exclusion_of_exactly_one_thing",
                condition=Q(rater__isnull=False, item__isnull=True, judgment__isnull=True)
                | Q(rater__isnull=True, item__isnull=False, judgment__isnull=True)
                | Q(rater__isnull=True, item__isnull=True, judgment__isnull=False),
            ),
            models.CheckConstraint(name="exclusion_has_reason", condition=~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"{self.rater or self.item or self.judgment}: {self.reason}"


class Review(models.Model):
    """A researcher's review of a judgment as paid work. Whether it counts in statistics depends on ``Exclusion``
    instead."""

    class Verdict(models.TextChoices):
        ACCEPTED = "accepted", "accepted"

    judgment = models.OneToOneField(Judgment, models.CASCADE, related_name="review")
    verdict = models.CharField(max_length=10, choices=Verdict, default=Verdict.ACCEPTED)
    by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.judgment}: {self.verdict}"
