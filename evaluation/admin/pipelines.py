"""Pipelines and their recipes in the admin: begun, watched, steered; each step can be done again alone."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.views.decorators.http import require_POST
from unfold.decorators import display

from annotator.core.errors import Conflict
from annotator.models import Membership, Study
from annotator.services.imports.faults import ImportRefused
from evaluation.admin.base import ReadOnly
from evaluation.forms.pipelines import NewPipelineForm
from evaluation.models import Pipeline, Recipe, Report, Run
from evaluation.pipelines.advance import pipeline_cancel, pipeline_resume, pipeline_step_again
from evaluation.pipelines.recipe import recipe_file, recipe_names
from evaluation.selectors.pipeline import pipeline_get_for, pipeline_steps, pipelines_for, recipes_for

EDITOR = Membership.Role.EDITOR
#: Action -> what the button says, the states in which it is there, the service.
ACTIONS: dict[str, tuple[str, tuple[str, ...], Any]] = {
    "resume": ("Go on", ("paused",), pipeline_resume),
    "cancel": ("Cancel for good", ("running", "paused"), pipeline_cancel),
}


@admin.register(Pipeline)
class PipelineAdmin(ReadOnly):
    list_display = ("__str__", "endpoint", "state_shown", "steps_shown", "created_at")
    list_filter = ("state", ("recipe", admin.RelatedOnlyFieldListFilter))
    change_form_outer_before_template = "admin/evaluation/pipeline_home.html"
    fields = ("recipe", "dataset", "endpoint", "overrides", "created_by", "created_at", "finished_at")

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

    # -- a new pipeline -----------------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is None:
            return type("OwnNewPipelineForm", (NewPipelineForm,), {"user": request.user})
        return super().get_form(request, obj, change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return [(None, {"fields": NewPipelineForm.Meta.fields})]
        return super().get_fieldsets(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else self.fields

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The form's ``save`` has created the pipeline."""

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        return redirect("admin:evaluation_pipeline_change", obj.pk)

    # -- a pipeline's page --------------------------------------------------------------------------

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/progress/", view(self.progress), name="evaluation_pipeline_progress"),
            path("<int:pk>/do/<slug:name>/", view(require_POST(self.do)), name="evaluation_pipeline_do"),
            path("<int:pk>/again/", view(require_POST(self.again)), name="evaluation_pipeline_again"),
            *super().get_urls(),
        ]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> Any:
        pipeline = self.get_object(request, object_id) if object_id else None
        context = self._context(request, pipeline) if pipeline else {}
        return super().changeform_view(request, object_id, form_url, {**(extra_context or {}), **context})

    def _context(self, request: HttpRequest, pipeline: Pipeline) -> dict[str, Any]:
        steps = pipeline_steps(pipeline)
        may = pipelines_for(user=request.user, role=EDITOR).filter(pk=pipeline.pk).exists()
        return {
            "pipeline": pipeline,
            "steps": steps,
            "live": pipeline.state == Pipeline.State.RUNNING,
            "actions": [
                (name, label)
                for name, (label, states, _) in ACTIONS.items()
                if may and pipeline.state in states
            ],
        }

    def progress(self, request: HttpRequest, pk: int) -> HttpResponse:
        context = self._context(request, pipeline_get_for(user=request.user, pk=pk))
        return render(request, "admin/evaluation/pipeline_progress.html", context)

    def do(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        pipeline = pipeline_get_for(user=request.user, pk=pk, role=EDITOR)
        if name not in ACTIONS:
            raise Http404("no such action")
        label, _, service = ACTIONS[name]
        try:
            service(pipeline=pipeline)
        except (Conflict, ValidationError) as error:
            messages.error(request, "; ".join(getattr(error, "messages", [str(error)])))
        else:
            messages.success(request, f"{label}: done.")
        return redirect("admin:evaluation_pipeline_change", pk)

    def again(self, request: HttpRequest, pk: int) -> HttpResponse:
        pipeline = pipeline_get_for(user=request.user, pk=pk, role=EDITOR)
        name = request.POST.get("step", "")
        try:
            made = pipeline_step_again(pipeline=pipeline, name=name)
        except (ValidationError, ImportRefused) as error:
            messages.info(request, f"{name}: {'; '.join(getattr(error, 'messages', [str(error)]))}")
            return redirect("admin:evaluation_pipeline_change", pk)
        messages.success(request, f"{name}: done again.")
        return redirect(address_of(made))


def address_of(made: Run | Study | Report) -> str:
    """Where what a step made is looked at."""
    if isinstance(made, Run):
        return reverse("admin:evaluation_run_change", args=[made.pk])
    if isinstance(made, Study):
        return reverse("admin:annotator_study_change", args=[made.pk])
    return reverse("evaluation:report", args=[made.pk])


@admin.register(Recipe)
class RecipeAdmin(ReadOnly):
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
