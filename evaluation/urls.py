"""What researchers reach of results."""

from __future__ import annotations

from django.urls import path

from evaluation import converters
from evaluation.views import compare, live, reports

app_name = "evaluation"
converters.register()


urlpatterns = [
    path("studies/<row_id:study_pk>/reports/", reports.reports, name="reports"),
    path("studies/<row_id:study_pk>/reports/compare/", compare.report_compare, name="report_compare"),
    path("studies/<row_id:study_pk>/agreement-so-far/", live.live_agreement, name="live_agreement"),
    path("reports/<row_id:pk>/", reports.report, name="report"),
    path("reports/<row_id:pk>/status/", reports.report_status, name="report_status"),
    path("reports/<row_id:pk>/again/", reports.retry, name="report_retry"),
    path("reports/<row_id:pk>/delete/", reports.delete, name="report_delete"),
    path("reports/<row_id:pk>/files/<str:name>", reports.report_file, name="report_file"),
    path("reports/<row_id:pk>/export/<report_format:format>/", reports.report_export, name="report_export"),
]
