"""``manage.py pipeline_control PK show|pause|resume|cancel|same-deployment|retry|budget|cancel-job|give-up-job``: control a
pipeline."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.errors import Conflict
from evaluation.management.commands.simulate import money
from evaluation.models import Pipeline
from evaluation.pipelines.advance import pipeline_cancel, pipeline_deployment_confirm, pipeline_resume
from evaluation.pipelines.control import pipeline_budget_set, pipeline_pause, pipeline_retry_failed
from evaluation.pipelines.tuning_control import tuning_cancel, tuning_give_up
from evaluation.pipelines.tuning_status import tunings_shown

ACTIONS: dict[str, Any] = {
    "pause": pipeline_pause,
    "resume": pipeline_resume,
    "cancel": pipeline_cancel,
    "cancel-job": tuning_cancel,
    "give-up-job": tuning_give_up,
}


class Command(BaseCommand):
    help = (
        "Show a pipeline, pause, resume or cancel it, confirm that its endpoints' new addresses are the same deployments, "
        "retry its failed calls, change its budget, cancel its fine-tuning job (cancel-job), or stop waiting until the endpoint "
        "has cancelled it (give-up-job). Show lists its fine-tuning jobs too."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("pipeline", type=int, help="The number of the pipeline.")
        parser.add_argument("action", choices=["show", *ACTIONS, "same-deployment", "retry", "budget"])
        parser.add_argument(
            "--deployment",
            action="append",
            help="same-deployment: where the endpoint is now, as the error without it names it; repeat it for several endpoints.",
        )
        parser.add_argument(
            "--call", type=int, action="append", help="retry: this call only; may be repeated."
        )
        parser.add_argument(
            "--cost", type=money, help="budget: the most that all its runs may cost; none without it."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        pipeline = Pipeline.objects.select_related("recipe", "dataset").filter(pk=options["pipeline"]).first()
        if pipeline is None:
            raise CommandError(f"There is no pipeline {options['pipeline']}.")
        try:
            self._act(pipeline, options)
        except (Conflict, ValidationError) as error:
            raise CommandError("; ".join(getattr(error, "messages", [str(error)]))) from None
        pipeline.refresh_from_db()
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

    def _act(self, pipeline: Pipeline, options: dict[str, Any]) -> None:
        action = options["action"]
        if action == "same-deployment":
            pipeline_deployment_confirm(pipeline=pipeline, deployments=options["deployment"] or [])
        elif action in ACTIONS:
            ACTIONS[action](pipeline=pipeline)
        elif action == "retry":
            again = pipeline_retry_failed(pipeline=pipeline, calls=options["call"])
            self.stdout.write(f"{again} failed {'call is' if again == 1 else 'calls are'} sent again.")
        elif action == "budget":
            pipeline_budget_set(pipeline=pipeline, budget=options["cost"])
