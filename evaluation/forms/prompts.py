"""The form of a study's prompt: shown on real items, and tried on a few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotator.core.service_errors import errors_add
from annotator.hit_types.base import ChatMessage
from annotator.models import Study, User
from evaluation.forms.styling import fields_style
from evaluation.models import Endpoint, Run
from evaluation.runs.create import RunPlan
from evaluation.runs.lifecycle import run_start
from evaluation.selectors.endpoint import endpoints_usable_in
from evaluation.simulators.prepare import chats_of
from evaluation.simulators.start import simulation_create, simulation_draft

#: Items on which a prompt is tried, and on which it is shown.
TRIED, SHOWN = 10, 3


@dataclass(frozen=True)
class Preview:
    """The chat of each stage of one item."""

    key: str
    stages: list[tuple[str, list[ChatMessage]]]


class PromptForm(forms.Form):
    """A prompt, and the model that tries it."""

    prompt = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 24, "class": "fh__code", "spellcheck": "false"}),
        max_length=100_000,
        strip=False,
    )
    endpoint = forms.ModelChoiceField(Endpoint.objects.none())
    model = forms.CharField(
        required=False, max_length=200, help_text="Leave empty to use the endpoint's model."
    )
    items = forms.IntegerField(
        initial=TRIED, min_value=1, max_value=100, help_text="The number of items to try the prompt on."
    )

    user: User
    study: Study

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        usable = endpoints_usable_in(self.study.workspace_id).order_by("name")
        self.fields["endpoint"].queryset = usable  # type: ignore[attr-defined]
        self.fields["endpoint"].initial = usable.first()
        fields_style(self)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                self.draft = simulation_draft(**self._chosen(cleaned))
            except ValidationError as error:
                errors_add(self, error)
        return cleaned

    def previews(self) -> list[Preview]:
        """The prompt on the first items of the study; none where it has errors."""
        if not self.is_valid():
            return []
        return [Preview(key, stages) for key, stages in chats_of(run=self.draft, most=SHOWN)]

    def save(self) -> Run:
        """Create the run on a few items, and start it."""
        return run_start(run=simulation_create(**self._chosen(self.cleaned_data)))

    def _chosen(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        prompt = cleaned["prompt"].replace("\r\n", "\n")
        plan = RunPlan(prompt=prompt, model=cleaned.get("model") or "", created_by=self.user)
        return {"study": self.study, "endpoint": cleaned["endpoint"], "plan": plan, "items": cleaned["items"]}
