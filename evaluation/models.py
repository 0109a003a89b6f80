"""Runs of models and what they answered; stored reports."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q


class Endpoint(models.Model):
    """An OpenAI-compatible service: where it is, how fast it may be asked, what a token costs.

    The key is either named by an environment variable or kept encrypted; it is never shown again.
    """

    name = models.CharField(max_length=100, unique=True)
    base_url = models.URLField(max_length=500)
    model = models.CharField(max_length=200, help_text="Default model.")
    key_variable = models.CharField(
        max_length=100, blank=True, help_text="Environment variable that holds the key."
    )
    key_encrypted = models.BinaryField(blank=True, editable=False, default=b"")
    parameters = models.JSONField(
        default=dict, blank=True, help_text="Sent with every call, e.g. temperature."
    )
    concurrency = models.PositiveSmallIntegerField(default=8, validators=[MinValueValidator(1)])
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True)
    price_in = models.DecimalField(
        max_digits=12, decimal_places=6, default=0, help_text="Per million tokens in."
    )
    price_out = models.DecimalField(
        max_digits=12, decimal_places=6, default=0, help_text="Per million tokens out."
    )
    timeout_seconds = models.FloatField(default=60.0, validators=[MinValueValidator(0.1)])
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="endpoint_prices_not_negative", condition=Q(price_in__gte=0, price_out__gte=0)
            )
        ]

    def __str__(self) -> str:
        return self.name


class Run(models.Model):
    """One job of model calls: what is asked of which endpoint, how far it has come, what it may spend."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        PAUSED = "paused", "paused"
        CANCELLED = "cancelled", "cancelled"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    kind = models.CharField(max_length=40, help_text="The step, e.g. 'simulate'.")
    study = models.ForeignKey("annotator.Study", models.CASCADE, null=True, blank=True, related_name="runs")
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="runs")
    model = models.CharField(max_length=200)
    parameters = models.JSONField(default=dict, blank=True)
    prompt = models.TextField(help_text="The prompt file as it was when the run was made.")
    prompt_digest = models.CharField(max_length=64)
    samples = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1)])
    rater = models.ForeignKey("annotator.Rater", models.PROTECT, null=True, blank=True, related_name="runs")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    reason = models.TextField(blank=True, help_text="Why it is paused or failed.")
    budget_calls = models.PositiveIntegerField(null=True, blank=True)
    budget_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    #: Reserved by calls in flight, and spent by calls that are over; both move in the call's own transaction.
    reserved_cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    spent_cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    sent_calls = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="run_spends_within_budget",
                condition=Q(budget_cost__isnull=True)
                | Q(budget_cost__gte=F("spent_cost") + F("reserved_cost")),
            ),
            models.CheckConstraint(
                name="run_calls_within_budget",
                condition=Q(budget_calls__isnull=True) | Q(budget_calls__gte=F("sent_calls")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} #{self.pk} ({self.model})"


class Call(models.Model):
    """One question to a model within a run, and its answer."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        IN_FLIGHT = "in_flight", "in flight"
        DONE = "done", "done"
        UNPARSABLE = "unparsable", "answered, not parsable"
        FAILED = "failed", "failed"

    run = models.ForeignKey(Run, models.CASCADE, related_name="calls")
    item = models.ForeignKey("annotator.Item", models.PROTECT, null=True, blank=True, related_name="calls")
    #: What the call is about, unique in its run with the sample: an item's key, an explanation's id.
    key = models.CharField(max_length=250)
    sample = models.PositiveSmallIntegerField(default=0)
    stage = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(null=True, blank=True, help_text="When it may be tried again.")
    claimed_by = models.CharField(max_length=100, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    reserved_cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    request = models.JSONField(null=True, blank=True)
    reply = models.JSONField(null=True, blank=True, help_text="The raw reply as received.")
    text = models.TextField(blank=True, help_text="The reply's text.")
    parsed = models.JSONField(null=True, blank=True)
    error_kind = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    model_returned = models.CharField(max_length=200, blank=True)
    fingerprint = models.CharField(max_length=200, blank=True)
    tokens_in = models.PositiveIntegerField(null=True, blank=True)
    tokens_out = models.PositiveIntegerField(null=True, blank=True)
    cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    seconds = models.FloatField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "key", "sample", "stage"], name="call_once"),
        ]
        indexes = [
            models.Index(fields=["run", "id"], name="call_pending", condition=Q(state="pending")),
            models.Index(fields=["run", "state"], name="call_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.run}: {self.key}"


class Report(models.Model):
    """A stored computation over a study: agreement and metrics, with what went in."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    study = models.ForeignKey("annotator.Study", models.CASCADE, related_name="reports")
    choices = models.JSONField(
        default=dict, help_text="Aggregation rule, exclusions, label set, bootstrap, seed."
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    progress = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    inputs_hash = models.CharField(
        max_length=64, blank=True, help_text="SHA-256 of the ratings and choices that went in."
    )
    software = models.CharField(max_length=100, blank=True)
    content = models.JSONField(null=True, blank=True)
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="report_done_has_content",
                condition=~Q(state="done") | Q(content__isnull=False, finished_at__isnull=False),
            ),
            models.CheckConstraint(
                name="report_failed_says_why", condition=~Q(state="failed") | ~Q(error="")
            ),
        ]

    def __str__(self) -> str:
        return f"Report {self.pk} on {self.study}"


class ReportFile(models.Model):
    """Something that a report shows or hands out and that was made with it: a drawn figure, a long table."""

    report = models.ForeignKey(Report, models.CASCADE, related_name="files")
    name = models.CharField(max_length=150, help_text="File name, e.g. p1-table-4-precision.dark.svg.")
    media_type = models.CharField(max_length=60)
    body = models.BinaryField()

    class Meta:
        ordering = ["report", "name"]
        constraints = [models.UniqueConstraint(fields=["report", "name"], name="report_file_once")]

    def __str__(self) -> str:
        return f"{self.name} of report {self.report_id}"
