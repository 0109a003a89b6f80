"""Forms of endpoints and runs. Services check the values and save them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html, format_html_join

from annotator.core.service_errors import errors_add
from annotator.models import Dataset, Membership, User, Workspace
from annotator.selectors.study import studies_for
from annotator.selectors.workspace import workspaces_for
from evaluation.forms.styling import NewRowForm, fields_style
from evaluation.models import Endpoint, Run
from evaluation.pipelines.model_step import model_steps
from evaluation.providers.registry import PROVIDERS
from evaluation.runs.create import RunPlan
from evaluation.runs.estimate import CostEstimate, run_estimate
from evaluation.runs.request import parameters_check, sampling
from evaluation.selectors.endpoint import endpoints_usable_by
from evaluation.selectors.run import datasets_for
from evaluation.services.endpoint import endpoint_save

EDITOR = Membership.Role.EDITOR


class EndpointForm(forms.ModelForm):
    key = forms.CharField(
        required=False,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "off"}),
        help_text="Stored encrypted, sent only to this address, and never shown again. Leave empty to keep the stored key.",
    )

    class Meta:
        model = Endpoint
        fields = (
            "workspace", "name", "protocol", "base_url", "model", "key", "key_variable",
            "price_in", "price_cached", "price_out",
            "concurrency", "requests_per_minute", "tokens_per_minute", "timeout_seconds",
            "structured", "images", "fold_system", "stream", "deployment", "shared_with",
            "parameters", "thinking_tokens", "api_version", "headers", "ca_certificates",
        )  # fmt: skip
        labels = {
            "base_url": "Base URL",
            "api_version": "API version",
            "ca_certificates": "CA certificates",
            "structured": "Replies by JSON schema",
            "fold_system": "No system role",
            "stream": "Streams only",
            "thinking_tokens": "Tokens for thinking",
            "concurrency": "Requests at the same time",
            "price_in": "Price of input tokens",
            "price_cached": "Price of cached input tokens",
            "price_out": "Price of output tokens",
            "timeout_seconds": "Timeout, in seconds",
        }
        help_texts = {
            "price_in": "Per million, in your currency. With both prices at 0, costs aren't counted and budgets in money have no effect.",
            "price_out": "Per million.",
            "requests_per_minute": "The provider's limit. Leave empty for no limit.",
            "tokens_per_minute": "The provider's limit on input and output tokens together. Leave empty for no limit.",
        }

    user: User

    def save(self, commit: bool = True) -> Any:
        return endpoint_save(
            endpoint=self.instance,
            key=self.cleaned_data.get("key") or "",
            shared_with=self.cleaned_data.get("shared_with") or (),
        )

    def save_m2m(self) -> None:
        """The service has already saved the workspaces that it is shared with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        owned = workspaces_for(user=self.user, role=Membership.Role.OWNER)
        self.fields["workspace"].queryset = owned  # type: ignore[attr-defined]
        self.fields["workspace"].required = True
        protocol, name = self.fields["protocol"], self.instance.protocol
        protocol.required = False
        if name not in PROVIDERS:  # its package has been removed
            protocol.choices = [(name, f"{name} (not installed)"), *protocol.choices]  # type: ignore[attr-defined]
        for name in ("parameters", "headers", "ca_certificates"):
            self.fields[name].widget.attrs["rows"] = 3
        if not self.instance.pk:
            self.fields[
                "key"
            ].help_text = "Stored encrypted, sent only to this address, and never shown again."
        self.fields["workspace"].initial = owned.filter(personal_of=self.user).first()
        # Workspaces of other people that it is shared with already stay on the list.
        shared = workspaces_for(user=self.user)
        if self.instance.pk:
            shared = shared | Workspace.objects.filter(endpoints_shared=self.instance)
        self.fields["shared_with"].queryset = shared.distinct()  # type: ignore[attr-defined]
        if not self.user.is_superuser:
            self.fields.pop("key_variable", None)
        fields_style(self)

    def clean_headers(self) -> Any:
        return self.cleaned_data["headers"] or {}

    def clean_parameters(self) -> Any:
        parameters = self.cleaned_data["parameters"]
        try:
            parameters_check({} if parameters is None else parameters)
        except ValueError as error:
            raise ValidationError(str(error)) from None
        return {} if parameters is None else parameters

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                variable = cleaned.get("key_variable") or ""
                probe = Endpoint(base_url=cleaned["base_url"], key_variable=variable)
                from annotator.core.outgoing.hosts import HostRefused, check_origin, origin_of
                from annotator.selectors.outgoing import host_policy
                from evaluation.providers.keys import KeyRefused
                from evaluation.selectors.endpoint import endpoint_key

                check_origin(origin_of(probe.base_url), host_policy())
                if probe.key_variable and not cleaned.get("key"):
                    endpoint_key(probe)
            except HostRefused as error:
                self.add_error("base_url", str(error))
            except KeyRefused as error:
                self.add_error("key_variable", str(error))
        return cleaned


class BudgetForm(forms.ModelForm):
    """The limits of an existing run. A budget that is empty means no limit; an empty share leaves it as it is."""

    max_failed_share = forms.FloatField(required=False, min_value=0, max_value=1)

    class Meta:
        model = Run
        fields = ("budget_calls", "budget_cost", "max_failed_share")

    def _post_clean(self) -> None:
        """The service compares the budgets with what has been used."""


def run_fields(kind: str) -> list[str]:
    """The fields of a new run of this kind, in the order in which they are asked; JSON comes last."""
    kinds = model_steps()
    others = {name for held in kinds.values() for name in held.run_fields}
    own = kinds[kind].run_fields if kind in kinds else ()
    return [name for name in NewRunForm.Meta.fields if name not in others.difference(own)]


def run_kind(*given: Any) -> str:
    """The kind of a new run: the first of these that is given, or the first of all."""
    return str(next(filter(None, given), None) or next(iter(model_steps())))


class NewRunForm(NewRowForm):
    """A new run: a simulator on a study, or a step over a dataset. Checking it writes nothing; ``save`` creates it.

    It has only the fields that its kind needs: the kind that was sent, or the first one of ``initial``.
    """

    kind = forms.ChoiceField(choices=())
    #: Not named "dataset": the admin's theme treats a field of that name as one of its own.
    material = forms.ModelChoiceField(Dataset.objects.none(), required=False, label="Dataset")
    allow_own_model = forms.BooleanField(
        required=False,
        label="Allow the studied model",
        help_text="Let the model that is studied simulate from its own explanations. It may find these easier to follow than others do.",
    )
    by_fingerprint = forms.BooleanField(
        required=False,
        label="Separate by fingerprint",
        help_text="Replies with another fingerprint count as another simulator's. Leave it off for servers with several replicas, which return"
        " their fingerprints in turn.",
    )
    temperature = forms.FloatField(
        required=False,
        min_value=0,
        max_value=2,
        help_text="Leave empty for the step's default (simulators 0, counterfactuals 1, generalization questions 0.7) or, if it"
        " has none, the server's.",
    )
    seed = forms.IntegerField(
        required=False, min_value=0, help_text="With several samples, each one uses the next number."
    )
    logprobs = forms.BooleanField(
        required=False,
        label="Log probabilities",
        help_text="Request them, and store the model's probability of each label with its answer.",
    )
    prompt = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="Leave empty to use the built-in prompt.",
    )

    preview_item = forms.CharField(
        required=False,
        max_length=250,
        label="Item to preview",
        help_text="An item's key. Leave empty to preview the first item.",
    )

    class Meta:
        model = Run
        fields = (
            "kind", "study", "material", "endpoint", "model", "allow_own_model", "by_fingerprint", "temperature", "seed", "logprobs", "prompt",
            "samples", "together", "mode", "workers", "use_cache", "max_attempts", "max_unparsable",
            "max_failed_share", "budget_cost", "budget_calls", "preview_item", "parameters", "options",
        )  # fmt: skip
        labels = {
            "samples": "Samples per item",
            "together": "Items per request",
            "mode": "Sending",
            "workers": "Worker processes",
            "use_cache": "Reuse replies",
            "max_attempts": "Attempts per call",
            "max_unparsable": "Unreadable replies per call",
            "max_failed_share": "Largest share of failed calls",
            "budget_cost": "Budget in money",
            "budget_calls": "Budget in requests",
        }
        help_texts = {
            "samples": "How often the model is asked about each item. The answer that most samples give is its judgment.",
            "together": "More than 1 saves tokens, but the model sees items side by side.",
            "mode": "A batch API is usually cheaper and takes hours.",
            "max_attempts": "A call fails after this many attempts without a reply.",
            "budget_cost": "In the currency of the endpoint's prices. The run pauses before it would cost more. Leave empty for no limit.",
            "budget_calls": "The run pauses after this many requests. Leave empty for no limit.",
        }

    user: User
    #: The run as it would be created, unsaved; set once the form is valid.
    draft: Run | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kinds = [(step.name, step.title) for step in model_steps().values()]
        self.fields["kind"].choices = kinds  # type: ignore[attr-defined]
        kind = run_kind(self.data.get("kind"), self.initial.get("kind"))
        self.fields["kind"].initial = kind
        self.fields["kind"].help_text = format_html(
            "Other kinds have different fields: {}",
            format_html_join(
                ", ", '<a href="?kind={}">{}</a>', ((name, title) for name, title in kinds if name != kind)
            ),
        )
        self.fields["study"].queryset = studies_for(user=self.user, role=EDITOR)  # type: ignore[attr-defined]
        self.fields["material"].queryset = datasets_for(user=self.user, role=EDITOR)  # type: ignore[attr-defined]
        self.fields["endpoint"].queryset = endpoints_usable_by(user=self.user)  # type: ignore[attr-defined]
        endpoints = list(self.fields["endpoint"].queryset[:2])  # type: ignore[attr-defined]
        if len(endpoints) == 1:
            self.fields["endpoint"].initial = endpoints[0].pk
        self.fields["model"].required = self.fields["max_failed_share"].required = False
        self.fields["model"].help_text = "Leave empty to use the endpoint's model."
        for name in ("parameters", "options"):
            self.fields[name].widget.attrs["rows"] = 3
        kept = run_fields(kind)
        for name in [name for name in self.fields if name not in kept]:
            del self.fields[name]
        fields_style(self)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if kind := model_steps().get(cleaned.get("kind", "")):
            if kind.of_study and cleaned.get("study") is None:
                self.add_error("study", "Choose the study whose items the model will judge.")
            elif not kind.of_study and cleaned.get("material") is None:
                self.add_error("material", "Choose the dataset for this step.")
        if not self.errors:
            try:
                self.draft = model_steps()[cleaned["kind"]].run_draft(**self._chosen(cleaned))
            except ValidationError as error:
                errors_add(self, error)
        return cleaned

    def estimate(self) -> CostEstimate | None:
        """The estimate of the run; None, with the error on the form, if there is none."""
        if not self.is_valid() or self.draft is None:
            return None
        try:
            return run_estimate(run=self.draft, key=self.cleaned_data.get("preview_item") or "")
        except ValidationError as error:
            errors_add(self, error)
            return None

    def save(self, commit: bool = True) -> Any:
        """Create the run and its calls; ``commit`` makes no difference."""
        cleaned = self.cleaned_data
        self.instance = model_steps()[cleaned["kind"]].run_create(**self._chosen(cleaned))
        return self.instance

    def _chosen(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        options = cleaned.get("options") or {}
        if "allow_own_model" in self.fields:
            options = {name: bool(cleaned.get(name)) for name in ("allow_own_model", "by_fingerprint")}
        return {
            "owner": cleaned.get("study") or cleaned.get("material"),
            "endpoint": cleaned["endpoint"],
            "plan": self._plan(cleaned),
            "options": options,
        }

    def _plan(self, cleaned: dict[str, Any]) -> RunPlan:
        parameters = dict(cleaned.get("parameters") or {}) | sampling(
            temperature=cleaned.get("temperature"),
            seed=cleaned.get("seed"),
            logprobs=bool(cleaned.get("logprobs")),
        )
        names = (
            "model", "prompt", "mode", "workers", "use_cache", "budget_cost", "budget_calls", "samples", "together",
            "max_attempts", "max_unparsable",
        )  # fmt: skip
        chosen = {name: cleaned[name] for name in names if name in cleaned}
        if cleaned.get("max_failed_share") is not None:
            chosen["max_failed_share"] = cleaned["max_failed_share"]
        return RunPlan(parameters=parameters, created_by=self.user, **chosen)
