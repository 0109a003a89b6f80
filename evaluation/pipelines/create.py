"""Save a recipe, check overrides, and create a pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.canonical import digest_of
from annotator.hit_types.base import JSON
from annotator.models import Dataset, User, Workspace
from evaluation.models import Endpoint, Pipeline, Recipe
from evaluation.pipelines.endpoints import (
    endpoints_check,
    own_model_check,
    simulators_check,
    with_slots,
)
from evaluation.pipelines.recipe import recipe_check
from evaluation.pipelines.slots import ALL_STEPS, SLOTS, slot_asked, slots_named
from evaluation.runs.text import clean
from evaluation.runs.wake import pipeline_wake
from evaluation.selectors.endpoint import endpoint_check
from evaluation.selectors.material import Part, parts_of

#: The overrides that apply to the whole pipeline.
FOR_ALL = frozenset(
    {"allow_own_model", "budget", "simulators", *SLOTS, *(f"{slot}_endpoint" for slot in SLOTS)}
)


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
    check_simulators: bool = False,
) -> Pipeline:
    """Create a pipeline and start it.

    ``overrides`` maps a step's name to choices (and ``model``, ``prompt``, ``budget``) that replace the recipe's. The key
    ``"*"`` applies to the whole pipeline: ``budget``, the most that all its runs may cost together; ``second``, ``third``
    and ``evaluator``, the models that a recipe calls ``{second}`` and so on (by default the endpoint's own), at
    ``second_endpoint`` and so on; and ``simulators``, the models that judge instead of those that the recipe names. A
    step's ``endpoint`` is the name of its own.

    ``check_simulators``: refuse a model that is studied as a simulator, unless ``"*"`` has ``allow_own_model``. Pages and
    commands set it.

    Raises ``ValidationError`` for overrides that don't fit the recipe, for a recipe or endpoint of another workspace, for a
    dataset without questions in a part that the recipe needs, and without an evaluator where models are compared.
    """
    overrides_check(content=recipe.content, overrides=overrides)
    endpoint_check(endpoint=endpoint, workspace_id=dataset.workspace_id)
    if recipe.workspace_id != dataset.workspace_id:
        raise ValidationError({"recipe": "This recipe belongs to another workspace. Save it in this one."})
    parts_check(content=recipe.content, parts=parts_of(dataset).values())
    overrides = with_slots(overrides or {}, workspace_id=dataset.workspace_id)
    evaluator_check(content=recipe.content, overrides=overrides, endpoint=endpoint, dataset=dataset)
    endpoints_check(
        content=recipe.content, overrides=overrides, endpoint=endpoint, workspace_id=dataset.workspace_id
    )
    if check_simulators:
        own_model_check(
            content=recipe.content,
            overrides=overrides,
            endpoint=endpoint,
            workspace_id=dataset.workspace_id,
        )
    with transaction.atomic():
        pipeline = Pipeline.objects.create(
            recipe=recipe,
            dataset=dataset,
            endpoint=endpoint,
            overrides=overrides,
            created_by=created_by,
        )
        transaction.on_commit(lambda: pipeline_wake(pipeline_pk=pipeline.pk))
    return pipeline


def evaluator_check(*, content: JSON, overrides: JSON, endpoint: Endpoint, dataset: Dataset) -> None:
    """Check that models that are compared on one dataset have one evaluator; raises ``ValidationError`` (evaluator).

    A model that writes its own counterfactuals and splits its own explanations differs from the others in more than its
    explanations. A pipeline without an evaluator, which is then the studied model, can only be the first on its dataset.
    """
    if not any(slot_asked(step) == "evaluator" for step in content["steps"]):
        return
    own = slots_named(overrides).get("evaluator", endpoint.model)
    others = Pipeline.objects.filter(dataset=dataset, recipe__name=content["name"])
    for other in others.exclude(state=Pipeline.State.CANCELLED).select_related("endpoint"):
        theirs = slots_named(other.overrides).get("evaluator", other.endpoint.model)
        if other.endpoint.model != endpoint.model and theirs != own:
            raise ValidationError(
                {
                    "evaluator": f"Pipeline {other.pk} studies {other.endpoint.model!a} on this dataset with the evaluator "
                    f"{theirs!a}. To compare models, one evaluator must write the counterfactuals and split the explanations "
                    f"of all: name {theirs!a} here, or use a dataset of its own."
                }
            )


def parts_check(*, content: JSON, parts: Iterable[Part]) -> None:
    """Check that a recipe that trains on some questions and tests on others finds both; raises ``ValidationError``. ``parts`` are those of
    the dataset's instances."""
    wanted = {str(step.get("options", {}).get("part", "all")) for step in content["steps"]} - {"all"}
    if not wanted:
        return
    parts = list(parts)
    there = set(parts)
    # Without validation questions the last round is used.
    if missing := sorted(wanted - there - {"validation"}):
        raise ValidationError(
            {
                "dataset": f"None of its {len(parts):,} instances is in the {missing[0]} part, and this recipe trains on one part"
                " and tests on the other. Name the part of each in a column part of the file (train, validation or test). Without that "
                "column, about one instance in five is in the test part, depending on its key: use more instances."
            }
        )


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
    whole = overrides.get(ALL_STEPS, {})
    if strange := set(whole) - FOR_ALL:
        expected, got = ", ".join(sorted(FOR_ALL)), ", ".join(sorted(strange))
        raise ValidationError({"overrides": f"{ALL_STEPS}: expected one of {expected}, got {got}"})
    simulators_check(whole.get("simulators", []))
    if not isinstance(whole.get("allow_own_model", False), bool):
        raise ValidationError({"overrides": f"{ALL_STEPS}: allow_own_model: expected true or false"})
    if clean(overrides) != overrides:
        raise ValidationError({"overrides": "contains an invalid character (NUL or half a surrogate pair)"})
