"""Kinds of step that ask a model: what they cost, and their runs in a pipeline."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_UP, Decimal
from typing import Any, ClassVar

from annotator.hit_types.base import JSON
from evaluation.core.step_kinds import STEP_KINDS
from evaluation.models import Endpoint, Report, Run
from evaluation.pipelines.budget import step_budget
from evaluation.pipelines.contract import CurrentStep, PipelineStep, PlannedStep, StepPlan
from evaluation.pipelines.endpoints import ModelAtEndpoint, step_endpoint
from evaluation.pipelines.moved import moved_refuse
from evaluation.pipelines.option_checks import any_text, json_object, money_amount
from evaluation.runs.create import NothingToAsk, RunPlan, run_save
from evaluation.runs.earlier import earlier_replies
from evaluation.runs.lifecycle import run_start
from evaluation.runs.request import Prices
from evaluation.runs.step import Step
from evaluation.selectors.run import run_progress

MILLION = Decimal(1_000_000)
#: Characters that a reply of an earlier step may add to a prompt.
EARLIER = 3_000


class ModelStep(PipelineStep, Step):
    """A kind of step whose runs ask a model: ``Step`` is what the engine needs of it."""

    options = {
        "model": any_text,
        "prompt": any_text,
        "endpoint": any_text,
        "parameters": json_object,
        "budget": money_amount,
    }
    words = {"calls": ("call", "calls"), "failed": ("failed",), "unparsable": ("unparsable",)}
    #: The fields of the page of a new run that only runs of such a kind have.
    run_fields: ClassVar[tuple[str, ...]]

    @abstractmethod
    def run_draft(self, *, owner: Any, endpoint: Endpoint, plan: RunPlan, options: JSON) -> Run:
        """An unsaved run over ``owner``, a study or a dataset; nothing is written.

        Raises ``ValidationError`` keyed by field, and ``NothingToAsk``.
        """

    def run_create(self, *, owner: Any, endpoint: Endpoint, plan: RunPlan, options: JSON) -> Run:
        """A run that isn't started yet; raises like ``run_draft``."""
        return run_save(run=self.run_draft(owner=owner, endpoint=endpoint, plan=plan, options=options))

    @abstractmethod
    def most_calls(self, step: PlannedStep) -> int:
        """The most calls of a step; adds what it makes to ``step.material``."""

    @abstractmethod
    def prompt_bytes(self, step: PlannedStep) -> int:
        """The size of the prompt without what it asks about."""

    def plan(self, step: PlannedStep) -> StepPlan:
        return self.plan_at(step, [step.endpoint])

    def plan_at(
        self, step: PlannedStep, endpoints: list[Endpoint], models: Sequence[str] | None = None
    ) -> StepPlan:
        """The plan if each endpoint gets all calls: every byte of a prompt is a token, and every reply as long as allowed."""
        calls = self.most_calls(step)
        if not calls:
            return step.plan()
        tokens_in = self.prompt_bytes(step) + step.material.longest + EARLIER
        tokens_out = int((step.options.get("parameters") or {}).get("max_tokens") or self.max_tokens)
        each = [(at.price_in * tokens_in + at.price_out * tokens_out) / MILLION for at in endpoints]
        cost = (sum(each, Decimal(0)) * calls).quantize(Decimal("0.0001"), ROUND_UP)
        plan = step.plan(calls * len(endpoints), cost)
        names = models or [str(step.options.get("model") or at.model) for at in endpoints]
        earlier = [
            earlier_replies(kind=self.name, model=name, endpoint=at)
            for name, at in zip(names, endpoints, strict=True)
        ]
        known = [
            one.cost(Prices.of(at), calls)
            for one, at in zip(earlier, endpoints, strict=True)
            if one is not None
        ]
        if len(known) < len(endpoints):
            return plan
        likely, low, high = (min(sum(costs, Decimal(0)), cost) for costs in zip(*known, strict=True))
        return replace(plan, likely=likely, low=low, high=high)

    def advance(self, step: CurrentStep) -> JSON | None:
        return self.run_advance(step)

    def repeat(self, step: CurrentStep, choices: JSON) -> Run | Report:
        return run_start(run=self.step_run(step, attach=False, choices=choices))

    def run_advance(
        self, step: CurrentStep, simulator: tuple[int, ModelAtEndpoint] | None = None
    ) -> JSON | None:
        """Start the run of a step, or check on it. ``simulator`` is the number and the model of one of several."""
        runs = step.runs.filter(options__simulator=simulator[0]) if simulator else step.runs
        run = runs.first()
        if run is None:
            try:
                run_start(run=self.step_run(step, attach=True, simulator=simulator))
            except NothingToAsk:
                return {"calls": 0, "left_out": "there was nothing to ask about"}
            step.wait()
            return None
        if run.state in Run.LIVE:
            step.wait()
            return None
        if run.state not in (Run.State.DONE, Run.State.INCOMPLETE):
            step.pause(f"run {run.pk} is {run.get_state_display()}: {run.reason}")
            return None
        result = self.result(run)
        if result["calls"] and not result["done"]:  # later steps would have nothing to work on
            failed = run.calls.exclude(error="").order_by("pk").first()
            first = f" The first one: {failed.error[:500].rstrip(' .')}." if failed is not None else ""
            step.pause(
                f"no call of run {run.pk} succeeded. {run.reason}{first} Fix the cause and resume the pipeline: the calls are "
                "then sent again."
            )
            return None
        return result | self.finished(step, run)

    def result(self, run: Run) -> JSON:
        """The numbers of a run that is over."""
        progress = run_progress(run)
        return {
            "run": run.pk,
            "calls": progress.total,
            "done": progress.done,
            "failed": progress.failed,
            "unparsable": progress.unparsable,
            "spent": f"{progress.spent:f}",
        }

    def finished(self, step: CurrentStep, run: Run) -> JSON:
        """What follows from a run that is over, as further numbers of the step's result."""
        return {}

    def step_run(
        self,
        step: CurrentStep,
        *,
        attach: bool,
        choices: JSON | None = None,
        simulator: tuple[int, ModelAtEndpoint] | None = None,
    ) -> Run:
        """The run of a step, not yet started; ``choices`` replace the step's own for this run."""
        pipeline, options = step.pipeline, step.options | (choices or {})
        endpoint = step_endpoint(
            step=step.content | {"options": step.content.get("options", {}) | (choices or {})},
            overrides=pipeline.overrides,
            endpoint=pipeline.endpoint,
            workspace_id=pipeline.dataset.workspace_id,
        )
        marks: JSON = {"step": step.name}
        if simulator is not None:
            marks["simulator"], asked = simulator
            endpoint, options["model"] = asked.endpoint, asked.model
        plan = RunPlan(
            model=str(options.pop("model", "")),
            prompt=str(options.pop("prompt", "")),
            parameters=options.pop("parameters", None) or {},
            budget_cost=step_budget(pipeline, options.pop("budget", None)),
            pipeline=pipeline if attach else None,
            created_by=pipeline.created_by,
        )
        options.pop("endpoint", None)
        moved_refuse(pipeline=pipeline, endpoint=endpoint, model=plan.model or endpoint.model)
        return self.run_for(step, endpoint=endpoint, plan=plan, options=options, marks=marks)

    def run_for(
        self, step: CurrentStep, *, endpoint: Endpoint, plan: RunPlan, options: JSON, marks: JSON
    ) -> Run:
        """The run of a step over the pipeline's dataset; ``marks`` are the options by which the step finds its run."""
        options = {"task": step.pipeline.recipe.content["task"]} | marks | options
        return self.run_create(owner=step.pipeline.dataset, endpoint=endpoint, plan=plan, options=options)


def model_steps() -> dict[str, ModelStep]:
    """The kinds of step that ask a model, by name: first those about a study, then by title."""
    kinds = [kind for kind in STEP_KINDS if isinstance(kind, ModelStep)]
    return {kind.name: kind for kind in sorted(kinds, key=lambda kind: (not kind.of_study, kind.title))}
