"""A report on a study that an earlier step made."""

from __future__ import annotations

from typing import Any

from annotator.hit_types.base import JSON
from annotator.models import Study
from evaluation.models import Report
from evaluation.pipelines.contract import CurrentStep, PipelineStep, PlannedStep, StepInRecipe, StepPlan
from evaluation.pipelines.option_checks import OptionError, any_text
from evaluation.services.report import report_create


def _list(value: Any) -> str:
    return "" if isinstance(value, list) else "expected a list of steps before this one"


class MakeReport(PipelineStep):
    """A report on ``study``, together with the studies of the steps that ``together`` names.

    ``labels_of`` names a simulator step; the report's tables use its labels instead of people's majority.
    """

    name = "report"
    title = "Reports"
    makes = "reports"
    of_study = True
    options = {"study": any_text, "together": _list, "labels_of": any_text}

    def check(self, step: StepInRecipe) -> None:
        super().check(step)
        before = {earlier["name"] for earlier in step.before or ()}
        if not set(map(str, step.options.get("together", []))) <= before:
            raise OptionError("together: expected a list of steps before this one")
        if "labels_of" in step.options and step.options["labels_of"] not in before:
            raise OptionError("labels_of: expected a simulate step before this one")

    def plan(self, step: PlannedStep) -> StepPlan:
        return step.plan()

    def advance(self, step: CurrentStep) -> JSON:
        report = Report.objects.filter(study=step.study).first()
        return {"report": (report or self.repeat(step, {})).pk}

    def repeat(self, step: CurrentStep, choices: JSON) -> Report:
        made = [step.pipeline.results[name] for name in step.options.get("together", [])]
        others = Study.objects.filter(slug__in=[result["study"] for result in made if "study" in result])
        chosen = {}
        if "labels_of" in step.options:
            run = step.pipeline.runs.filter(options__step=step.options["labels_of"]).order_by("pk").last()
            if run is not None and run.rater is not None:
                chosen["rule"] = f"single:{run.rater.name}"
        user = step.pipeline.created_by
        return report_create(study=step.study, others=list(others), choices=chosen, user=user)
