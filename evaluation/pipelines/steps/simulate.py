"""Simulators judge a study that an earlier step made: one model, or each of those that the pipeline names."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from annotator.hit_types.base import JSON
from annotator.hit_types.registry import hit_type_get
from annotator.models import Study
from evaluation.models import Endpoint, Run
from evaluation.pipelines.contract import CurrentStep, PlannedStep, StepPlan
from evaluation.pipelines.endpoints import models_studied, simulators_named
from evaluation.pipelines.model_step import ModelStep
from evaluation.pipelines.option_checks import any_text, whole_number
from evaluation.pipelines.slots import STUDIED, slot_asked
from evaluation.runs.create import RunPlan
from evaluation.simulators.prepare import Simulate
from evaluation.simulators.start import simulation_create, simulation_draft

#: A remark on the step: a model may find its own explanations easier to follow than others do.
SAME_MODEL = "a simulator is the model that is studied"
NAMED = "the pipeline names its simulators"


class SimulateStudy(ModelStep, Simulate):
    """Each item of ``study`` is judged by the step's model, or by every simulator that the pipeline names; ``samples`` asks
    several times."""

    name = "simulate"
    makes = "judgments"
    of_study = True
    options = ModelStep.options | {"study": any_text, "samples": whole_number(1, 100)}
    run_fields = (
        "study",
        "allow_own_model",
        "by_fingerprint",
        "samples",
        "together",
        "max_attempts",
        "max_unparsable",
    )

    def run_draft(self, *, owner: Study, endpoint: Endpoint, plan: RunPlan, options: JSON) -> Run:
        return simulation_draft(study=owner, endpoint=endpoint, plan=plan, **options)

    def run_create(self, *, owner: Study, endpoint: Endpoint, plan: RunPlan, options: JSON) -> Run:
        return simulation_create(study=owner, endpoint=endpoint, plan=plan, **options)

    def plan(self, step: PlannedStep) -> StepPlan:
        if not step.simulators:
            return super().plan(step)
        if slot_asked(step.content) in STUDIED:
            return step.plan(note=f"left out: {NAMED}")
        return self.plan_at(
            step,
            [asked.endpoint for asked in step.simulators],
            [asked.model or asked.endpoint.model for asked in step.simulators],
        )

    def most_calls(self, step: PlannedStep) -> int:
        items, hit_type = step.material.items.get(str(step.options.get("study")), (0, ""))
        return items * hit_type_get(hit_type).most_stages if items else 0

    def prompt_bytes(self, step: PlannedStep) -> int:
        _, hit_type = step.material.items[step.options["study"]]
        return len(hit_type_get(hit_type).prompt_text.encode())

    def advance(self, step: CurrentStep) -> JSON | None:
        """Every simulator that the pipeline names judges the study, at the same time; their numbers are put together."""
        pipeline = step.pipeline
        named = simulators_named(
            overrides=pipeline.overrides,
            endpoint=pipeline.endpoint,
            workspace_id=pipeline.dataset.workspace_id,
        )
        if not named:
            return super().advance(step)
        if slot_asked(step.content) in STUDIED:
            return {"left_out": NAMED}
        results: list[JSON] = []
        for simulator in enumerate(named):
            result = self.run_advance(step, simulator)
            if step.is_paused:
                return None
            results += [result] if result else []
        if len(results) < len(named):
            step.wait()
            return None
        together: JSON = {
            key: sum(result.get(key, 0) for result in results)
            for key in ("calls", "done", "failed", "unparsable")
        }
        together["spent"] = f"{sum((Decimal(result.get('spent', '0')) for result in results), Decimal(0)):f}"
        together["runs"] = [result["run"] for result in results if "run" in result]
        studied = any(asked.model in models_studied(pipeline) for asked in named)
        return together | ({"note": SAME_MODEL} if studied else {})

    def finished(self, step: CurrentStep, run: Run) -> JSON:
        return {"note": SAME_MODEL} if run.model in models_studied(step.pipeline) else {}

    def run_for(
        self, step: CurrentStep, *, endpoint: Endpoint, plan: RunPlan, options: JSON, marks: JSON
    ) -> Run:
        plan = replace(plan, samples=int(options.get("samples", 1)))
        run = simulation_create(study=step.study, endpoint=endpoint, plan=plan)
        run.options = marks
        run.save(update_fields=["options"])
        return run
