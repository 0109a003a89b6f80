"""Save a recipe, check overrides, and create a pipeline."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.canonical import digest_of
from annotator.hit_types.base import JSON
from annotator.models import Dataset, User, Workspace
from evaluation.models import Endpoint, Pipeline, Recipe
from evaluation.pipelines.options import ALL_STEPS
from evaluation.pipelines.recipe import recipe_check
from evaluation.runs.text import clean
from evaluation.runs.wake import pipeline_wake
from evaluation.selectors.endpoint import endpoint_check


def recipe_save(
    *, content: JSON, workspace: Workspace | None = None, created_by: User | None = None
) -> Recipe:
    """Save a recipe in a workspace. Saving the same content again changes nothing; changed content is a new version.

    Raises ``RecipeError``.
    """
    content = recipe_check(content)
    name, digest = str(content["name"])[:100], digest_of(content)
    with transaction.atomic():
        kept = Recipe.objects.filter(workspace=workspace, name=name)
        there = kept.filter(digest=digest).first()
        if there is not None:
            return there
        last = kept.order_by("-version").first()
        return Recipe.objects.create(
            workspace=workspace,
            name=name,
            version=last.version + 1 if last else 1,
            digest=digest,
            content=content,
            created_by=created_by,
        )


def pipeline_create(
    *,
    recipe: Recipe,
    dataset: Dataset,
    endpoint: Endpoint,
    overrides: JSON | None = None,
    created_by: User | None = None,
) -> Pipeline:
    """Create a pipeline and start it.

    ``overrides`` maps a step's name to choices (and ``model``, ``prompt``, ``budget``) that replace the recipe's. The key
    ``"*"`` applies to the whole pipeline: ``budget``, the most that all its runs may cost together, and ``second``, the
    model that a recipe calls ``{second}`` (by default the endpoint's own).

    Raises ``ValidationError`` for overrides that don't fit the recipe and for a recipe or endpoint of another workspace.
    """
    overrides_check(content=recipe.content, overrides=overrides)
    endpoint_check(endpoint=endpoint, workspace_id=dataset.workspace_id)
    if recipe.workspace_id != dataset.workspace_id:
        raise ValidationError({"recipe": "This recipe belongs to another workspace. Save it in this one."})
    with transaction.atomic():
        pipeline = Pipeline.objects.create(
            recipe=recipe,
            dataset=dataset,
            endpoint=endpoint,
            overrides=overrides or {},
            created_by=created_by,
        )
        transaction.on_commit(lambda: pipeline_wake(pipeline_pk=pipeline.pk))
    return pipeline


def overrides_check(*, content: JSON, overrides: Any) -> None:
    """Check the choices that replace a recipe's own; raises ``ValidationError`` keyed by ``overrides``."""
    overrides = overrides or {}
    if not isinstance(overrides, dict) or not all(isinstance(held, dict) for held in overrides.values()):
        raise ValidationError({"overrides": "expected a JSON object {step: {choice: value}}"})
    unknown = set(overrides) - {step["name"] for step in content["steps"]} - {ALL_STEPS}
    if unknown:
        raise ValidationError({"overrides": f"the recipe has no step named {', '.join(sorted(unknown))}"})
    for step, chosen in overrides.items():
        try:
            amount = Decimal(str(chosen.get("budget", 0)))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or amount < 0:
            raise ValidationError({"overrides": f"{step}: budget: expected an amount of 0 or more"})
    strange = set(overrides.get(ALL_STEPS, {})) - {"budget", "second"}
    if strange:
        raise ValidationError(
            {"overrides": f"{ALL_STEPS}: expected budget or second, got {', '.join(sorted(strange))}"}
        )
    if clean(overrides) != overrides:
        raise ValidationError({"overrides": "contains an invalid character (NUL or half a surrogate pair)"})
