"""Pipelines and their recipes in the admin: create one, follow its progress, repeat single steps."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST
from unfold.decorators import display

from annotator.core.errors import Conflict
from annotator.core.tables.faults import FileRefused
from annotator.models import Membership, Study
from evaluation.admin.base import ReadOnlyAdmin, RowAction, WithActions, error_text
from evaluation.forms.pipelines import NewPipelineForm, PipelineBudgetForm
from evaluation.models import Pipeline, Recipe, Report, Run
from evaluation.pipelines.advance import (
    pipeline_cancel,
    pipeline_deployment_confirm,
    pipeline_resume,
    pipeline_step_again,
)
from evaluation.pipelines.control import pipeline_budget_set, pipeline_pause, pipeline_retry_failed
from evaluation.pipelines.endpoints import ALL_STEPS
from evaluation.pipelines.moved import moved_endpoints
from evaluation.pipelines.plan import likely_cost
from evaluation.pipelines.recipe import recipe_file, recipe_names
from evaluation.pipelines.tuning_control import tuning_cancel, tuning_give_up
from evaluation.pipelines.tuning_status import tunings_are_live, tunings_shown
from evaluation.runs.endpoint_settings import moved_to
from evaluation.selectors.pipeline import pipeline_get_for, pipeline_steps, pipelines_for, recipes_for

EDITOR = Membership.Role.EDITOR
#: Actions that confirm where endpoints are that have moved.
SAME_DEPLOYMENT = ("same-deployment", "same-deployment-cancel")
#: Actions whose buttons are beside the fine-tuning job that they are about.
OF_JOBS = ("cancel-job", "same-deployment-cancel", "give-up-job")


@admin.register(Pipeline)
class PipelineAdmin(WithActions):
    nothing_yet = "A pipeline carries out a recipe on a file of questions: explanations, follow-ups, studies, simulators and a report."
    list_display = ("__str__", "endpoint", "state_shown", "steps_shown", "created_at")
    list_filter = ("state", ("recipe", admin.RelatedOnlyFieldListFilter))
    change_form_outer_before_template = "admin/evaluation/pipeline_home.html"
    change_form_outer_after_template = "admin/evaluation/pipeline_preview_button.html"
    fields = ("recipe", "dataset", "endpoint", "overrides", "created_by", "created_at", "finished_at")

    creation_form = NewPipelineForm
    row_actions: ClassVar = {
        "resume": RowAction("Resume", ("paused",), pipeline_resume, "The pipeline has resumed."),
        "same-deployment": RowAction(
            "It's the same deployment: resume",
            ("paused",),
            pipeline_deployment_confirm,
            "The new deployment is confirmed, and the pipeline has resumed.",
            carries="deployments",
        ),
        "pause": RowAction("Pause", ("running",), pipeline_pause, "The pipeline is paused."),
        "retry": RowAction(
            "Retry failed calls",
            ("running", "paused", "done"),
            pipeline_retry_failed,
            "The failed calls are being retried. Repeat the later steps to use the new replies.",
        ),
        "cancel": RowAction(
            "Cancel for good",
            ("running", "paused"),
            pipeline_cancel,
            "The pipeline is cancelled.",
            asks="The pipeline can't be resumed. Its run and its fine-tuning job are cancelled too; what its steps have made stays. To "
            "stop it for a while, pause it instead.",
        ),
        "cancel-job": RowAction(
            "Cancel this job",
            ("running", "paused"),
            tuning_cancel,
            "The job is being cancelled. The pipeline pauses when the endpoint has confirmed it.",
            asks="The endpoint stops training and the job can't continue. What it has trained so far may be charged. You can start another "
            "job afterwards by resuming the pipeline.",
        ),
        "same-deployment-cancel": RowAction(
            "It's the same deployment: cancel the job there",
            ("cancelled",),
            pipeline_deployment_confirm,
            "The new deployment is confirmed, and the job is being cancelled there.",
            carries="deployments",
        ),
        "give-up-job": RowAction(
            "Stop waiting for the endpoint",
            ("running", "paused", "cancelled", "done"),
            tuning_give_up,
            "The job is taken as cancelled. If the endpoint still has it, cancel it there.",
            asks="Do this only if the endpoint is gone, or if you have cancelled the job there: a job that continues may be charged. The "
            "budget counts the most that the job can have cost.",
        ),
    }
    progress_template = "admin/evaluation/pipeline_progress.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pipeline]:
        return pipelines_for(user=request.user)

    @display(
        description="State",
        label={"running": "info", "done": "success", "paused": "warning", "cancelled": "danger"},
    )
    def state_shown(self, pipeline: Pipeline) -> tuple[str, str]:
        return pipeline.state, pipeline.get_state_display()

    @display(description="Steps")
    def steps_shown(self, pipeline: Pipeline) -> str:
        return f"{pipeline.step} of {len(pipeline.recipe.content['steps'])}"

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("preview/", view(require_POST(self.preview)), name="evaluation_pipeline_preview"),
            path("<int:pk>/again/", view(require_POST(self.again)), name="evaluation_pipeline_again"),
            path("<int:pk>/budget/", view(require_POST(self.budget)), name="evaluation_pipeline_budget"),
            path(
                "<int:pk>/fine-tuning/<int:tuning_pk>/file.jsonl",
                view(self.training_file),
                name="evaluation_pipeline_training_file",
            ),
            *super().get_urls(),
        ]

    def preview(self, request: HttpRequest) -> HttpResponse:
        """What each step of a new pipeline would ask and cost at most; nothing is created."""
        form: Any = self.get_form(request)(request.POST, request.FILES)
        plan = form.plan()
        context = self.admin_site.each_context(request) | {
            "form": form,
            "plan": plan,
            "calls": sum(step.calls for step in plan or []),
            "cost": sum((step.cost for step in plan or []), Decimal(0)),
            "likely": likely_cost(plan or []),
            "title": "Plan of a pipeline",
        }
        return render(request, "admin/evaluation/pipeline_preview.html", context)

    def budget(self, request: HttpRequest, pk: int) -> HttpResponse:
        pipeline = pipeline_get_for(user=request.user, pk=pk, role=EDITOR)
        form = PipelineBudgetForm(request.POST)
        try:
            if not form.is_valid():
                raise ValidationError(form.errors.as_data())
            pipeline_budget_set(pipeline=pipeline, budget=form.cleaned_data["budget"])
        except (Conflict, ValidationError) as error:
            messages.error(request, error_text(error))
        else:
            messages.success(request, "The budget has been changed.")
        return self.page_of(pk)

    def row_get(self, request: HttpRequest, pk: int, role: str = Membership.Role.VIEWER) -> Pipeline:
        return pipeline_get_for(user=request.user, pk=pk, role=role)

    def page_context(self, request: HttpRequest, row: Pipeline) -> dict[str, Any]:
        may = pipelines_for(user=request.user, role=EDITOR).filter(pk=row.pk).exists()
        tunings = tunings_shown(row)
        steps = pipeline_steps(row)
        actions = self.actions_of(row) if may else []
        if not any(step.has_failures for step in steps):
            actions = [action for action in actions if action[0] != "retry"]
        waits = row.state == Pipeline.State.PAUSED or any(tuning.is_being_cancelled for tuning in tunings)
        deployments = moved_to(moved_endpoints(row)) if waits else []
        if not deployments:
            actions = [action for action in actions if action[0] not in SAME_DEPLOYMENT]
        budget = row.overrides.get(ALL_STEPS, {}).get("budget")
        return {
            "pipeline": row,
            "steps": steps,
            "tunings": tunings,
            "live": row.state == Pipeline.State.RUNNING or tunings_are_live(tunings, row),
            "actions": [action for action in actions if action[0] not in OF_JOBS],
            "job_actions": dict(actions),
            "deployments": deployments,
            "budget_form": PipelineBudgetForm(initial={"budget": budget})
            if may and not row.finished_at
            else None,
        }

    def training_file(self, request: HttpRequest, pk: int, tuning_pk: int) -> HttpResponse:
        """The training file of a job as it was sent, as JSON lines."""
        pipeline = self.row_get(request, pk)
        tuning = get_object_or_404(pipeline.tunings, pk=tuning_pk)
        response = HttpResponse(tuning.file, content_type="application/x-ndjson")
        response["Content-Disposition"] = f'attachment; filename="pipeline-{pk}-{tuning.pk}-training.jsonl"'
        return response

    def again(self, request: HttpRequest, pk: int) -> HttpResponse:
        pipeline = pipeline_get_for(user=request.user, pk=pk, role=EDITOR)
        name = request.POST.get("step", "")
        try:
            made = pipeline_step_again(pipeline=pipeline, name=name)
        except (ValidationError, FileRefused) as error:
            messages.info(request, f"{name}: {error_text(error)}")
            return self.page_of(pk)
        messages.success(request, f"{name}: done again.")
        return redirect(address_of(made))


def address_of(made: Run | Study | Report) -> str:
    """The page of what a step made."""
    if isinstance(made, Run):
        return reverse("admin:evaluation_run_change", args=[made.pk])
    if isinstance(made, Study):
        return reverse("admin:annotator_study_change", args=[made.pk])
    return reverse("evaluation:report", args=[made.pk])


@admin.register(Recipe)
class RecipeAdmin(ReadOnlyAdmin):
    nothing_yet = "Start a pipeline with one of the recipes above; it's saved here with its version."
    list_display = ("__str__", "workspace", "title_shown", "steps_shown", "created_by", "created_at")
    list_filter = (("workspace", admin.RelatedOnlyFieldListFilter),)
    search_fields = ("name",)
    fields = ("workspace", "name", "version", "digest", "content", "created_by", "created_at")
    readonly_fields = fields
    list_before_template = "admin/evaluation/recipes_shipped.html"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Recipes that were saved; above them, those that ship."""
        shipped = [(name, recipe_file(name)) for name in recipe_names()]
        return super().changelist_view(request, {**(extra_context or {}), "shipped": shipped})

    @display(description="Title")
    def title_shown(self, recipe: Recipe) -> str:
        return str(recipe.content.get("title", ""))

    @display(description="Steps")
    def steps_shown(self, recipe: Recipe) -> str:
        return ", ".join(step["name"] for step in recipe.content["steps"])

    def get_queryset(self, request: HttpRequest) -> QuerySet[Recipe]:
        return recipes_for(user=request.user).select_related("workspace", "created_by")
