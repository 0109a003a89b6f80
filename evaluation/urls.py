"""What researchers reach of results."""

from __future__ import annotations

from django.urls import path, register_converter

from evaluation.reports.exports import FORMATS
from evaluation.views import compare, reports

app_name = "evaluation"


class FormatConverter:
    """A format that reports can be had in."""

    regex = "|".join(FORMATS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(FormatConverter, "report_format")

urlpatterns = [
    path("studies/<int:study_pk>/reports/", reports.reports, name="reports"),
    path("studies/<int:study_pk>/reports/compare/", compare.report_compare, name="report_compare"),
    path("reports/<int:pk>/", reports.report, name="report"),
    path("reports/<int:pk>/status/", reports.report_status, name="report_status"),
    path("reports/<int:pk>/again/", reports.retry, name="report_retry"),
    path("reports/<int:pk>/delete/", reports.delete, name="report_delete"),
    path("reports/<int:pk>/files/<str:name>", reports.report_file, name="report_file"),
    path("reports/<int:pk>/export/<report_format:format>/", reports.report_export, name="report_export"),
]
