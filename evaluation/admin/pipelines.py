"""Pipelines and their recipes in the admin: create one, follow its progress, repeat single steps."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST
from unfold.decorators import display

from annotator.models import Membership, Study
from annotator.services.imports.faults import ImportRefused
from evaluation.admin.base import ReadOnlyAdmin, RowAction, WithActions, error_text
from evaluation.forms.pipelines import NewPipelineForm
from evaluation.models import Pipeline, Recipe, Report, Run
from evaluation.pipelines.advance import pipeline_cancel, pipeline_resume, pipeline_step_again
from evaluation.selectors.pipeline import pipeline_get_for, pipeline_steps, pipelines_for, recipes_for

EDITOR = Membership.Role.EDITOR


@admin.register(Pipeline)
class PipelineAdmin(WithActions):
    list_display = ("__str__", "endpoint", "state_shown", "steps_shown", "created_at")
    list_filter = ("state", ("recipe", admin.RelatedOnlyFieldListFilter))
    change_form_outer_before_template = "admin/evaluation/pipeline_home.html"
    fields = ("recipe", "dataset", "endpoint", "overrides", "created_by", "created_at", "finished_at")

    creation_form = NewPipelineForm
    row_actions: ClassVar = {
        "resume": RowAction("Resume", ("paused",), pipeline_resume, "The pipeline has resumed."),
        "cancel": RowAction(
            "Cancel for good", ("running", "paused"), pipeline_cancel, "The pipeline is cancelled."
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
        again = self.admin_site.admin_view(require_POST(self.again))
        return [path("<int:pk>/again/", again, name="evaluation_pipeline_again"), *super().get_urls()]

    def row_get(self, request: HttpRequest, pk: int, role: str = Membership.Role.VIEWER) -> Pipeline:
        return pipeline_get_for(user=request.user, pk=pk, role=role)

    def page_context(self, request: HttpRequest, row: Pipeline) -> dict[str, Any]:
        may = pipelines_for(user=request.user, role=EDITOR).filter(pk=row.pk).exists()
        return {
            "pipeline": row,
            "steps": pipeline_steps(row),
            "live": row.state == Pipeline.State.RUNNING,
            "actions": self.actions_of(row) if may else [],
        }

    def again(self, request: HttpRequest, pk: int) -> HttpResponse:
        pipeline = pipeline_get_for(user=request.user, pk=pk, role=EDITOR)
        name = request.POST.get("step", "")
        try:
            made = pipeline_step_again(pipeline=pipeline, name=name)
        except (ValidationError, ImportRefused) as error:
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
    list_display = ("__str__", "workspace", "title_shown", "steps_shown", "created_by", "created_at")
    list_filter = (("workspace", admin.RelatedOnlyFieldListFilter),)
    search_fields = ("name",)
    fields = ("workspace", "name", "version", "digest", "content", "created_by", "created_at")
    readonly_fields = fields

    @display(description="Title")
    def title_shown(self, recipe: Recipe) -> str:
        return str(recipe.content.get("title", ""))

    @display(description="Steps")
    def steps_shown(self, recipe: Recipe) -> str:
        return ", ".join(step["name"] for step in recipe.content["steps"])

    def get_queryset(self, request: HttpRequest) -> QuerySet[Recipe]:
        return recipes_for(user=request.user).select_related("workspace", "created_by")
