"""Runs and their calls in the admin."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_POST
from unfold.decorators import display

from annotator.core.errors import Conflict
from annotator.core.service_errors import save_checked
from annotator.core.words import plural, span
from annotator.models import Membership
from annotator.selectors.study import studies_for, study_get_for
from evaluation.admin.base import ReadOnlyAdmin, RowAction, WithActions, error_text
from evaluation.admin.run_reading import RunReading
from evaluation.core.failure_words import failure_words
from evaluation.forms.prompts import PromptForm
from evaluation.forms.runs import BudgetForm, NewRunForm, run_fields, run_kind
from evaluation.models import Call, Run
from evaluation.runs.endpoint_settings import has_moved, moved_to
from evaluation.runs.estimate import run_estimate
from evaluation.runs.lifecycle import (
    OVER,
    calls_held,
    run_budget_set,
    run_cancel,
    run_continue_without,
    run_deployment_confirm,
    run_give_up,
    run_pause,
    run_resume,
    run_retry_failed,
    run_start,
)
from evaluation.selectors.endpoint import endpoints_for
from evaluation.selectors.prompts import prompt_text, prompt_versions, trials_of
from evaluation.selectors.run import calls_to_come, profile_for, run_get_for, run_progress, runs_for
from evaluation.selectors.transcript import calls_shown
from evaluation.simulators.merge import merged_count, simulators_merge, simulators_separate, split_count
from evaluation.simulators.trials import trials_hide, trials_show

EDITOR = Membership.Role.EDITOR
#: Button of the prompt page -> what it did, and the service.
TRIALS = {"hide": ("hidden", trials_hide), "show": ("shown again", trials_show)}


@admin.register(Run)
class RunAdmin(RunReading, WithActions):
    nothing_yet = "A run asks a model about the items of a study, or makes material. It needs an endpoint."
    list_display = ("shown", "study", "model", "state_shown", "progress_shown", "spent_shown", "created_at")
    list_filter = ("state", "kind", ("endpoint", admin.RelatedOnlyFieldListFilter))
    search_fields = ("model", "study__title", "rater__name")
    change_form_outer_before_template = "admin/evaluation/run_home.html"
    change_form_outer_after_template = "admin/evaluation/run_preview_button.html"
    fields = (
        "kind", "study", "dataset", "endpoint", "model", "rater", "parameters", "options", "samples", "together",
        "mode", "workers", "use_cache", "max_attempts", "max_unparsable", "budget_cost", "budget_calls",
        "prompt_digest", "created_by", "created_at", "started_at", "finished_at",
    )  # fmt: skip

    creation_form = NewRunForm
    row_actions: ClassVar = {
        "start": RowAction("Start", ("queued",), run_start, "The run has started."),
        "resume": RowAction("Resume", ("paused",), run_resume, "The run has resumed."),
        "same-deployment": RowAction(
            "It's the same deployment: resume",
            ("paused",),
            run_deployment_confirm,
            "The new deployment is confirmed, and the run has resumed.",
            carries="deployments",
        ),
        "pause": RowAction("Pause", ("running", "queued"), run_pause, "The run is paused."),
        "retry": RowAction(
            "Retry failed calls",
            ("incomplete", "paused"),
            run_retry_failed,
            "The failed calls are being retried.",
        ),
        "merge-simulators": RowAction(
            "Count its simulators as one",
            ("paused", "done", "incomplete", "cancelled"),
            simulators_merge,
            "The judgments count as those of one simulator. You can separate them again.",
        ),
        "separate-simulators": RowAction(
            "Separate its simulators again",
            ("paused", "done", "incomplete", "cancelled"),
            simulators_separate,
            "Each judgment is that of the simulator that made it.",
        ),
        "continue-without": RowAction(
            "Continue without these items",
            ("paused",),
            run_continue_without,
            "The items are left out, and the run has resumed.",
        ),
        "give-up": RowAction(
            "Give up these calls",
            ("paused",),
            run_give_up,
            "The calls are given up. You can retry them later.",
        ),
        "cancel": RowAction(
            "Cancel for good",
            ("queued", "running", "paused"),
            run_cancel,
            "The run is cancelled.",
            asks="The run can't be resumed. The answers that it has so far stay in the study. To stop it for a while, pause it instead.",
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

    @display(description="Spent", ordering="spent_cost")
    def spent_shown(self, run: Run) -> str:
        return f"{run.spent_cost:.4f}"

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """A new run is asked only for what its kind needs."""
        if obj is None:
            kind = run_kind(request.POST.get("kind"), request.GET.get("kind"))
            return [(None, {"fields": run_fields(kind)})]
        return super().get_fieldsets(request, obj)

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
            path("prompt/<int:study_pk>/", view(self.prompt), name="evaluation_run_prompt"),
            *self.reading_urls(),
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
        held = calls_held(row).count() if row.state == Run.State.PAUSED else 0
        if not held:
            actions = [action for action in actions if action[0] not in ("give-up", "continue-without")]
        ended = row.rater_id is not None and row.state not in Run.LIVE
        split = split_count(run=row) if ended else 0
        if not split:
            actions = [action for action in actions if action[0] != "merge-simulators"]
        if not (ended and merged_count(run=row)):
            actions = [action for action in actions if action[0] != "separate-simulators"]
        deployments = moved_to([row.endpoint]) if has_moved(row, row.endpoint) else []
        if not deployments:
            actions = [action for action in actions if action[0] != "same-deployment"]
        to_come = calls_to_come(row, progress)
        left = progress.seconds_left
        if left is not None and progress.per_second:
            left += to_come / progress.per_second
        return {
            "run": row,
            "progress": progress,
            "to_come": to_come,
            "left": None if left is None else span(timedelta(seconds=left)),
            "percent": int(100 * progress.settled / max(progress.total + to_come, 1)),
            "failures": [(failure_words(kind), count) for kind, count in sorted(progress.failures.items())],
            "failed_outcome": "failed" if progress.failed else "unparsable",
            "is_priced": bool(row.endpoint and (row.endpoint.price_in or row.endpoint.price_out)),
            "trouble": row.endpoint
            if row.state == Run.State.RUNNING and row.endpoint.failing_since
            else None,
            "outage": span(timedelta(seconds=settings.RUN_OUTAGE_SECONDS)),
            "live": row.state in ("running", "queued"),
            "actions": actions,
            "deployments": deployments,
            "held": held,
            "proposed": profile_for(row) if self._may_correct(request, row) else None,
            "split": split,
            "budget_form": BudgetForm(instance=row) if may and not row.finished_at else None,
            "estimate": run_estimate(run=row) if row.state == Run.State.QUEUED else None,
        }

    def _may_correct(self, request: HttpRequest, row: Run) -> bool:
        owned = endpoints_for(user=request.user, role=Membership.Role.OWNER)
        return row.state == Run.State.PAUSED and owned.filter(pk=row.endpoint_id).exists()

    def prompt(self, request: HttpRequest, study_pk: int) -> HttpResponse:
        """A study's prompt: edit it, see it on real items, try it on a few, and compare it with earlier versions."""
        study = study_get_for(user=request.user, pk=study_pk)
        may = studies_for(user=request.user, role=EDITOR).filter(pk=study.pk).exists()
        with_hidden = "hidden" in request.GET
        form: Any = type("OwnPromptForm", (PromptForm,), {"user": request.user, "study": study})(
            request.POST or None,
            initial={"prompt": prompt_text(study=study, digest=request.GET.get("version", ""))},
        )
        previews = []
        if request.method == "POST":
            if not may:
                raise PermissionDenied
            if request.POST.get("do") in TRIALS:
                words, change = TRIALS[request.POST["do"]]
                messages.success(request, f"{plural(change(study=study), 'trial')} {words}.")
                return redirect(request.path)
            if form.is_valid() and request.POST.get("do") == "try":
                try:
                    run = save_checked(form.save)
                except (Conflict, ValidationError) as error:
                    form.add_error(None, error_text(error))
                else:
                    messages.success(
                        request,
                        f"The prompt is being tried on {plural(run.calls.count(), 'item')}. A trial's answers are in no report.",
                    )
                    return self.page_of(run.pk)
            previews = form.previews()
        context = self.admin_site.each_context(request) | {
            "study": study,
            "form": form,
            "may": may,
            "previews": previews,
            "versions": prompt_versions(study=study, hidden=with_hidden),
            "trials": trials_of(study=study).filter(hidden_at=None, state__in=OVER).count(),
            "hidden": trials_of(study=study).exclude(hidden_at=None).count(),
            "with_hidden": with_hidden,
            "title": f"Prompt of {study.title}",
        }
        return render(request, "admin/evaluation/prompt.html", context)

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
            messages.success(request, "The limits have been changed.")
        return self.page_of(pk)


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    nothing_yet = "Calls appear here when a run starts: one for each request to a model."
    list_display = ("key", "run", "state", "sample", "stage", "attempts", "error_kind", "cost", "seconds")
    list_filter = ("state", "error_kind", ("run", admin.RelatedOnlyFieldListFilter))
    search_fields = ("key",)
    fields = (
        "run", "key", "sample", "stage", "state", "text", "parsed", "flags", "attempts", "errors", "error_kind",
        "error", "from_cache", "model_returned", "fingerprint", "tokens_in", "tokens_out", "cost", "seconds",
        "request", "reply",
    )  # fmt: skip
    readonly_fields = fields
    change_form_outer_before_template = "admin/evaluation/call_home.html"

    actions = ("retry",)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> Any:
        call = self.get_object(request, object_id) if object_id else None
        shown = calls_shown(run=call.run, calls=[call])[0] if call else None
        study = call.run.study if call else None  # for the addresses of its images
        context = {**(extra_context or {}), "one": shown, "study": study}
        return super().changeform_view(request, object_id, form_url, context)

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
                messages.error(request, f"You don't have permission to change {run}.")
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
