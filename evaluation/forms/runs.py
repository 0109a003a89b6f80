"""Forms of endpoints and runs. They read; services check and write."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.models import Dataset, Membership, Study, User
from annotator.selectors.study import studies_for
from evaluation.forms.dress import dress
from evaluation.models import Endpoint, Run
from evaluation.pipelines.material_run import material_run_create
from evaluation.pipelines.registry import steps
from evaluation.runs.estimate import Estimate, run_estimate
from evaluation.runs.request import parameters_check
from evaluation.selectors.run import datasets_visible_to
from evaluation.services.endpoint import endpoint_save
from evaluation.simulators.start import simulation_create


class EndpointForm(forms.ModelForm):
    key = forms.CharField(
        required=False,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "off"}),
        help_text="Kept encrypted and never shown again; empty leaves the stored one. It goes to this address only.",
    )

    class Meta:
        model = Endpoint
        fields = (
            "name", "base_url", "model", "key", "key_variable", "parameters", "structured", "concurrency",
            "requests_per_minute", "tokens_per_minute", "price_in", "price_out", "timeout_seconds",
        )  # fmt: skip

    def save(self, commit: bool = True) -> Any:
        return endpoint_save(endpoint=self.instance, key=self.cleaned_data.get("key") or "")

    def save_m2m(self) -> None:
        """There is nothing of the kind."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        dress(self)

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
                probe = Endpoint(pk=self.instance.pk, **{k: v for k, v in cleaned.items() if k != "key"})
                probe.created_at = self.instance.created_at
                from evaluation.providers.hosts import HostRefused, check_origin, origin_of
                from evaluation.selectors.endpoint import host_policy

                check_origin(origin_of(probe.base_url), host_policy())
            except HostRefused as error:
                self.add_error("base_url", str(error))
        return cleaned


class NewRunForm(forms.ModelForm):
    """A new run: a simulator on a study, or a step over a dataset."""

    kind = forms.ChoiceField(choices=())
    #: Not named "dataset": the admin's theme takes a form with a field of that name for one of its own.
    material = forms.ModelChoiceField(Dataset.objects.none(), required=False, label="Dataset")
    temperature = forms.FloatField(required=False, min_value=0, max_value=2)
    prompt = forms.CharField(
        required=False, widget=forms.Textarea(attrs={"rows": 8}), help_text="Empty: the prompt that ships."
    )

    preview_item = forms.CharField(
        required=False,
        max_length=250,
        label="Item to preview",
        help_text="Its key; empty: the first one that would be asked about.",
    )

    class Meta:
        model = Run
        fields = (
            "kind", "study", "material", "endpoint", "model", "temperature", "parameters", "options", "prompt",
            "samples", "together", "mode", "workers", "use_cache", "max_attempts", "max_unparsable",
            "budget_cost", "budget_calls", "preview_item",
        )  # fmt: skip

    user: User
    #: Only look: the run is made, estimated and unmade again.
    preview_only = False
    preview: Estimate | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["kind"].choices = [(step.name, step.title) for step in steps().values()]  # type: ignore[attr-defined]
        self.fields["study"].queryset = studies_for(user=self.user, role=Membership.Role.EDITOR)  # type: ignore[attr-defined]
        self.fields["material"].queryset = datasets_visible_to(self.user)  # type: ignore[attr-defined]
        self.fields["model"].required = False
        self.fields["model"].help_text = "Empty: the endpoint's own."
        for name in ("parameters", "options"):
            self.fields[name].widget.attrs["rows"] = 3
        dress(self)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        study: Study | None = cleaned.get("study")
        if cleaned.get("kind") == "simulate":
            if study is None:
                self.add_error("study", "A simulator needs a study.")
        elif cleaned.get("kind") and cleaned.get("material") is None:
            self.add_error("material", "This step needs a dataset.")
        if not self.errors:
            try:
                with transaction.atomic():
                    self.instance = self._create(cleaned)
                    if self.preview_only:
                        self.preview = run_estimate(run=self.instance, key=cleaned.get("preview_item") or "")
                        transaction.set_rollback(True)
            except ValidationError as error:
                known = set(self.fields)
                for field, said in getattr(error, "message_dict", {"__all__": error.messages}).items():
                    self.add_error(field if field in known else None, said)
        return cleaned

    def _create(self, cleaned: dict[str, Any]) -> Run:
        parameters = dict(cleaned.get("parameters") or {})
        if cleaned.get("temperature") is not None:
            parameters["temperature"] = cleaned["temperature"]
        common: dict[str, Any] = {
            name: cleaned[name]
            for name in (
                "endpoint",
                "model",
                "prompt",
                "mode",
                "workers",
                "use_cache",
                "budget_cost",
                "budget_calls",
            )
        } | {"parameters": parameters, "created_by": self.user}
        if cleaned["kind"] == "simulate":
            names = ("samples", "together", "max_attempts", "max_unparsable")
            return simulation_create(
                study=cleaned["study"], **common, **{name: cleaned[name] for name in names}
            )
        return material_run_create(
            kind=cleaned["kind"], dataset=cleaned["material"], options=cleaned.get("options") or {}, **common
        )

    def _post_clean(self) -> None:
        """The service has checked and made the row."""

    def save(self, commit: bool = True) -> Any:
        return self.instance

    def save_m2m(self) -> None:
        """There is nothing of the kind."""
