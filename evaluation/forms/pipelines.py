"""The form of a new pipeline. Validation writes nothing; ``save`` calls the service."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.service_errors import errors_add
from annotator.core.tables.faults import FileRefused
from annotator.models import Dataset, Instance, Membership, User, Workspace
from annotator.selectors.workspace import workspaces_for
from annotator.services.workspace import workspace_personal
from evaluation.forms.styling import NewRowForm, fields_style
from evaluation.models import Endpoint, Pipeline
from evaluation.pipelines.create import (
    evaluator_check,
    overrides_check,
    parts_check,
    pipeline_create,
    recipe_save,
)
from evaluation.pipelines.endpoints import endpoints_check, overrides_for_all, own_model_check, with_slots
from evaluation.pipelines.plan import StepPlan, pipeline_plan
from evaluation.pipelines.recipe import RecipeError, recipe_check, recipe_file, recipe_names
from evaluation.pipelines.slots import SLOTS
from evaluation.selectors.endpoint import endpoint_check, endpoints_usable_by
from evaluation.selectors.material import parts_of
from evaluation.selectors.pipeline import recipes_for
from evaluation.selectors.run import datasets_for
from evaluation.services.dataset import dataset_check, dataset_inputs, dataset_upload

#: Prefix of the choice of a saved recipe, before its primary key.
SAVED = "saved"


class NewPipelineForm(NewRowForm):
    """A recipe, the dataset it runs on, and the endpoint that answers."""

    recipe = forms.ChoiceField(choices=())
    changed = forms.CharField(
        required=False,
        label="Or your own recipe",
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="JSON. It is saved as a new version under its name and used instead of the choice above.",
    )
    #: Not named "dataset": the admin's theme treats a field of that name as one of its own.
    material = forms.ModelChoiceField(Dataset.objects.none(), required=False, label="Dataset")
    file = forms.FileField(
        required=False,
        label="Or a file",
        help_text="JSON lines, a JSON array, CSV, Parquet or Excel (.xlsx): questions, articles, queries, or posts with two responses. If there is an "
        "error, choose the file again: a page can't keep it.",
    )
    workspace = forms.ModelChoiceField(
        Workspace.objects.none(),
        required=False,
        help_text="The workspace for the dataset made from a file. A pipeline belongs to its dataset's workspace.",
    )
    limit = forms.IntegerField(
        required=False, min_value=1, help_text="Use only this many instances, from the start of the file."
    )
    second = forms.CharField(
        required=False,
        max_length=200,
        label="Second model",
        help_text="For recipes that study two models. Leave empty to study only one.",
    )
    second_endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(), required=False, label="Endpoint of the second model"
    )
    third = forms.CharField(
        required=False,
        max_length=200,
        label="Third model",
        help_text="For recipes that study three models.",
    )
    third_endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(), required=False, label="Endpoint of the third model"
    )
    evaluator = forms.CharField(
        required=False,
        max_length=200,
        help_text="For generation tasks: the model that writes the counterfactuals, splits the explanations and judges. Use the same"
        " one for all models that you compare. Leave empty to use the studied model itself.",
    )
    evaluator_endpoint = forms.ModelChoiceField(
        Endpoint.objects.none(), required=False, label="Endpoint of the evaluator"
    )
    simulators = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One per line: an endpoint's name, then optionally a space and a model. Leave empty to use the recipe's"
        " simulators, which are the models that it studies.",
    )
    allow_own_model = forms.BooleanField(
        required=False,
        label="Allow the studied models",
        help_text="Let the models that are studied simulate from their own explanations, as in the papers. They may find"
        " these easier to follow than other models do.",
    )
    budget = forms.DecimalField(
        required=False,
        min_value=0,
        help_text="The maximum cost of all the pipeline's runs together. Leave empty for no limit.",
    )
    overrides = forms.JSONField(
        required=False,
        initial=dict,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text='Settings by step: {"explain-cot": {"model": "...", "prompt": "...", "parameters": {"temperature": 0}}}',
    )

    class Meta:
        model = Pipeline
        fields = (
            "recipe", "changed", "material", "file", "workspace", "limit", "endpoint",
            "second", "second_endpoint", "third", "third_endpoint", "evaluator", "evaluator_endpoint", "simulators", "allow_own_model", "budget", "overrides",
        )  # fmt: skip

    user: User
    recipe_content: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shipped = [(name, f"{name}: {recipe_file(name).get('title', '')}") for name in recipe_names()]
        saved = recipes_for(user=self.user)
        kept = [(f"{SAVED}:{recipe.pk}", str(recipe)) for recipe in saved.order_by("name", "-version")]
        self.fields["recipe"].choices = [("Built-in", shipped), ("Saved", kept)] if kept else shipped  # type: ignore[attr-defined]
        workspaces = workspaces_for(user=self.user, role=Membership.Role.EDITOR)
        self.fields["workspace"].queryset = workspaces  # type: ignore[attr-defined]
        self.fields["workspace"].initial = workspaces.filter(personal_of=self.user).first()
        datasets = datasets_for(user=self.user, role=Membership.Role.EDITOR)
        self.fields["material"].queryset = datasets  # type: ignore[attr-defined]
        for name in ("endpoint", *(f"{slot}_endpoint" for slot in SLOTS)):
            self.fields[name].queryset = endpoints_usable_by(user=self.user)  # type: ignore[attr-defined]
        fields_style(self)

    def clean_overrides(self) -> dict[str, Any]:
        overrides = self.cleaned_data["overrides"] or {}
        if not isinstance(overrides, dict):
            raise ValidationError("Enter a JSON object: {step: {choice: value}}.")
        return overrides

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if bool(cleaned.get("material")) == bool(cleaned.get("file")) and "file" not in self.errors:
            self.add_error("material", "Choose either a dataset or a file.")
        if not self.errors:
            try:
                self._check(cleaned)
            except ValidationError as error:
                errors_add(self, error)
        return cleaned

    def _check(self, cleaned: dict[str, Any]) -> None:
        """Check everything that the service would refuse, without writing."""
        with self._at_fields(cleaned):
            if cleaned.get("endpoint"):
                endpoint_check(endpoint=cleaned["endpoint"], workspace_id=self._workspace_id(cleaned))
            self.recipe_content = self._content(cleaned)
            overrides = self._overrides(cleaned)
            overrides_check(content=self.recipe_content, overrides=overrides)
            if cleaned.get("endpoint"):
                chosen = {
                    "content": self.recipe_content,
                    "overrides": overrides,
                    "endpoint": cleaned["endpoint"],
                    "workspace_id": self._workspace_id(cleaned),
                }
                endpoints_check(**chosen)
                own_model_check(**chosen)
                if cleaned.get("material"):
                    evaluator_check(
                        content=self.recipe_content,
                        overrides=with_slots(overrides, workspace_id=chosen["workspace_id"]),
                        endpoint=cleaned["endpoint"],
                        dataset=cleaned["material"],
                    )
            if cleaned.get("file"):
                parts = dataset_check(
                    file=cleaned["file"],
                    name=cleaned["file"].name,
                    task=self.recipe_content["task"],
                    limit=cleaned.get("limit"),
                )
            else:
                parts = list(parts_of(cleaned["material"]).values())
            parts_check(content=self.recipe_content, parts=parts)

    @contextmanager
    def _at_fields(self, cleaned: dict[str, Any]) -> Iterator[None]:
        """Turn the errors of services into a ``ValidationError`` that names this form's fields."""
        try:
            yield
        except RecipeError as error:
            raise ValidationError({"changed": str(error)}) from error
        except FileRefused as error:
            raise ValidationError({"file": str(error).splitlines()}) from error
        except ValidationError as error:
            if "dataset" not in getattr(error, "error_dict", {}):
                raise
            where = "file" if cleaned.get("file") else "material"
            raise ValidationError(
                {where if name == "dataset" else name: errors for name, errors in error.error_dict.items()}
            ) from error

    def plan(self) -> list[StepPlan] | None:
        """What each step would ask and cost at most; None, with the errors on the form, if it can't be carried out."""
        if not self.is_valid():
            return None
        cleaned = self.cleaned_data
        inputs = self._inputs(cleaned)
        try:
            return pipeline_plan(
                content=self.recipe_content,
                instances=len(inputs),
                longest=max(map(len, inputs), default=0),
                endpoint=cleaned["endpoint"],
                overrides=self._overrides(cleaned),
                workspace_id=self._workspace_id(cleaned),
            )
        except ValidationError as error:
            errors_add(self, error)
            return None

    def _inputs(self, cleaned: dict[str, Any]) -> list[str]:
        """The inputs of the dataset, or of the file, which is read and not kept."""
        if cleaned.get("material"):
            return list(Instance.objects.filter(dataset=cleaned["material"]).values_list("input", flat=True))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / Path(cleaned["file"].name).name
            cleaned["file"].seek(0)
            path.write_bytes(cleaned["file"].read())
            return dataset_inputs(path=path, task=self.recipe_content["task"], limit=cleaned.get("limit"))

    def _workspace_id(self, cleaned: dict[str, Any]) -> int | None:
        """The workspace that the pipeline will belong to; by default, the person's own."""
        if cleaned.get("material"):
            return cleaned["material"].workspace_id
        chosen = cleaned.get("workspace") or Workspace.objects.filter(personal_of=self.user).first()
        return chosen.pk if chosen else None

    def _content(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The recipe's content; raises ``RecipeError``."""
        if cleaned.get("changed"):
            try:
                content = json.loads(cleaned["changed"])
            except (ValueError, RecursionError) as error:
                raise RecipeError(f"this is not JSON: {error}") from None
            return recipe_check(content)
        kind, _, pk = cleaned["recipe"].partition(":")
        content = recipes_for(user=self.user).get(pk=pk).content if kind == SAVED else recipe_file(kind)
        return dict(content)

    def _overrides(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        slots = {slot: cleaned.get(slot) for slot in SLOTS}
        places = {name: cleaned.get(name) for name in (f"{slot}_endpoint" for slot in SLOTS)}
        return cleaned["overrides"] | overrides_for_all(
            slots=slots | {name: place.name if place else "" for name, place in places.items()},
            budget=cleaned.get("budget"),
            simulators=cleaned.get("simulators", ""),
            allow_own_model=cleaned.get("allow_own_model", False),
        )

    @transaction.atomic
    def save(self, commit: bool = True) -> Any:
        """Create the pipeline, once, even with ``commit=False``, which the admin uses."""
        if self.instance.pk is None:
            with self._at_fields(self.cleaned_data):
                self.instance = self._create(self.cleaned_data)
        return self.instance

    def _create(self, cleaned: dict[str, Any]) -> Pipeline:
        own = bool(cleaned.get("changed"))
        material = cleaned.get("material")
        workspace = (
            material.workspace if material else cleaned.get("workspace") or workspace_personal(user=self.user)
        )
        recipe = recipe_save(
            content=self.recipe_content, workspace=workspace, created_by=self.user if own else None
        )
        dataset = material or dataset_upload(
            file=cleaned["file"],
            name=cleaned["file"].name,
            task=recipe.content["task"],
            limit=cleaned.get("limit"),
            user=self.user,
            workspace=workspace,
        )
        return pipeline_create(
            recipe=recipe,
            dataset=dataset,
            endpoint=cleaned["endpoint"],
            overrides=self._overrides(cleaned),
            created_by=self.user,
            check_simulators=True,
        )


class PipelineBudgetForm(forms.Form):
    """What all runs of a pipeline may cost together; empty means no limit."""

    budget = forms.DecimalField(required=False, min_value=0, max_digits=12, decimal_places=6)
