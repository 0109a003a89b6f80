"""Carry out one step of a pipeline: a run, a study, a report, a validation or a fine-tuning job."""

from __future__ import annotations

import io
import json
from decimal import Decimal

from django.conf import settings
from django.core.exceptions import ValidationError

from annotator.core.canonical import digest_of
from annotator.hit_types.base import JSON
from annotator.hit_types.registry import hit_type_get
from annotator.models import Study
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create
from evaluation.models import Pipeline, Report, Run
from evaluation.pipelines.endpoints import (
    SECOND,
    ModelAtEndpoint,
    models_studied,
    simulators_named,
    step_endpoint,
)
from evaluation.pipelines.material_run import material_run_create
from evaluation.pipelines.material_write import GOLD, gold_explanations, questions_validate
from evaluation.pipelines.moved import moved_refuse
from evaluation.pipelines.options import second_model, step_budget, step_options
from evaluation.pipelines.recipe import OF_A_STUDY
from evaluation.pipelines.study_rows import study_rows
from evaluation.pipelines.training import (
    rewards_keep,
    tuning_step,
)
from evaluation.prompts.rewards import PAPER_BINS
from evaluation.runs.create import NothingToAsk, RunPlan
from evaluation.runs.lifecycle import run_start
from evaluation.selectors.run import run_progress
from evaluation.services.report import report_create
from evaluation.simulators.start import simulation_create

_LIVE = (Run.State.QUEUED, Run.State.RUNNING)
#: A remark on a simulate step: a model may find its own explanations easier to follow than others do.
SAME_MODEL = "a simulator is the model that is studied"


def step_advance(pipeline: Pipeline, step: JSON) -> JSON | None:
    """Start a step, or check on it. Returns its result in numbers, or None while it is still going on."""
    if step.get("without_second", {}) is None and not second_model(pipeline):
        return {"left_out": "no second model"}
    if step["kind"] == "study":
        return step_study(pipeline, step)
    if step["kind"] in OF_A_STUDY and "study" not in pipeline.results[step_options(pipeline, step)["study"]]:
        return {"left_out": "its study was left out"}
    if step["kind"] == "report":
        study = study_of(pipeline, step)
        report = Report.objects.filter(study=study).first()
        return {"report": (report or step_report(pipeline, step)).pk}
    if step["kind"] == "validate":
        return step_validate(pipeline, step)
    if step["kind"] == "fine_tune":
        options = step_options(pipeline, step)
        return tuning_step(
            pipeline=pipeline,
            step=step["name"],
            options=options,
            left=step_budget(pipeline, options.get("budget")),
        )
    if step["kind"] == "explain" and step_options(pipeline, step).get("method") == GOLD:
        return {"explanations": gold_explanations(dataset=pipeline.dataset)}
    if step["kind"] == "simulate" and (named := _simulators(pipeline)):
        return _simulated(pipeline, step, named)
    run = pipeline.runs.filter(options__step=step["name"]).order_by("-pk").first()
    if run is None:
        try:
            run_start(run=step_run_create(pipeline, step, attach=True))
        except NothingToAsk:
            return {"calls": 0, "left_out": "there was nothing to ask about"}
        pipeline.state, pipeline.reason = Pipeline.State.RUNNING, ""
        return None
    if run.state in _LIVE:
        pipeline.state, pipeline.reason = Pipeline.State.RUNNING, ""
        return None
    if run.state not in (Run.State.DONE, Run.State.INCOMPLETE):
        pipeline.state = Pipeline.State.PAUSED
        pipeline.reason = f"{step['name']}: run {run.pk} is {run.get_state_display()}: {run.reason}"[:2000]
        return None
    numbers = _numbers(run)
    if _nothing_done(pipeline, step, run, numbers):
        return None
    if step["kind"] == "simulate" and run.model in models_studied(pipeline):
        numbers["note"] = SAME_MODEL
    if step["kind"] == "reward":
        bins = int(step_options(pipeline, step).get("bins", PAPER_BINS))
        numbers |= rewards_keep(pipeline=pipeline, step=step["name"], run=run, bins=bins)
    return numbers


def _nothing_done(pipeline: Pipeline, step: JSON, run: Run, numbers: JSON) -> bool:
    """Pause the pipeline if every call of a step has failed: later steps would have nothing to work on."""
    if numbers["done"] or not numbers["calls"]:
        return False
    failed = run.calls.exclude(error="").order_by("pk").first()
    said = f" The first one: {failed.error[:500].rstrip(' .')}." if failed is not None else ""
    pipeline.state = Pipeline.State.PAUSED
    pipeline.reason = (
        f"{step['name']}: no call of run {run.pk} succeeded. {run.reason}{said} Fix the cause and resume the pipeline: the "
        "calls are then sent again."
    )[:2000]
    return True


def _simulators(pipeline: Pipeline) -> list[ModelAtEndpoint]:
    return simulators_named(
        overrides=pipeline.overrides,
        endpoint=pipeline.endpoint,
        workspace_id=pipeline.dataset.workspace_id,
    )


def _simulated(pipeline: Pipeline, step: JSON, named: list[ModelAtEndpoint]) -> JSON | None:
    """Have every simulator that the pipeline names judge a study, at the same time; their numbers together."""
    if step.get("options", {}).get("model") == SECOND:
        return {"left_out": "the pipeline names its simulators"}
    numbers: list[JSON] = []
    for number, asked in enumerate(named):
        own = pipeline.runs.filter(options__step=step["name"], options__simulator=number)
        run = own.order_by("-pk").first()
        if run is None:
            try:
                run_start(run=step_run_create(pipeline, step, attach=True, simulator=(number, asked)))
            except NothingToAsk:
                numbers.append({"calls": 0})
        elif run.state in (Run.State.DONE, Run.State.INCOMPLETE):
            numbers.append(_numbers(run))
            if _nothing_done(pipeline, step, run, numbers[-1]):
                return None
        elif run.state not in _LIVE:
            pipeline.state = Pipeline.State.PAUSED
            said = f"run {run.pk} is {run.get_state_display()}: {run.reason}"
            pipeline.reason = f"{step['name']}: {said}"[:2000]
            return None
    if len(numbers) < len(named):
        pipeline.state, pipeline.reason = Pipeline.State.RUNNING, ""
        return None
    together: JSON = {
        key: sum(one.get(key, 0) for one in numbers) for key in ("calls", "done", "failed", "unparsable")
    }
    spent = sum((Decimal(one.get("spent", "0")) for one in numbers), Decimal(0))
    together["spent"] = f"{spent:f}"
    together["runs"] = [one["run"] for one in numbers if "run" in one]
    if any(asked.model in models_studied(pipeline) for asked in named):
        together["note"] = SAME_MODEL
    return together


def step_validate(pipeline: Pipeline, step: JSON) -> JSON | None:
    """Mark the questions that a majority of their validators accepts; None while some still need people's judgments."""
    # Imported late, because the web process doesn't load numpy.
    from evaluation.ratings.validation import question_verdicts

    study, by = study_of(pipeline, step), str(step_options(pipeline, step).get("by", "people"))
    if by not in ("people", "simulators"):
        raise ValidationError(f"by: {by!r} is not one of people, simulators")
    verdicts = question_verdicts(study=study, by=by)  # type: ignore[arg-type]
    wanted = study.redundancy if by == "people" and study.state != Study.State.CLOSED else 1
    short = sum(verdict.raters < wanted for verdict in verdicts)
    if short and study.state != Study.State.CLOSED:
        pipeline.state = Pipeline.State.PAUSED
        who = f"{wanted} people" if by == "people" else "a simulator"
        pipeline.reason = (
            f"{step['name']}: {short} of {len(verdicts)} questions still need a judgment by {who}. Launch "
            f"“{study.title}”, and resume the pipeline when it is complete or closed. To let simulators validate, "
            f'start the pipeline with the override {{"{step["name"]}": {{"by": "simulators"}}}}.'
        )[:2000]
        return None
    return questions_validate(study=study, dataset=pipeline.dataset, verdicts=verdicts) | {"by": by}


def study_of(pipeline: Pipeline, step: JSON) -> Study:
    """The study that an earlier step made."""
    return Study.objects.get(slug=pipeline.results[step_options(pipeline, step)["study"]]["study"])


def step_report(pipeline: Pipeline, step: JSON) -> Report:
    """Create a report on the step's study, together with the studies of the steps that ``together`` names.

    ``labels_of`` names a simulator step; the report's tables use its labels instead of people's majority.
    """
    options = step_options(pipeline, step)
    made = [pipeline.results[name] for name in options.get("together", [])]
    slugs = [result["study"] for result in made if "study" in result]
    others = list(Study.objects.filter(slug__in=slugs))
    choices = {}
    if "labels_of" in options:
        run = pipeline.runs.filter(options__step=options["labels_of"]).order_by("pk").last()
        if run is not None and run.rater is not None:
            choices["rule"] = f"single:{run.rater.name}"
    study = study_of(pipeline, step)
    return report_create(study=study, others=others, choices=choices, user=pipeline.created_by)


def _numbers(run: Run) -> JSON:
    progress = run_progress(run)
    counts: JSON = {}
    if run.kind != "simulate":  # a judgment may have fields of the same names
        parsed = list(run.calls.filter(parsed__isnull=False).values_list("parsed", flat=True))
        names = ("duplicates", "duplicates_of_others", "missing")
        counts = {name: sum((p or {}).get(name, 0) for p in parsed) for name in names}
    return {
        "run": run.pk,
        "calls": progress.total,
        "done": progress.done,
        "failed": progress.failed,
        "unparsable": progress.unparsable,
        "spent": f"{progress.spent:f}",
        **{name: count for name, count in counts.items() if count},
    }


def step_run_create(
    pipeline: Pipeline,
    step: JSON,
    *,
    attach: bool,
    choices: JSON | None = None,
    simulator: tuple[int, ModelAtEndpoint] | None = None,
) -> Run:
    """The run of a step, not yet started; ``choices`` replace the step's own for this run.

    ``simulator`` is the number and the model of one of several that judge the same study.
    """
    options = step_options(pipeline, step) | (choices or {})
    endpoint = step_endpoint(
        step=step | {"options": step.get("options", {}) | (choices or {})},
        overrides=pipeline.overrides,
        endpoint=pipeline.endpoint,
        workspace_id=pipeline.dataset.workspace_id,
    )
    options.pop("endpoint", None)
    marks: JSON = {"step": step["name"]}
    if simulator is not None:
        number, asked = simulator
        endpoint, options["model"], marks["simulator"] = asked.endpoint, asked.model, number
    model, prompt = str(options.pop("model", "")), str(options.pop("prompt", ""))
    parameters = options.pop("parameters", None)
    budget = options.pop("budget", None)
    plan = RunPlan(
        model=model,
        prompt=prompt,
        parameters=parameters or {},
        samples=int(options.get("samples", 1)) if step["kind"] == "simulate" else 1,
        budget_cost=step_budget(pipeline, budget),
        pipeline=pipeline if attach else None,
        created_by=pipeline.created_by,
    )
    moved_refuse(pipeline=pipeline, endpoint=endpoint, model=model or endpoint.model)
    if step["kind"] == "simulate":
        study = study_of(pipeline, step)
        run = simulation_create(study=study, endpoint=endpoint, plan=plan)
        run.options = marks
        run.save(update_fields=["options"])
        return run
    options = {"task": pipeline.recipe.content["task"]} | marks | options
    return material_run_create(
        kind=step["kind"], dataset=pipeline.dataset, endpoint=endpoint, plan=plan, options=options
    )


def _main_study(pipeline: Pipeline) -> str:
    """The name of the study step that the recipe's report is on; without a report, of its first study step."""
    steps = pipeline.recipe.content["steps"]
    reported = [step["options"]["study"] for step in steps if step["kind"] == "report"]
    return str([*reported, *(step["name"] for step in steps if step["kind"] == "study")][0])


def _variant(options: JSON) -> str:
    """The only variant of the HIT type that the step's study takes; empty if the step does not choose one."""
    kind = hit_type_get(options["hit_type"])
    chosen = str(options.get(kind.variant_field, ""))
    return chosen if chosen in kind.variants else ""


def step_study(pipeline: Pipeline, step: JSON) -> JSON:
    """Create a draft study with an item for each piece of material; repeated, add the items that are missing."""
    options = step_options(pipeline, step)
    workspace = pipeline.dataset.workspace
    slug = f"{pipeline.recipe.name}-{pipeline.pk}-{step['name']}"[:80]
    rows = study_rows(
        hit_type=options["hit_type"],
        dataset=pipeline.dataset,
        systems=options.get("systems") or (),
        choices=options,
    )
    lines = "\n".join(json.dumps(row) for row in rows)
    if not lines:
        return {"left_out": "there was no material to make items from"}
    found = Study.objects.filter(slug=slug).first()
    if found is not None and found.workspace_id != pipeline.dataset.workspace_id:
        # A study of another workspace has this slug already, and must not get any of this material.
        slug = f"{slug[:71]}-{digest_of([slug, settings.SECRET_KEY])[:8]}"
        found = Study.objects.filter(slug=slug, workspace=workspace).first()
    study = found or study_create(
        by=pipeline.created_by,
        workspace=workspace,
        hit_type=options["hit_type"],
        variant=_variant(options),
        slug=slug,
        title=f"{pipeline.recipe.content.get('title', pipeline.recipe.name)} ({step['name']})"[:200],
    )
    result = material_import(study=study, file=io.BytesIO(lines.encode()), name="material.jsonl")
    if step["name"] == _main_study(pipeline):
        pipeline.study = study
    return {"study": slug, "items": result.items + result.unchanged, "warnings": len(result.warnings)}
