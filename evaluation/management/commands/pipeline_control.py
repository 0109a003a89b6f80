"""``manage.py pipeline_control PK show|pause|resume|cancel|same-deployment|retry|budget|cancel-job|give-up-job``: control a
pipeline."""

from __future__ import annotations

from typing import Any

from evaluation.management.control import ControlCommand
from evaluation.models import Pipeline
from evaluation.pipelines.advance import pipeline_cancel, pipeline_deployment_confirm, pipeline_resume
from evaluation.pipelines.control import pipeline_budget_set, pipeline_pause, pipeline_retry_failed
from evaluation.pipelines.tuning_control import tuning_cancel, tuning_give_up
from evaluation.pipelines.tuning_status import tunings_shown


class Command(ControlCommand):
    help = (
        "Show a pipeline, pause, resume or cancel it, confirm that its endpoints' new addresses are the same deployments, "
        "retry its failed calls, change its budget, cancel its fine-tuning job (cancel-job), or stop waiting until the endpoint "
        "has cancelled it (give-up-job). Show lists its fine-tuning jobs too."
    )
    noun = "pipeline"
    rows = Pipeline.objects.select_related("recipe", "dataset")
    actions = {
        "pause": pipeline_pause,
        "resume": pipeline_resume,
        "cancel": pipeline_cancel,
        "cancel-job": tuning_cancel,
        "give-up-job": tuning_give_up,
    }
    confirm = pipeline_deployment_confirm
    retry = pipeline_retry_failed
    deployment_help = f"{ControlCommand.deployment_help}; repeat it for several endpoints"
    cost_help = "budget: the most that all its runs may cost; none without it."

    def budget_set(self, pipeline: Pipeline, options: dict[str, Any]) -> None:
        pipeline_budget_set(pipeline=pipeline, budget=options["cost"])

    def show(self, pipeline: Pipeline) -> None:
        reason = f": {pipeline.reason}" if pipeline.reason else "."
        steps = len(pipeline.recipe.content["steps"])
        self.stdout.write(
            f"Pipeline {pipeline.pk} is {pipeline.get_state_display()} at step {pipeline.step} of {steps}{reason}"
        )
        for one in tunings_shown(pipeline):
            replaced = "" if one.is_current else ", replaced by another job"
            self.stdout.write(f"Fine-tuning of {one.tuning.step}: {one.state}{replaced}")
            for name, value in one.facts():
                self.stdout.write(f"  {name}: {value}")
