"""The form of a new pipeline. It reads; services check and write."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.models import Dataset, User
from evaluation.forms.dress import dress
from evaluation.models import Pipeline, Recipe
from evaluation.pipelines.advance import ALL_STEPS, pipeline_create, recipe_save
from evaluation.pipelines.recipe import RecipeError, recipe_file, recipe_names
from evaluation.selectors.run import datasets_visible_to
from evaluation.services.dataset import DatasetFaults, dataset_upload


class NewPipelineForm(forms.ModelForm):
    """A recipe, what it is carried out on, and by which endpoint."""

    recipe = forms.ChoiceField(choices=())
    changed = forms.CharField(
        required=False,
        label="Or a recipe of your own",
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="As JSON; it is kept as a version of its name and goes before the choice above.",
    )
    #: Not named "dataset": the admin's theme takes a form with a field of that name for one of its own.
    material = forms.ModelChoiceField(Dataset.objects.none(), required=False, label="Dataset")
    file = forms.FileField(
        required=False,
        label="Or a file",
        help_text="JSON lines, a JSON array or CSV: questions, articles, queries, or posts with two responses.",
    )
    limit = forms.IntegerField(
        required=False, min_value=1, help_text="Take only so many of the file's instances."
    )
    second = forms.CharField(
        required=False,
        max_length=200,
        label="Second model",
        help_text="Where the recipe lets two generators alternate; empty: the endpoint's own for both.",
    )
    budget = forms.DecimalField(
        required=False, min_value=0, help_text="The most that all its runs may cost together."
    )
    overrides = forms.JSONField(
        required=False,
        initial=dict,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text='By step: {"explain-cot": {"model": "...", "prompt": "...", "parameters": {"temperature": 0}}}',
    )

    class Meta:
        model = Pipeline
        fields = (
            "recipe", "changed", "material", "file", "limit", "endpoint", "second", "budget", "overrides",
        )  # fmt: skip

    user: User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shipped = [(name, f"{name}: {recipe_file(name).get('title', '')}") for name in recipe_names()]
        saved = (
            Recipe.objects.all() if self.user.is_superuser else Recipe.objects.filter(created_by=self.user)
        )
        kept = [(f"saved:{recipe.pk}", str(recipe)) for recipe in saved.order_by("name", "-version")]
        self.fields["recipe"].choices = [("Shipped", shipped), ("Kept", kept)] if kept else shipped  # type: ignore[attr-defined]
        self.fields["material"].queryset = datasets_visible_to(self.user)  # type: ignore[attr-defined]
        dress(self)

    def clean_overrides(self) -> dict[str, Any]:
        overrides = self.cleaned_data["overrides"] or {}
        if not isinstance(overrides, dict):
            raise ValidationError("expected a JSON object {step: {choice: value}}")
        return overrides

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if bool(cleaned.get("material")) == bool(cleaned.get("file")) and "file" not in self.errors:
            self.add_error("material", "Choose a dataset or a file: one of the two.")
        if self.errors:
            return cleaned
        try:
            self.instance = self._create(cleaned)
        except RecipeError as error:
            self.add_error("changed", str(error))
        except DatasetFaults as error:
            self.add_error("file", str(error).splitlines())
        except ValidationError as error:
            for field, said in getattr(error, "message_dict", {"__all__": error.messages}).items():
                self.add_error(field if field in self.fields else None, said)
        return cleaned

    def _recipe(self, cleaned: dict[str, Any]) -> Recipe:
        if cleaned.get("changed"):
            try:
                content = json.loads(cleaned["changed"])
            except ValueError as error:
                raise RecipeError(f"is not JSON: {error}") from None
            return recipe_save(content=content, created_by=self.user)
        kind, _, pk = cleaned["recipe"].partition(":")
        return Recipe.objects.get(pk=pk) if kind == "saved" and pk else recipe_save(content=recipe_file(kind))

    @transaction.atomic
    def _create(self, cleaned: dict[str, Any]) -> Pipeline:
        recipe = self._recipe(cleaned)
        dataset = cleaned.get("material") or dataset_upload(
            file=cleaned["file"],
            name=cleaned["file"].name,
            task=recipe.content["task"],
            limit=cleaned.get("limit"),
            user=self.user,
        )
        for_all = {"second": cleaned.get("second"), "budget": cleaned.get("budget")}
        whole = {name: str(value) for name, value in for_all.items() if value not in (None, "")}
        return pipeline_create(
            recipe=recipe,
            dataset=dataset,
            endpoint=cleaned["endpoint"],
            overrides=cleaned["overrides"] | ({ALL_STEPS: whole} if whole else {}),
            created_by=self.user,
        )

    def _post_clean(self) -> None:
        """The service has checked and made the row."""

    def save(self, commit: bool = True) -> Any:
        return self.instance

    def save_m2m(self) -> None:
        """There is nothing of the kind."""
