"""Endpoints, runs and calls in the admin: fetched, handed to one service, shown."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.decorators import display

from annotator.errors import Conflict
from annotator.models import Membership
from annotator.selectors.study import studies_for
from evaluation import admin_pipelines  # noqa: F401  found by Django through this module
from evaluation.admin_base import ReadOnly
from evaluation.forms.reports import NewReportForm
from evaluation.forms.runs import EndpointForm, NewRunForm
from evaluation.models import Call, Endpoint, Report, Run
from evaluation.selectors.report import reports_visible_to
from evaluation.selectors.run import run_progress, runs_visible_to
from evaluation.services.endpoint import endpoint_try
from evaluation.services.run_change import run_cancel, run_pause, run_resume, run_retry_failed, run_start
from evaluation.services.run_estimate import run_estimate

#: Action -> what the button says, the states in which it is there, the service.
ACTIONS: dict[str, tuple[str, tuple[str, ...], Any]] = {
    "start": ("Start", ("queued",), run_start),
    "resume": ("Resume", ("paused",), run_resume),
    "pause": ("Pause", ("running", "queued"), run_pause),
    "retry": ("Ask again what failed", ("done", "paused"), run_retry_failed),
    "cancel": ("Cancel for good", ("queued", "running", "paused"), run_cancel),
}


@admin.register(Endpoint)
class EndpointAdmin(ModelAdmin):
    form = EndpointForm
    list_display = ("name", "base_url", "model", "concurrency", "price_in", "price_out", "key_shown")
    search_fields = ("name", "base_url", "model")
    change_form_outer_before_template = "admin/evaluation/endpoint_home.html"

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    @display(description="Key")
    def key_shown(self, endpoint: Endpoint) -> str:
        if endpoint.key_variable:
            return f"from {endpoint.key_variable}"
        return "stored" if endpoint.key_encrypted else "none"

    def get_urls(self) -> list[Any]:
        own = path(
            "<int:pk>/try/",
            self.admin_site.admin_view(require_POST(self.try_it)),
            name="evaluation_endpoint_try",
        )
        return [own, *super().get_urls()]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> Any:
        endpoint = Endpoint.objects.filter(pk=object_id).first() if object_id else None
        return super().changeform_view(
            request, object_id, form_url, {**(extra_context or {}), "endpoint": endpoint}
        )

    def try_it(self, request: HttpRequest, pk: int) -> HttpResponse:
        endpoint = Endpoint.objects.filter(pk=pk).first()
        if endpoint is None or not request.user.has_perm("evaluation.change_endpoint"):
            raise Http404("no such endpoint")
        tried = endpoint_try(endpoint=endpoint)
        if tried.ok:
            messages.success(request, f"It answers, in {tried.seconds:.2f} s. {tried.said}")
        else:
            messages.error(request, f"It does not answer: {tried.said}")
        return redirect("admin:evaluation_endpoint_change", pk)


@admin.register(Run)
class RunAdmin(ReadOnly):
    list_display = ("shown", "study", "model", "state_shown", "progress_shown", "spent_cost", "created_at")
    list_filter = ("state", "kind", "endpoint")
    search_fields = ("model", "study__title", "rater__name")
    change_form_outer_before_template = "admin/evaluation/run_home.html"
    change_form_outer_after_template = "admin/evaluation/run_preview_button.html"
    fields = (
        "kind", "study", "dataset", "endpoint", "model", "rater", "parameters", "options", "samples", "together",
        "mode", "workers", "use_cache", "max_attempts", "max_unparsable", "budget_cost", "budget_calls",
        "prompt_digest", "prompt", "created_by", "created_at", "started_at", "finished_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        counts = {
            "calls_total": Count("calls"),
            "calls_settled": Count("calls", filter=Q(calls__state__in=["done", "failed", "unparsable"])),
        }
        return runs_visible_to(request.user).annotate(**counts)  # type: ignore[arg-type]

    @display(description="Run", ordering="pk")
    def shown(self, run: Run) -> str:
        return f"#{run.pk} {run.kind}"

    @display(
        description="State",
        label={
            "running": "info",
            "done": "success",
            "paused": "warning",
            "failed": "danger",
            "cancelled": "danger",
        },
    )
    def state_shown(self, run: Run) -> tuple[str, str]:
        return run.state, run.get_state_display()

    @display(description="Calls")
    def progress_shown(self, run: Any) -> str:
        return f"{run.calls_settled:,} of {run.calls_total:,}"

    # -- a new run ----------------------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is None:
            return type("OwnNewRunForm", (NewRunForm,), {"user": request.user})
        return super().get_form(request, obj, change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return [(None, {"fields": NewRunForm.Meta.fields})]
        return super().get_fieldsets(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else self.fields

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The form's service has made the run and its calls."""

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        messages.info(request, "The run is made and not started: look at the estimate, then start it.")
        return redirect("admin:evaluation_run_change", obj.pk)

    def preview(self, request: HttpRequest) -> HttpResponse:
        """The request about one real item as the new run would send it; the run is not made."""
        form: Any = self.get_form(request)(request.POST)
        form.preview_only = True
        form.is_valid()
        context = self.admin_site.each_context(request) | {"form": form, "title": "Preview of a run"}
        return render(request, "admin/evaluation/run_preview.html", context)

    # -- a run's page -------------------------------------------------------------------------------

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("preview/", view(require_POST(self.preview)), name="evaluation_run_preview"),
            path("<int:pk>/progress/", view(self.progress), name="evaluation_run_progress"),
            path("<int:pk>/do/<slug:name>/", view(require_POST(self.do)), name="evaluation_run_do"),
            *super().get_urls(),
        ]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> Any:
        run = self.get_object(request, object_id) if object_id else None
        context = self._context(request, run) if run else {}
        return super().changeform_view(request, object_id, form_url, {**(extra_context or {}), **context})

    def _context(self, request: HttpRequest, run: Run) -> dict[str, Any]:
        progress = run_progress(run)
        may = may_change(request, run)
        actions = [
            (name, label) for name, (label, states, _) in ACTIONS.items() if run.state in states and may
        ]
        if not (progress.failed or progress.unparsable):
            actions = [action for action in actions if action[0] != "retry"]
        return {
            "run": run,
            "progress": progress,
            "percent": int(progress.share * 100),
            "failures": sorted(progress.failures.items()),
            "live": run.state in ("running", "queued"),
            "actions": actions,
            "estimate": run_estimate(run=run) if run.state == Run.State.QUEUED else None,
        }

    def progress(self, request: HttpRequest, pk: int) -> HttpResponse:
        run = runs_visible_to(request.user).filter(pk=pk).first()  # type: ignore[arg-type]
        if run is None:
            raise Http404("no such run")
        return render(request, "admin/evaluation/run_progress.html", self._context(request, run))

    def do(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        run = runs_visible_to(request.user).filter(pk=pk).first()  # type: ignore[arg-type]
        if run is None or name not in ACTIONS or not may_change(request, run):
            raise Http404("no such run")
        label, _, service = ACTIONS[name]
        try:
            service(run=run)
        except (Conflict, ValidationError) as error:
            messages.error(request, "; ".join(getattr(error, "messages", [str(error)])))
        else:
            messages.success(request, f"{label}: done.")
        return redirect("admin:evaluation_run_change", pk)


def may_change(request: HttpRequest, run: Run) -> bool:
    """Editors of the run's study; without a study, whoever made it."""
    user: Any = request.user
    if user.is_superuser:
        return True
    if run.study_id is not None:
        return studies_for(user=user, role=Membership.Role.EDITOR).filter(pk=run.study_id).exists()
    return run.created_by_id == user.pk


@admin.register(Call)
class CallAdmin(ReadOnly):
    list_display = ("key", "run", "state", "sample", "stage", "attempts", "error_kind", "cost", "seconds")
    list_filter = ("state", "error_kind", "run")
    search_fields = ("key",)
    fields = (
        "run", "key", "sample", "stage", "state", "text", "parsed", "flags", "attempts", "errors", "error_kind",
        "error", "from_cache", "model_returned", "fingerprint", "tokens_in", "tokens_out", "cost", "seconds",
        "request", "reply",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Call]:
        runs = runs_visible_to(request.user).values("pk")  # type: ignore[arg-type]
        calls = super().get_queryset(request).filter(run__in=runs).select_related("run")
        match = request.resolver_match
        return (
            calls.defer("request", "reply")
            if match and match.url_name == "evaluation_call_changelist"
            else calls
        )


@admin.register(Report)
class ReportAdmin(ReadOnly):
    """Reports on a study or across several; a row leads to the report's own page."""

    list_display = ("shown", "studies_shown", "state_shown", "rule_shown", "asked", "by", "inputs_shown")
    list_display_links = None
    list_filter = ("state",)
    search_fields = ("study__title", "study__slug", "inputs_hash")
    date_hierarchy = "created_at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Report]:
        rows = reports_visible_to(request.user).select_related("study", "created_by")
        return rows.prefetch_related("others").defer("content").order_by("-id")

    @display(description="Report", ordering="pk")
    def shown(self, report: Report) -> str:
        return format_html(
            '<a href="{}">Report {}</a>', reverse("evaluation:report", args=[report.pk]), report.pk
        )

    @display(description="Studies", ordering="study__title")
    def studies_shown(self, report: Report) -> str:
        return ", ".join(study.title for study in report.studies)

    @display(
        description="State",
        label={"running": "info", "done": "success", "queued": "warning", "failed": "danger"},
    )
    def state_shown(self, report: Report) -> tuple[str, str]:
        return report.state, report.get_state_display()

    @display(description="Aggregation")
    def rule_shown(self, report: Report) -> str:
        return str(report.choices.get("rule", ""))

    @display(description="Asked for", ordering="created_at")
    def asked(self, report: Report) -> Any:
        return report.created_at

    @display(description="By")
    def by(self, report: Report) -> str:
        return str(report.created_by or "–")

    @display(description="Inputs")
    def inputs_shown(self, report: Report) -> str:
        return report.inputs_hash[:12] or "–"

    # -- a new report -------------------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return type("OwnNewReportForm", (NewReportForm,), {"user": request.user})

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [(None, {"fields": NewReportForm.Meta.fields})]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The form's service has made the report and sent it to the queue."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The studies are the service's too."""

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        return redirect("evaluation:report", obj.pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        found = self.get_object(request, object_id)
        if found is None:
            raise Http404("no such report")
        return redirect("evaluation:report", found.pk)
