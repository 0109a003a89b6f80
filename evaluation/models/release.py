"""Anonymised releases of reports."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from annotator.core.words import listed, plural


class Release(models.Model):
    """An anonymised archive of a report's data. A job builds it; it is then never changed.

    ``findings`` is what the researchers should know before they publish it: the rows of each table (name and number), what was removed from
    texts, how many raters are nearly alone in their attributes, and whether every value of the report was reproduced.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        REVIEW = "review", "texts wait for approval"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    class SmallGroups(models.TextChoices):
        COARSEN = "coarsen", "coarsen them: numbers become bands, rare values “other”"
        DROP = "drop", "leave them out"
        KEEP = "keep", "release them as they are"

    class Timings(models.TextChoices):
        EXACT = "exact", "as measured"
        SECOND = "1", "rounded to 1 second"
        TEN = "10", "rounded to 10 seconds"
        NONE = "none", "not released"

    report = models.ForeignKey("Report", models.CASCADE, related_name="releases")
    title = models.CharField(max_length=200, blank=True)
    description = models.TextField(
        blank=True, help_text="What the data are and who collected them, for the data card. Markdown."
    )
    licence = models.CharField(max_length=200, blank=True, help_text="For example CC BY 4.0.")
    citation = models.TextField(blank=True, help_text="How to cite the data.")
    authors = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="One a line: family name, given names; ORCID; affiliation. An institution has no comma.",
    )
    attributes = models.JSONField(
        default=list, blank=True, help_text="The attributes of raters that are released."
    )
    free_text = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Release answers in words and reasons of exclusions, each after approval.",
    )
    #: What happens to attributes and combinations of them that fewer raters than ``smallest_group`` share.
    small_groups = models.CharField(
        max_length=7, choices=SmallGroups, default=SmallGroups.COARSEN, db_default=SmallGroups.COARSEN
    )
    smallest_group = models.PositiveSmallIntegerField(
        default=5, db_default=5, validators=[MinValueValidator(2), MaxValueValidator(1000)]
    )
    #: How exact the seconds are that answers took.
    timings = models.CharField(max_length=5, choices=Timings, default=Timings.EXACT, db_default=Timings.EXACT)
    #: The secret that the pseudonyms are made with. Never shown and never part of the archive.
    key = models.CharField(max_length=64, editable=False)
    #: Rater -> the number by which the pseudonyms were made, where it is another since the study was moved.
    raters_before = models.JSONField(
        default=dict, blank=True, editable=False, db_default=models.Value({}, models.JSONField())
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    progress = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    findings = models.JSONField(default=dict, blank=True)
    #: Name in the default storage.
    file = models.CharField(max_length=200, blank=True)
    bytes = models.PositiveBigIntegerField(null=True, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(name="release_done_has_file", condition=~Q(state="done") | ~Q(file="")),
            models.CheckConstraint(
                name="release_failed_says_why", condition=~Q(state="failed") | ~Q(error="")
            ),
        ]

    def __str__(self) -> str:
        return self.title or f"Release {self.pk} of report {self.report_id}"

    @property
    def comparison(self) -> str:
        """Whether the values computed from the released data are those of the report."""
        values, differing = self.findings.get("values", 0), self.findings.get("differing", 0)
        if differing:
            return f"{differing:,} of the report's {plural(values, 'value')} differ when they are computed from the released data."
        return f"All {plural(values, 'value')} of the report are the same when they are computed from the released data."

    @property
    def notices(self) -> list[str]:
        """What to think about before publishing."""
        found = []
        alone = self.findings.get("alone", 0)
        if alone:
            found.append(
                f"{plural(alone, 'rater has', 'raters have')} a combination of attributes that fewer than five raters share. Someone who "
                "knows them could recognise them by it. Consider releasing fewer attributes."
            )
        for one in self.findings.get("coarsened", []):
            found.append(
                f"{one['name']}: coarser for {plural(one['coarsened'], 'rater')} and left out for {plural(one['removed'], 'rater')} of "
                f"{one['raters']:,}, because too few share it; {one['before']:,} different values became {one['after']:,}. Groups by it "
                "differ from your report."
            )
        times = self.findings.get("times", 0)
        if times:
            found.append(
                f"The times of {plural(times, 'judgment')} are {self.get_timings_display()}. Figures about time differ from your report."
            )
        removed = self.findings.get("removed", {})
        if removed:
            kinds = listed([f"{kind} ({number:,})" for kind, number in removed.items()])
            found.append(f"Removed from free text: {kinds}. Read the texts before you publish them.")
        return found


class ReleaseText(models.Model):
    """A free text that a release would contain, after screening, and the decision on it. The archive is made once all have one."""

    class Decision(models.TextChoices):
        PENDING = "pending", "not decided"
        APPROVED = "approved", "approved"
        REMOVED = "removed", "removed"

    release = models.ForeignKey(Release, models.CASCADE, related_name="texts")
    place = models.CharField(max_length=200, help_text="Where it is, such as “answers: comment”.")
    text = models.TextField()
    #: SHA-256 of the text.
    digest = models.CharField(max_length=64)
    uses = models.PositiveIntegerField(help_text="How often it occurs.")
    decision = models.CharField(max_length=8, choices=Decision, default=Decision.PENDING)
    decided_by = models.ForeignKey("annotator.User", models.SET_NULL, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["place", "id"]
        constraints = [
            models.UniqueConstraint(fields=["release", "place", "digest"], name="release_text_once")
        ]

    def __str__(self) -> str:
        return f"{self.place}: {self.text[:60]}"
