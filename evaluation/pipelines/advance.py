"""Pipelines: a recipe carried out on a dataset, step after step, each kept; killed anywhere, it goes on."""

from __future__ import annotations

import io
import json
import logging
from decimal import Decimal, InvalidOperation
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core.canonical import digest_of
from annotator.core.errors import Conflict
from annotator.hit_types.base import JSON
from annotator.models import Dataset, Study, User, Workspace
from annotator.services.imports.faults import ImportRefused
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_create
from evaluation.models import Endpoint, Pipeline, Recipe, Report, Run
from evaluation.pipelines.material_run import material_run_create
from evaluation.pipelines.material_write import GOLD, gold_explanations, questions_validate
from evaluation.pipelines.recipe import OF_A_STUDY, recipe_check
from evaluation.pipelines.rewards import PAPER_BINS
from evaluation.pipelines.step_options import ALL_STEPS, budget_left, second_model, step_options
from evaluation.pipelines.study_rows import study_rows
from evaluation.pipelines.training import (
    rewards_keep,
    tuning_step,
    tuning_work,
    tunings_cancel,
    tunings_retry,
)
from evaluation.runs.create import NothingToAsk, RunPlan
from evaluation.runs.lifecycle import run_cancel, run_resume, run_start
from evaluation.runs.text import clean
from evaluation.runs.wake import pipeline_wake
from evaluation.selectors.endpoint import endpoint_check
from evaluation.selectors.run import run_progress
from evaluation.services.report import report_create
from evaluation.simulators.start import simulation_create

log = logging.getLogger(__name__)
_LIVE = (Run.State.QUEUED, Run.State.RUNNING)


def recipe_save(
    *, content: JSON, workspace: Workspace | None = None, created_by: User | None = None
) -> Recipe:
    """Keep a recipe in a workspace; the same content is the same version, changed content a new one.

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
) -> Pipeline:
    """Begin a pipeline. ``overrides``: step name -> choices (and ``model``, ``prompt``, ``budget``) that win.

    Under ``"*"`` stands what goes for all of it: ``budget``, the most that all its runs may cost together, and
    ``second``, the model that a recipe calls ``{second}`` (the endpoint's own where none is named).
    """
    overrides_check(content=recipe.content, overrides=overrides)
    endpoint_check(endpoint=endpoint, workspace_id=dataset.workspace_id)
    if recipe.workspace_id != dataset.workspace_id:
        raise ValidationError({"recipe": "This recipe belongs to another workspace. Save it in this one."})
    with transaction.atomic():
        pipeline = Pipeline.objects.create(
            recipe=recipe,
            dataset=dataset,
            endpoint=endpoint,
            overrides=overrides or {},
            created_by=created_by,
        )
        transaction.on_commit(lambda: pipeline_wake(pipeline_pk=pipeline.pk))
    return pipeline


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
    strange = set(overrides.get(ALL_STEPS, {})) - {"budget", "second"}
    if strange:
        raise ValidationError(
            {"overrides": f"{ALL_STEPS}: expected budget or second, got {', '.join(sorted(strange))}"}
        )
    if clean(overrides) != overrides:
        raise ValidationError({"overrides": "contains an invalid character (NUL or half a surrogate pair)"})


def pipeline_advance(*, pipeline_pk: int) -> str:
    """Go on as far as can be without waiting for calls; returns the pipeline's state, or 'waiting'.

    Called twice at once, the second call waits for the first and then finds nothing to do.
    """
    while True:
        state = _advance(pipeline_pk)
        if state == "on" or (state == "waiting" and tuning_work(pipeline_pk=pipeline_pk)):
            continue
        return state


def _advance(pipeline_pk: int) -> str:
    """Take one step; "on" where the next one can be taken at once."""
    with transaction.atomic():
        pipeline = Pipeline.objects.select_for_update(no_key=True).filter(pk=pipeline_pk).first()
        if pipeline is None or pipeline.state in (Pipeline.State.DONE, Pipeline.State.CANCELLED):
            return pipeline.state if pipeline else "gone"
        steps = pipeline.recipe.content["steps"]
        if pipeline.step >= len(steps):
            pipeline.state, pipeline.finished_at = Pipeline.State.DONE, timezone.now()
            pipeline.save(update_fields=["state", "finished_at"])
            return pipeline.state
        step = steps[pipeline.step]
        try:
            done = _step(pipeline, step)
        except (ValidationError, ImportRefused, KeyError, ValueError) as error:
            done, pipeline.state = None, Pipeline.State.PAUSED
            said = "; ".join(error.messages) if isinstance(error, ValidationError) else str(error)
            pipeline.reason = f"{step['name']}: {said}"[:2000]
        if done is None:
            pipeline.save(update_fields=["state", "reason"])
            return pipeline.state if pipeline.state == Pipeline.State.PAUSED else "waiting"
        pipeline.results[step["name"]] = done
        pipeline.step += 1
        pipeline.state, pipeline.reason = Pipeline.State.RUNNING, ""
        pipeline.save(update_fields=["results", "step", "state", "reason", "study"])
        return "on"


def pipeline_cancel(*, pipeline: Pipeline) -> Pipeline:
    """Stop it for good, and the run that it waits for."""
    with transaction.atomic():
        pipeline = Pipeline.objects.select_for_update(no_key=True).get(pk=pipeline.pk)
        if pipeline.state != Pipeline.State.DONE:
            pipeline.state, pipeline.finished_at = Pipeline.State.CANCELLED, timezone.now()
            pipeline.save(update_fields=["state", "finished_at"])
            for run in pipeline.runs.filter(state__in=[*_LIVE, Run.State.PAUSED]):
                run_cancel(run=run)
            tunings_cancel(pipeline=pipeline)
    return pipeline


def pipeline_resume(*, pipeline: Pipeline) -> Pipeline:
    """Go on after a pause: with the run that paused, or with a new one where it was cancelled."""
    with transaction.atomic():
        row = Pipeline.objects.select_for_update(no_key=True).get(pk=pipeline.pk)
        if row.state in (Pipeline.State.DONE, Pipeline.State.CANCELLED):
            raise Conflict(f"{row} is {row.get_state_display()}.")
        for run in row.runs.filter(state=Run.State.PAUSED):
            run_resume(run=run)
        row.runs.filter(state__in=[Run.State.CANCELLED, Run.State.FAILED]).update(pipeline=None)
        tunings_retry(pipeline=row)
        row.state, row.reason = Pipeline.State.RUNNING, ""
        row.save(update_fields=["state", "reason"])
        transaction.on_commit(lambda: pipeline_wake(pipeline_pk=row.pk))
    return row


def pipeline_step_again(*, pipeline: Pipeline, name: str) -> Run | Study | Report:
    """Do one step of a pipeline again, alone: what is there stays, what is missing is asked for or added.

    Returns the run, started; the study, with the items that it lacked; or the new report. Raises
    ``ValidationError`` where there is no such step, where it was not reached yet, and where nothing is missing.
    """
    step = next((step for step in pipeline.recipe.content["steps"] if step["name"] == name), None)
    if step is None:
        raise ValidationError({"name": f"no step {name!r} in {pipeline.recipe}"})
    if name not in pipeline.results:
        raise ValidationError({"name": f"{name} was not reached yet"})
    if step["kind"] == "study":
        with transaction.atomic():
            row = Pipeline.objects.select_for_update(no_key=True).get(pk=pipeline.pk)
            row.results[name] = _study(row, step)
            row.save(update_fields=["results"])
        return Study.objects.get(slug=row.results[name]["study"])
    if step["kind"] == "report":
        return _report(pipeline, step)
    if step["kind"] == "fine_tune":
        raise ValidationError(
            {"name": f"{name}: a model is tuned once in a pipeline; start another pipeline"}
        )
    if step["kind"] == "validate":
        with transaction.atomic():
            row = Pipeline.objects.select_for_update(no_key=True).get(pk=pipeline.pk)
            found = _validate(row, step)
            if found is None:
                raise ValidationError({"name": row.reason})
            row.results[name] = found
            row.save(update_fields=["results"])
        return _study_of(pipeline, step)
    if step["kind"] == "explain" and step_options(pipeline, step).get("method") == GOLD:
        raise ValidationError(
            {"name": f"{name}: gold rationales are in the dataset; there is nothing to ask about"}
        )
    return run_start(run=_run_create(pipeline, step, attach=False))


def _validate(pipeline: Pipeline, step: JSON) -> JSON | None:
    """Mark the questions that a majority of their validators accepts; None while people still have to judge some."""
    from evaluation.ratings.validation import question_verdicts  # the web process must not hold numpy for it

    study, by = _study_of(pipeline, step), str(step_options(pipeline, step).get("by", "people"))
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


def _step(pipeline: Pipeline, step: JSON) -> JSON | None:
    """Do, or look after, one step; its result in numbers, or None while it is not over."""
    if step.get("without_second", {}) is None and not second_model(pipeline):
        return {"left_out": "no second model"}
    if step["kind"] == "study":
        return _study(pipeline, step)
    if step["kind"] in OF_A_STUDY and "study" not in pipeline.results[step_options(pipeline, step)["study"]]:
        return {"left_out": "its study was left out"}
    if step["kind"] == "report":
        study = _study_of(pipeline, step)
        report = Report.objects.filter(study=study).first()
        return {"report": (report or _report(pipeline, step)).pk}
    if step["kind"] == "validate":
        return _validate(pipeline, step)
    if step["kind"] == "fine_tune":
        options = step_options(pipeline, step)
        return tuning_step(
            pipeline=pipeline,
            step=step["name"],
            options=options,
            left=budget_left(pipeline, options.get("budget")),
        )
    if step["kind"] == "explain" and step_options(pipeline, step).get("method") == GOLD:
        return {"explanations": gold_explanations(dataset=pipeline.dataset)}
    run = pipeline.runs.filter(options__step=step["name"]).order_by("-pk").first()
    if run is None:
        try:
            run_start(run=_run_create(pipeline, step, attach=True))
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
    if step["kind"] == "reward":
        bins = int(step_options(pipeline, step).get("bins", PAPER_BINS))
        numbers |= rewards_keep(pipeline=pipeline, step=step["name"], run=run, bins=bins)
    return numbers


def _study_of(pipeline: Pipeline, step: JSON) -> Study:
    """The study that an earlier step made."""
    return Study.objects.get(slug=pipeline.results[step_options(pipeline, step)["study"]]["study"])


def _report(pipeline: Pipeline, step: JSON) -> Report:
    """A report on the step's study, together with those of the steps that ``together`` names.

    ``labels_of`` names the simulator step whose labels the report's tables rest on, instead of people's majority.
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
    study = _study_of(pipeline, step)
    return report_create(study=study, others=others, choices=choices, user=pipeline.created_by)


def _numbers(run: Run) -> JSON:
    progress = run_progress(run)
    parsed = run.calls.filter(parsed__isnull=False).values_list("parsed", flat=True)
    counts = {
        name: sum((p or {}).get(name, 0) for p in parsed)
        for name in ("duplicates", "duplicates_of_others", "missing")
    }
    return {
        "run": run.pk,
        "calls": progress.total,
        "done": progress.done,
        "failed": progress.failed,
        "unparsable": progress.unparsable,
        "spent": str(progress.spent),
        **{name: count for name, count in counts.items() if count},
    }


def _run_create(pipeline: Pipeline, step: JSON, *, attach: bool) -> Run:
    options = step_options(pipeline, step)
    model, prompt = str(options.pop("model", "")), str(options.pop("prompt", ""))
    parameters = options.pop("parameters", None)
    budget = options.pop("budget", None)
    plan = RunPlan(
        model=model,
        prompt=prompt,
        parameters=parameters or {},
        samples=int(options.get("samples", 1)) if step["kind"] == "simulate" else 1,
        budget_cost=budget_left(pipeline, budget),
        pipeline=pipeline if attach else None,
        created_by=pipeline.created_by,
    )
    if step["kind"] == "simulate":
        study = _study_of(pipeline, step)
        run = simulation_create(study=study, endpoint=pipeline.endpoint, plan=plan)
        run.options = {"step": step["name"]}
        run.save(update_fields=["options"])
        return run
    choices = {"task": pipeline.recipe.content["task"], "step": step["name"]} | options
    return material_run_create(
        kind=step["kind"], dataset=pipeline.dataset, endpoint=pipeline.endpoint, plan=plan, options=choices
    )


def _main_study(pipeline: Pipeline) -> str:
    """The study step that the recipe's report is on; without a report, its first study."""
    steps = pipeline.recipe.content["steps"]
    reported = [step["options"]["study"] for step in steps if step["kind"] == "report"]
    return str([*reported, *(step["name"] for step in steps if step["kind"] == "study")][0])


def _study(pipeline: Pipeline, step: JSON) -> JSON:
    """A draft study with an item for each piece of material; made again, it gets what is missing."""
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
        # Somebody took the address beforehand: their study gets nothing of this material.
        slug = f"{slug[:71]}-{digest_of([slug, settings.SECRET_KEY])[:8]}"
        found = Study.objects.filter(slug=slug, workspace=workspace).first()
    study = found or study_create(
        by=pipeline.created_by,
        workspace=workspace,
        hit_type=options["hit_type"],
        slug=slug,
        title=f"{pipeline.recipe.content.get('title', pipeline.recipe.name)} ({step['name']})"[:200],
    )
    result = material_import(study=study, file=io.BytesIO(lines.encode()), name="material.jsonl")
    if step["name"] == _main_study(pipeline):
        pipeline.study = study
    return {"study": slug, "items": result.items + result.unchanged, "warnings": len(result.warnings)}
