"""Endpoints: the model services that runs send requests to."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q, Value

from annotator.core.outgoing.hosts import HostRefused, origin_of
from annotator.core.ranges import InRange
from evaluation.providers.registry import DEFAULT, PROVIDERS, provider_choices, titles_with
from evaluation.providers.settings import SettingRefused, certificates_check, headers_check


class Endpoint(models.Model):
    """A model service: its address, protocol, rate limits and prices. The key is either in an environment variable or
    stored encrypted; it is never shown again.
    """

    workspace = models.ForeignKey(
        "annotator.Workspace", models.PROTECT, null=True, blank=True, related_name="endpoints"
    )
    shared_with = models.ManyToManyField(
        "annotator.Workspace",
        blank=True,
        related_name="endpoints_shared",
        help_text="Workspaces whose runs can use this endpoint at its owner's expense. They can't change it.",
    )
    name = models.CharField(max_length=100)
    #: The name of its provider, which may be one that has been removed since.
    protocol = models.CharField(
        max_length=100,
        choices=provider_choices,
        default=DEFAULT,
        db_default=DEFAULT,
        error_messages={"invalid_choice": "The provider “%(value)s” isn't installed here. Choose another."},
    )
    base_url = models.CharField(
        max_length=500,
        help_text="The address up to and including /v1 (Gemini: /v1beta; Azure: the deployment's name).",
    )
    api_version = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="Sent as api-version with each request (Azure). Leave it empty for other services.",
    )
    headers = models.JSONField(
        default=dict,
        blank=True,
        db_default=Value({}, models.JSONField()),
        help_text='Additional headers for each request, e.g. {"X-Project": "explanations"}. Not for keys.',
    )
    ca_certificates = models.TextField(
        "certificate authority",
        blank=True,
        default="",
        db_default="",
        help_text="PEM certificates to trust for this endpoint instead of the system's, e.g. your institute's own.",
    )
    model = models.CharField(max_length=200, help_text="The default model.")
    key_variable = models.CharField(
        max_length=100, blank=True, help_text="The environment variable that holds the key."
    )
    key_encrypted = models.BinaryField(blank=True, editable=False, default=b"")
    parameters = models.JSONField(
        default=dict, blank=True, help_text="Sent with every call, e.g. temperature."
    )
    concurrency = models.PositiveSmallIntegerField(default=8, validators=[InRange(1, 1_000)])
    requests_per_minute = models.PositiveIntegerField(
        null=True, blank=True, validators=[InRange(1, 1_000_000_000)]
    )
    tokens_per_minute = models.PositiveIntegerField(
        null=True, blank=True, validators=[InRange(1, 1_000_000_000)]
    )
    structured = models.BooleanField(
        default=False, help_text="The server can constrain replies to a JSON schema (response_format)."
    )
    images = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The model reads images: simulators send it the images of items. Otherwise it gets their alternative text.",
    )
    thinking_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[InRange(0, 200_000)],
        help_text="For the model's thinking, in addition to the tokens of its reply. Leave it empty for 4,000 with models that are known "
        "to think, and none with others.",
    )
    fold_system = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The model takes no system role: the instructions begin the first question instead.",
    )
    stream = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The server answers in streams only. They are read to their end; nothing else changes.",
    )
    price_in = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        default=0,
        validators=[InRange(0, 100_000)],
        help_text="Per million input tokens.",
    )
    price_cached = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[InRange(0, 100_000)],
        help_text="Per million input tokens that the provider had cached. Leave empty if they cost the same as other input tokens.",
    )
    price_out = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        default=0,
        validators=[InRange(0, 100_000)],
        help_text="Per million output tokens.",
    )
    timeout_seconds = models.FloatField(
        default=60.0,
        validators=[InRange(0.1, 3_600)],
        help_text="The maximum time for one call in total.",
    )
    deployment = models.CharField(
        max_length=100,
        blank=True,
        db_default="",
        help_text="A name for what is served here. Endpoints with the same name count as the same simulator. Without a name, "
        "the address distinguishes them.",
    )
    #: No run sends a request before this time, because the provider asked for a pause or is unavailable.
    hold_until = models.DateTimeField(null=True, blank=True, editable=False)
    #: The time since which no request has succeeded, and the last error; see ``evaluation.runs.health``.
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    failing_calls = models.JSONField(
        default=list, blank=True, editable=False, db_default=Value([], models.JSONField())
    )
    trouble = models.TextField(blank=True, editable=False, db_default="")
    #: Requests that may be in flight after rate limits; None: as many as ``concurrency`` says.
    window = models.FloatField(null=True, blank=True, editable=False)
    #: When the next request, and the next token, would be due at an even rate (a leaky bucket's level).
    requests_due = models.DateTimeField(null=True, blank=True, editable=False)
    tokens_due = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "name"], name="endpoint_name_unique_in_workspace", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="endpoint_prices_not_negative", condition=Q(price_in__gte=0, price_out__gte=0)
            ),
            models.CheckConstraint(name="endpoint_concurrency_positive", condition=Q(concurrency__gte=1)),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        try:
            origin_of(self.base_url)
        except HostRefused as error:
            raise ValidationError({"base_url": str(error)}) from None
        if not isinstance(self.parameters, dict):
            raise ValidationError({"parameters": "Enter a JSON object."})
        if self.stream and not (self.protocol in PROVIDERS and PROVIDERS.get(self.protocol).can_stream):
            raise ValidationError({"stream": f"Only with the {titles_with('can_stream')} protocol."})
        for name, check in (("headers", headers_check), ("ca_certificates", certificates_check)):
            try:
                check(getattr(self, name))
            except SettingRefused as error:
                raise ValidationError({name: str(error)}) from None
