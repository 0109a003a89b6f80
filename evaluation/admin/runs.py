"""Runs and their calls in the admin."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_POST
from unfold.decorators import display

from annotator.core.errors import Conflict
from annotator.models import Membership
from evaluation.admin.base import ReadOnlyAdmin, RowAction, WithActions, error_text
from evaluation.forms.runs import BudgetForm, NewRunForm
from evaluation.models import Call, Run
from evaluation.runs.estimate import run_estimate
from evaluation.runs.lifecycle import (
    run_budget_set,
    run_cancel,
    run_pause,
    run_resume,
    run_retry_failed,
    run_start,
)
from evaluation.selectors.run import run_get_for, run_progress, runs_for

EDITOR = Membership.Role.EDITOR


@admin.register(Run)
class RunAdmin(WithActions):
    list_display = ("shown", "study", "model", "state_shown", "progress_shown", "spent_cost", "created_at")
    list_filter = ("state", "kind", ("endpoint", admin.RelatedOnlyFieldListFilter))
    search_fields = ("model", "study__title", "rater__name")
    change_form_outer_before_template = "admin/evaluation/run_home.html"
    change_form_outer_after_template = "admin/evaluation/run_preview_button.html"
    fields = (
        "kind", "study", "dataset", "endpoint", "model", "rater", "parameters", "options", "samples", "together",
        "mode", "workers", "use_cache", "max_attempts", "max_unparsable", "budget_cost", "budget_calls",
        "prompt_digest", "prompt", "created_by", "created_at", "started_at", "finished_at",
    )  # fmt: skip

    creation_form = NewRunForm
    row_actions: ClassVar = {
        "start": RowAction("Start", ("queued",), run_start, "The run has started."),
        "resume": RowAction("Resume", ("paused",), run_resume, "The run has resumed."),
        "pause": RowAction("Pause", ("running", "queued"), run_pause, "The run is paused."),
        "retry": RowAction(
            "Retry failed calls",
            ("incomplete", "paused"),
            run_retry_failed,
            "The failed calls will be retried.",
        ),
        "cancel": RowAction(
            "Cancel for good", ("queued", "running", "paused"), run_cancel, "The run is cancelled."
        ),
    }
    progress_template = "admin/evaluation/run_progress.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        counts = {
            "calls_total": Count("calls"),
            "calls_settled": Count("calls", filter=Q(calls__state__in=["done", "failed", "unparsable"])),
        }
        return runs_for(user=request.user).annotate(**counts)

    @display(description="Run", ordering="pk")
    def shown(self, run: Run) -> str:
        return f"#{run.pk} {run.kind}"

    @display(
        description="State",
        label={
            "running": "info",
            "done": "success",
            "paused": "warning",
            "incomplete": "warning",
            "failed": "danger",
            "cancelled": "danger",
        },
    )
    def state_shown(self, run: Run) -> tuple[str, str]:
        return run.state, run.get_state_display()

    @display(description="Calls")
    def progress_shown(self, run: Any) -> str:
        return f"{run.calls_settled:,} of {run.calls_total:,}"

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        messages.info(request, "The run has been created. Check the estimate, then start it.")
        return self.page_of(obj.pk)

    def preview(self, request: HttpRequest) -> HttpResponse:
        """The estimate of a new run and the request that it would send about one item; nothing is created."""
        form: Any = self.get_form(request)(request.POST)
        context = self.admin_site.each_context(request) | {
            "form": form,
            "estimate": form.estimate(),
            "title": "Preview of a run",
        }
        return render(request, "admin/evaluation/run_preview.html", context)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("preview/", view(require_POST(self.preview)), name="evaluation_run_preview"),
            path("<int:pk>/budget/", view(require_POST(self.budget)), name="evaluation_run_budget"),
            *super().get_urls(),
        ]

    def row_get(self, request: HttpRequest, pk: int, role: str = Membership.Role.VIEWER) -> Run:
        return run_get_for(user=request.user, pk=pk, role=role)

    def page_context(self, request: HttpRequest, row: Run) -> dict[str, Any]:
        progress = run_progress(row)
        may = runs_for(user=request.user, role=EDITOR).filter(pk=row.pk).exists()
        actions = self.actions_of(row) if may else []
        if not (progress.failed or progress.unparsable):
            actions = [action for action in actions if action[0] != "retry"]
        return {
            "run": row,
            "progress": progress,
            "percent": int(progress.share * 100),
            "failures": sorted(progress.failures.items()),
            "live": row.state in ("running", "queued"),
            "actions": actions,
            "budget_form": BudgetForm(instance=row) if may and not row.finished_at else None,
            "estimate": run_estimate(run=row) if row.state == Run.State.QUEUED else None,
        }

    def budget(self, request: HttpRequest, pk: int) -> HttpResponse:
        run = run_get_for(user=request.user, pk=pk, role=EDITOR)
        form = BudgetForm(request.POST)
        try:
            if not form.is_valid():
                raise ValidationError(form.errors.as_data())
            run_budget_set(run=run, **form.cleaned_data)
        except ValidationError as error:
            messages.error(request, error_text(error))
        else:
            messages.success(request, "The budget has been changed.")
        return self.page_of(pk)


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    list_display = ("key", "run", "state", "sample", "stage", "attempts", "error_kind", "cost", "seconds")
    list_filter = ("state", "error_kind", ("run", admin.RelatedOnlyFieldListFilter))
    search_fields = ("key",)
    fields = (
        "run", "key", "sample", "stage", "state", "text", "parsed", "flags", "attempts", "errors", "error_kind",
        "error", "from_cache", "model_returned", "fingerprint", "tokens_in", "tokens_out", "cost", "seconds",
        "request", "reply",
    )  # fmt: skip
    readonly_fields = fields

    actions = ("retry",)

    @admin.action(description="Retry the selected failed calls")
    def retry(self, request: HttpRequest, queryset: QuerySet[Call]) -> None:
        """Retry the selected calls that failed; others are left alone."""
        by_run: dict[Run, list[int]] = {}
        for call in queryset.select_related("run"):
            by_run.setdefault(call.run, []).append(call.pk)
        again = 0
        mine = set(runs_for(user=request.user, role=EDITOR).filter(pk__in=[run.pk for run in by_run]))
        for run, calls in by_run.items():
            if run not in mine:
                messages.error(request, f"You may not change {run}.")
                continue
            try:
                again += run_retry_failed(run=run, calls=calls)
            except Conflict as error:
                messages.error(request, str(error))
        messages.info(request, f"{again} failed {'call is' if again == 1 else 'calls are'} sent again.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Call]:
        runs = runs_for(user=request.user).values("pk")
        calls = super().get_queryset(request).filter(run__in=runs).select_related("run")
        match = request.resolver_match
        return (
            calls.defer("request", "reply")
            if match and match.url_name == "evaluation_call_changelist"
            else calls
        )
