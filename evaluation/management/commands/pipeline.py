"""``manage.py pipeline RECIPE --dataset FILE --endpoint NAME``: carry out a recipe from material to report."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.tables.faults import FileRefused
from annotator.core.words import plural
from evaluation.management.control import money
from evaluation.management.endpoints import endpoint_and_workspace
from evaluation.models import Pipeline, Report, Run
from evaluation.pipelines.advance import pipeline_advance
from evaluation.pipelines.create import overrides_check, pipeline_create, recipe_save
from evaluation.pipelines.endpoints import overrides_for_all
from evaluation.pipelines.plan import StepPlan, likely_cost, pipeline_plan
from evaluation.pipelines.recipe import RecipeError, recipe_check, recipe_file, recipe_names
from evaluation.pipelines.slots import SLOTS
from evaluation.runs.inline import run_inline
from evaluation.selectors.material import PIPELINE_PREFIX
from evaluation.services.dataset import dataset_inputs, dataset_load
from evaluation.services.report import report_compute

#: What each slot of a recipe is for.
SLOT_HELP = {
    "second": "A second model, for recipes that study several.",
    "third": "A third model, for recipes that study three.",
    "evaluator": "The model that writes counterfactuals, splits explanations and judges, the same for all models compared.",
}


def overrides_read(given: list[str]) -> dict[str, dict[str, Any]]:
    """Step -> choices, from texts like ``counterfactuals.n=5``; raises ``CommandError``."""
    found: dict[str, dict[str, Any]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        step, dot, choice = name.rpartition(".")
        if not (equals and dot and step and choice):
            raise CommandError(f"--override {text}: expected STEP.CHOICE=VALUE, such as counterfactuals.n=5")
        try:
            found.setdefault(step, {})[choice] = json.loads(value)
        except ValueError:
            found.setdefault(step, {})[choice] = value
    return found


class Command(BaseCommand):
    help = (
        "Carry out a recipe on a file of questions, documents or queries, and print the result of each step."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("recipe", help=f"A JSON file, or a built-in recipe: {', '.join(recipe_names())}.")
        parser.add_argument("--dataset", required=True, type=Path, help="JSON lines or a JSON array.")
        parser.add_argument("--name", default="", help="The dataset's name; default: the file's.")
        parser.add_argument("--endpoint", required=True, help="The endpoint's name.")
        parser.add_argument(
            "--workspace",
            default="",
            help="The workspace that owns it: its number, or a user name. Needed only if several have an endpoint of this name.",
        )
        parser.add_argument("--limit", type=int, help="Use only this many instances.")
        for slot, what in SLOT_HELP.items():
            parser.add_argument(f"--{slot}", default="", help=f"{what} Default: none.")
            parser.add_argument(
                f"--{slot}-endpoint", default="", help="Its endpoint; default: the pipeline's."
            )
        parser.add_argument(
            "--simulator",
            action="append",
            default=[],
            metavar="ENDPOINT[ MODEL]",
            help="A model that judges, instead of those that the recipe names. May be given several times.",
        )
        parser.add_argument(
            "--allow-own-model",
            action="store_true",
            help="Allow the studied models as simulators, as in the papers.",
        )
        parser.add_argument("--budget", type=money, help="The most that all its runs may cost together.")
        parser.add_argument(
            "--override",
            action="append",
            default=[],
            metavar="STEP.CHOICE=VALUE",
            help="Replace one choice of a step; VALUE is JSON or a plain text. May be given several times.",
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="Print the calls and the maximum cost of each step, and stop.",
        )
        parser.add_argument(
            "--inline", action="store_true", help="Work in this process instead of in Celery workers."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint, workspace = endpoint_and_workspace(name=options["endpoint"], workspace=options["workspace"])
        owner = workspace.pk if workspace else None
        overrides = overrides_read(options["override"])
        path: Path = options["dataset"]
        if not path.is_file():
            raise CommandError(f"no file {path}")
        overrides |= overrides_for_all(
            slots={name: options[name] for slot in SLOTS for name in (slot, f"{slot}_endpoint")},
            budget=options["budget"],
            simulators=",".join(options["simulator"]),
            allow_own_model=options["allow_own_model"],
        )
        try:
            content = recipe_check(self._recipe(options["recipe"]))
            overrides_check(content=content, overrides=overrides)
            inputs = dataset_inputs(path=path, task=content["task"], limit=options["limit"])
            self._say_plan(
                pipeline_plan(
                    content=content,
                    instances=len(inputs),
                    longest=max(map(len, inputs)),
                    endpoint=endpoint,
                    overrides=overrides,
                    workspace_id=owner,
                )
            )
            if options["dry_run"]:
                return
            recipe = recipe_save(content=content, workspace=workspace)
            dataset, new = dataset_load(
                name=options["name"] or f"{PIPELINE_PREFIX}{path.stem}",
                path=path,
                workspace=workspace,
                task=recipe.content["task"],
                limit=options["limit"],
            )
            pipeline = pipeline_create(
                recipe=recipe,
                dataset=dataset,
                endpoint=endpoint,
                overrides=overrides,
                check_simulators=True,
            )
        except (FileRefused, RecipeError, KeyError) as error:
            raise CommandError(str(error.args[0] if isinstance(error, KeyError) else error)) from None
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        self.stdout.write(f"pipeline {pipeline.pk}: {recipe} on {dataset} ({plural(new, 'new instance')})")
        self._follow(pipeline, inline=options["inline"])

    def _say_plan(self, plans: list[StepPlan]) -> None:
        self.stdout.write("At most:")
        for plan in plans:
            asked = f"{plural(plan.calls, 'call')}, {plan.cost:.4f}" if plan.calls else "no calls"
            if plan.calls and plan.likely is not None:
                asked += f"; by earlier replies about {plan.likely:.4f} ({plan.low:.4f} to {plan.high:.4f})"
            self.stdout.write(f"  {plan.name}: {plan.note or asked}")
        calls, cost = sum(plan.calls for plan in plans), sum(plan.cost for plan in plans)
        self.stdout.write(
            f"  in all {plural(calls, 'call')}, {cost:.4f} in the currency of the endpoint's prices, without retries"
        )
        if likely := likely_cost(plans):
            about, low, high = likely
            self.stdout.write(
                f"  by earlier replies of the same models about {about:.4f} ({low:.4f} to {high:.4f})"
            )

    def _recipe(self, name: str) -> Any:
        if name.endswith(".json"):
            try:
                return json.loads(Path(name).read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise CommandError(f"{name}: {error}") from None
        return recipe_file(name)

    def _follow(self, pipeline: Pipeline, *, inline: bool) -> None:
        told: set[str] = set()
        while True:
            told_before, worked = len(told), False
            if inline:
                pipeline_advance(pipeline_pk=pipeline.pk)
                for run in pipeline.runs.filter(state=Run.State.RUNNING):
                    run_inline(run=run)
                    worked = True
            pipeline.refresh_from_db()
            for name in (step["name"] for step in pipeline.recipe.content["steps"]):
                result = pipeline.results.get(name)
                if result is not None and name not in told:
                    told.add(name)
                    self.stdout.write(f"  {name}: " + ", ".join(f"{k} {v}" for k, v in result.items()))
            if pipeline.state != Pipeline.State.RUNNING:
                break
            if not inline:
                time.sleep(1)
            elif not worked and len(told) == told_before:
                time.sleep(0.2)  # the next step waits for another process
        if inline:
            for result in pipeline.results.values():
                if (
                    "report" in result
                    and Report.objects.get(pk=result["report"]).state == Report.State.QUEUED
                ):
                    report_compute(report_pk=result["report"])
        if pipeline.state == Pipeline.State.PAUSED:
            raise CommandError(f"the pipeline pauses at {pipeline.reason}")
        self.stdout.write(f"pipeline {pipeline.pk} is {pipeline.get_state_display()}")
