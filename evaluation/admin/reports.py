"""Reports in the admin: the list of all, and the form for a new one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from unfold.decorators import display

from evaluation.admin.base import CreatedByForm
from evaluation.forms.reports import NewReportForm
from evaluation.models import Report
from evaluation.reports.choices import specs
from evaluation.selectors.report import reports_visible_to


@admin.register(Report)
class ReportAdmin(CreatedByForm):
    """Reports on a study or across several; a row leads to the report's own page."""

    nothing_yet = "Open a study's tab Reports to compute one."
    creation_form = NewReportForm
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

    @display(description="Requested", ordering="created_at")
    def asked(self, report: Report) -> Any:
        return report.created_at

    @display(description="Requested by")
    def by(self, report: Report) -> str:
        return str(report.created_by or "–")

    @display(description="Inputs")
    def inputs_shown(self, report: Report) -> str:
        return report.inputs_hash[:12] or "–"

    # -- a new report -------------------------------------------------------------------------------

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [(None, {"fields": ("studies", *(spec.name for spec in specs()))})]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The service has already set the studies."""

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
