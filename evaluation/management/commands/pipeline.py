"""``manage.py pipeline RECIPE --dataset FILE --endpoint NAME``: carry out a recipe from material to report."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.words import plural
from annotator.models import Workspace
from evaluation.management.commands.simulate import money
from evaluation.models import Pipeline, Report, Run
from evaluation.pipelines.advance import pipeline_advance
from evaluation.pipelines.create import overrides_check, pipeline_create, recipe_save
from evaluation.pipelines.endpoints import ALL_STEPS, simulators_read
from evaluation.pipelines.plan import StepPlan, pipeline_plan
from evaluation.pipelines.recipe import RecipeError, recipe_check, recipe_file, recipe_names
from evaluation.runs.inline import run_inline
from evaluation.selectors.endpoint import endpoint_named, endpoints_usable_in
from evaluation.services.dataset import DatasetFaults, dataset_inputs, dataset_load
from evaluation.services.report import report_compute


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
            help="The workspace that owns it: its number, or the user name of the person whose own workspace it is.",
        )
        parser.add_argument("--limit", type=int, help="Use only this many instances.")
        parser.add_argument(
            "--second", default="", help="The second model, for recipes whose generators alternate."
        )
        parser.add_argument(
            "--second-endpoint",
            default="",
            help="The endpoint of the second model; default: the first one's.",
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
        workspace = self._workspace(options["workspace"])
        owner = workspace.pk if workspace else None
        endpoint = endpoint_named(name=options["endpoint"], workspace_id=owner)
        if endpoint is None:
            names = ", ".join(endpoints_usable_in(owner).values_list("name", flat=True)) or "none"
            raise CommandError(f"no endpoint {options['endpoint']!r}; expected one of: {names}")
        overrides = overrides_read(options["override"])
        path: Path = options["dataset"]
        if not path.is_file():
            raise CommandError(f"no file {path}")
        for_all = {
            "second": options["second"],
            "second_endpoint": options["second_endpoint"],
            "budget": options["budget"],
        }
        whole: dict[str, Any] = {
            name: str(value) for name, value in for_all.items() if value not in (None, "")
        }
        if options["simulator"]:
            whole["simulators"] = simulators_read(",".join(options["simulator"]))
        if options["allow_own_model"]:
            whole["allow_own_model"] = True
        overrides |= {ALL_STEPS: whole} if whole else {}
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
                name=options["name"] or f"pipeline: {path.stem}",
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
        except (DatasetFaults, RecipeError, KeyError) as error:
            raise CommandError(str(error.args[0] if isinstance(error, KeyError) else error)) from None
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        self.stdout.write(f"pipeline {pipeline.pk}: {recipe} on {dataset} ({plural(new, 'new instance')})")
        self._follow(pipeline, inline=options["inline"])

    def _workspace(self, given: str) -> Workspace | None:
        """The workspace with this number or owner's user name. None if not given; then only superusers reach the
        result."""
        if not given:
            return None
        key = {"pk": given} if given.isdecimal() else {"personal_of__username": given}
        found = Workspace.objects.filter(**key).first()
        if found is None:
            raise CommandError(f"no workspace {given!r}; give its number or a user name")
        return found

    def _say_plan(self, plans: list[StepPlan]) -> None:
        self.stdout.write("At most:")
        for plan in plans:
            asked = f"{plural(plan.calls, 'call')}, {plan.cost:.4f}" if plan.calls else "no calls"
            self.stdout.write(f"  {plan.name}: {plan.note or asked}")
        calls, cost = sum(plan.calls for plan in plans), sum(plan.cost for plan in plans)
        self.stdout.write(
            f"  in all {plural(calls, 'call')}, {cost:.4f} in the currency of the endpoint's prices, without retries"
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
