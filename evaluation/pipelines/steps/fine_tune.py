"""A model is fine-tuned on the rewarded rationales so far (Joshi et al. 2023, section 4)."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from annotator.hit_types.base import JSON
from evaluation.models import Report
from evaluation.pipelines.contract import CurrentStep, PipelineStep, PlannedStep, StepPlan
from evaluation.pipelines.option_checks import any_text, money_amount, whole_number
from evaluation.pipelines.training import tuning_step


class FineTuneModel(PipelineStep):
    """``model`` is trained for ``epochs``; later steps ask the trained model as ``{tuned STEP}``.

    ``price``, per million tokens that are trained on, holds the job within the budget.
    """

    name = "fine_tune"
    title = "Fine-tuning"
    makes = "models"
    words = {"examples": ("training example", "training examples")}
    options = {
        "model": any_text,
        "suffix": any_text,
        "epochs": whole_number(1, 100),
        "price": money_amount,
        "budget": money_amount,
    }

    def plan(self, step: PlannedStep) -> StepPlan:
        return step.plan()

    def advance(self, step: CurrentStep) -> JSON | None:
        return tuning_step(step)

    def repeat(self, step: CurrentStep, choices: JSON) -> Report:
        raise ValidationError(
            {"name": f"{step.name}: a model is tuned once in a pipeline; start another pipeline"}
        )
