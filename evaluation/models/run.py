"""Runs of model calls, their calls, and their batches."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import F, Q

from annotator.core.ranges import InRange
from evaluation.models.endpoint import Endpoint


class Run(models.Model):
    """One job of model calls: what is asked of which endpoint, its progress, and its budgets."""

    #: The option of a run that tries a prompt on a few items: how many.
    TRIAL = "trial"
    #: The option of a simulator's run whose judgments get a rater for each fingerprint that the server returns.
    BY_FINGERPRINT = "by_fingerprint"

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        PAUSED = "paused", "paused"
        CANCELLED = "cancelled", "cancelled"
        DONE = "done", "done"
        INCOMPLETE = "incomplete", "finished with failed calls"
        FAILED = "failed", "failed"

    #: States in which a run continues without anybody's help.
    LIVE = (State.QUEUED, State.RUNNING)

    class Mode(models.TextChoices):
        LIVE = "live", "one request per call"
        BATCH = "batch", "the endpoint's batch API"

    kind = models.CharField(max_length=40, help_text="The step, e.g. 'simulate'.")
    study = models.ForeignKey("annotator.Study", models.CASCADE, null=True, blank=True, related_name="runs")
    dataset = models.ForeignKey("annotator.Dataset", models.CASCADE, null=True, blank=True, related_name="+")
    pipeline = models.ForeignKey("Pipeline", models.SET_NULL, null=True, blank=True, related_name="runs")
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, related_name="runs")
    model = models.CharField(max_length=200)
    parameters = models.JSONField(default=dict, blank=True, help_text="Sent with every call.")
    options = models.JSONField(default=dict, blank=True, help_text="The step's own choices.")
    prompt = models.TextField(help_text="The prompt as it was when the run was made.")
    prompt_digest = models.CharField(max_length=64)
    samples = models.PositiveSmallIntegerField(default=1, validators=[InRange(1, 100)])
    together = models.PositiveSmallIntegerField(
        default=1, validators=[InRange(1, 50)], help_text="The number of items in one request."
    )
    mode = models.CharField(max_length=5, choices=Mode, default=Mode.LIVE)
    workers = models.PositiveSmallIntegerField(
        default=1,
        validators=[InRange(1, 32)],
        help_text="The number of worker processes that can share the run.",
    )
    use_cache = models.BooleanField(
        default=True,
        help_text="Send identical requests only once, and reuse replies to those of earlier runs.",
    )
    max_attempts = models.PositiveSmallIntegerField(default=6, validators=[InRange(1, 100)])
    max_unparsable = models.PositiveSmallIntegerField(
        default=3,
        validators=[InRange(1, 100)],
        help_text="The number of unreadable replies to a call before it counts as failed.",
    )
    max_failed_share = models.FloatField(
        default=0.5,
        db_default=0.5,
        validators=[InRange(0, 1)],
        help_text="The run pauses if a larger share of its calls fails. From 0 to 1.",
    )
    rater = models.ForeignKey("annotator.Rater", models.PROTECT, null=True, blank=True, related_name="runs")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    reason = models.TextField(blank=True, help_text="Why the run is paused or has failed.")
    budget_calls = models.PositiveIntegerField(null=True, blank=True, validators=[InRange(0, 2**31 - 1)])
    budget_cost = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, validators=[InRange(0, 999_999)]
    )
    #: Reserved by calls in flight, and spent by finished calls; both are updated in the call's own transaction.
    reserved_cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    spent_cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    #: The most that requests without a reply can have cost: timed out, cut off, or lost with their worker.
    lost_cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    #: What the endpoint charged beyond the reserved cost; the run pauses as soon as that happens, with or without a budget.
    overrun_cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    sent_calls = models.PositiveIntegerField(default=0, help_text="Requests sent, including retries.")
    lost_calls = models.PositiveIntegerField(
        default=0, help_text="Calls that were retried because their worker died."
    )
    created_by = models.ForeignKey("annotator.User", models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    resumed_at = models.DateTimeField(
        null=True, blank=True, help_text="The last start. Failures before it don't pause the run."
    )
    finished_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    woken_at = models.DateTimeField(null=True, blank=True, editable=False)
    endpoint_settings = models.JSONField(
        default=dict,
        editable=False,
        db_default=models.Value({}, models.JSONField()),
        help_text="The settings of the endpoint that change answers, when the run was created.",
    )
    allowances = models.JSONField(
        default=dict,
        editable=False,
        db_default=models.Value({}, models.JSONField()),
        help_text="Slice number -> the most requests that its worker may have in flight.",
    )
    latest_attempts = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="What became of the latest attempts since the last start, one letter each; see evaluation.runs.canary.",
    )
    hidden_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When a trial was hidden from the page of its study's prompt.",
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="run_spends_within_budget",
                condition=Q(budget_cost__isnull=True)
                | Q(budget_cost__gte=F("spent_cost") + F("reserved_cost") + F("lost_cost")),
            ),
            models.CheckConstraint(
                name="run_calls_within_budget",
                condition=Q(budget_calls__isnull=True) | Q(budget_calls__gte=F("sent_calls")),
            ),
            models.CheckConstraint(
                name="run_amounts_not_negative",
                condition=Q(reserved_cost__gte=0, spent_cost__gte=0, lost_cost__gte=0, overrun_cost__gte=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} #{self.pk} ({self.model})"

    @property
    def is_trial(self) -> bool:
        """Whether the run only tries a prompt: its answers become no judgments, and no report counts its calls."""
        return self.TRIAL in self.options

    @property
    def workspace_id(self) -> int | None:
        """The workspace of the run's study, or of its dataset if it has no study."""
        owner = self.study or self.dataset
        return owner.workspace_id if owner else None


class Call(models.Model):
    """One question to a model within a run, and its answer."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        IN_FLIGHT = "in_flight", "in flight"
        DONE = "done", "done"
        UNPARSABLE = "unparsable", "reply could not be parsed"
        FAILED = "failed", "failed"

    run = models.ForeignKey(Run, models.CASCADE, related_name="calls")
    item = models.ForeignKey("annotator.Item", models.PROTECT, null=True, blank=True, related_name="calls")
    #: The subject of the call (an item's key, an explanation's id), unique in its run together with the sample.
    key = models.CharField(max_length=250)
    subject = models.BigIntegerField(
        null=True, blank=True, help_text="Primary key of the row that the step asks about."
    )
    sample = models.PositiveSmallIntegerField(default=0)
    stage = models.PositiveSmallIntegerField(default=0)
    context = models.JSONField(default=dict, blank=True, help_text="The results of earlier stages.")
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    unparsable = models.PositiveSmallIntegerField(default=0, help_text="Unreadable replies so far.")
    lost = models.PositiveSmallIntegerField(default=0, help_text="How often its worker died during the call.")
    excused = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="The number of attempts that failed because the endpoint was unavailable.",
    )
    errors = models.JSONField(
        default=list, blank=True, help_text="The kinds of failure of its attempts, in order."
    )
    history = models.JSONField(
        default=list,
        blank=True,
        db_default=models.Value([], models.JSONField()),
        help_text="Replies to earlier attempts, with what was sent and what was wrong with each, in order.",
    )
    not_before = models.DateTimeField(null=True, blank=True, help_text="When the call can be retried.")
    claimed_by = models.CharField(max_length=100, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    reserved_cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    cache_key = models.CharField(max_length=64, blank=True)
    from_cache = models.BooleanField(default=False)
    request = models.JSONField(
        null=True, blank=True, help_text="The request as it was sent, without the key."
    )
    reply = models.JSONField(null=True, blank=True, help_text="The raw reply as it was received.")
    text = models.TextField(blank=True, help_text="The reply's text.")
    parsed = models.JSONField(null=True, blank=True)
    confidence = models.FloatField(
        null=True,
        blank=True,
        validators=[InRange(0, 1)],
        help_text="The model's probability of the answer that it gave, from 0 to 1, from logprobs.",
    )
    flags = models.JSONField(
        default=list,
        blank=True,
        help_text="For example 'injection': the item contains instructions to the model.",
    )
    applied = models.BooleanField(
        default=False, help_text="The result has been stored with its study or dataset."
    )
    error_kind = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    model_returned = models.CharField(max_length=200, blank=True)
    fingerprint = models.CharField(max_length=200, blank=True)
    tokens_in = models.PositiveIntegerField(null=True, blank=True)
    tokens_cached = models.PositiveIntegerField(
        null=True, blank=True, help_text="Input tokens that the provider had cached."
    )
    tokens_out = models.PositiveIntegerField(null=True, blank=True)
    cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    seconds = models.FloatField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "key", "sample", "stage"], name="call_once"),
            models.CheckConstraint(
                name="call_confidence_is_a_share",
                condition=Q(confidence__isnull=True) | Q(confidence__gte=0, confidence__lte=1),
            ),
            models.CheckConstraint(
                name="call_settled_reserves_nothing",
                condition=Q(state="in_flight") | Q(reserved_cost=0),
            ),
        ]
        indexes = [
            models.Index(fields=["run", "id"], name="call_pending", condition=Q(state="pending")),
            models.Index(fields=["run", "claimed_by"], name="call_in_flight", condition=Q(state="in_flight")),
            models.Index(fields=["run", "state"], name="call_by_state"),
            models.Index(fields=["cache_key"], name="call_cache", condition=Q(state="done")),
            models.Index(fields=["cache_key"], name="call_asking", condition=Q(state="in_flight")),
            models.Index(
                fields=["run", "id"], name="call_to_apply", condition=Q(state="done", applied=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run}: {self.key}"

    @property
    def last(self) -> dict[str, Any] | None:
        """The latest earlier attempt that had a text; see ``evaluation.runs.repair``."""
        return next((one for one in reversed(self.history) if one.get("text")), None)

    @property
    def about(self) -> int:
        """The primary key of the call's subject; for steps whose calls all have one."""
        if self.subject is None:
            raise ValueError(f"call {self.key} asks about no row")
        return self.subject

    @property
    def result(self) -> dict[str, Any]:
        """The parsed reply, for calls that are done."""
        if self.parsed is None:
            raise ValueError(f"call {self.key} has no result")
        return dict(self.parsed)


class Batch(models.Model):
    """One file of requests at an endpoint's batch API."""

    class State(models.TextChoices):
        SENDING = "sending", "being sent"
        WAITING = "waiting", "at the endpoint"
        DONE = "done", "read"
        FAILED = "failed", "failed"

    run = models.ForeignKey(Run, models.CASCADE, related_name="batches")
    #: The file contains the in-flight calls with this ``claimed_by``.
    token = models.CharField(max_length=100, unique=True)
    remote_id = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.SENDING)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    looked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "batches"
        ordering = ["id"]

    def __str__(self) -> str:
        return self.remote_id or self.token
