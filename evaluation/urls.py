"""Addresses of the pages with results: reports and their releases, and agreement so far."""

from __future__ import annotations

from django.urls import path

from annotator.core import converters  # noqa: F401 - registers them
from evaluation.views import compare, disagreement, kept, live, live_plan, plan, releases, reports
from evaluation.views import converters as formats  # noqa: F401 - registers the format of a report

app_name = "evaluation"

urlpatterns = [
    path("studies/<row:study_pk>/reports/", reports.reports, name="reports"),
    path("studies/<row:study_pk>/reports/compare/", compare.report_compare, name="report_compare"),
    path("studies/<row:study_pk>/agreement-so-far/", live.live_agreement, name="live_agreement"),
    path("studies/<row:study_pk>/confidence-so-far/", live.live_confidence, name="live_confidence"),
    path("studies/<row:study_pk>/disagreement/", disagreement.disagreement, name="disagreement"),
    path(
        "studies/<row:study_pk>/disagreement.csv",
        disagreement.disagreement,
        {"format": "csv"},
        name="disagreement_csv",
    ),
    path("studies/<row:study_pk>/planned-so-far/", live_plan.live_plan, name="live_plan"),
    path("studies/<row:study_pk>/plan/", plan.plan, name="plan"),
    path("studies/<row:study_pk>/plan/plan.json", plan.plan_file, {"format": "json"}, name="plan_json"),
    path("studies/<row:study_pk>/plan/plan.md", plan.plan_file, {"format": "md"}, name="plan_markdown"),
    path("studies/<row:study_pk>/keep/", kept.keep, name="study_keep"),
    path("studies/kept/", kept.kept_studies, name="kept_studies"),
    path("studies/kept/<row:pk>/download/", kept.download, name="kept_study_download"),
    path("studies/kept/<row:pk>/delete-file/", kept.file_delete, name="kept_file_delete"),
    path("studies/kept/<row:pk>/bring-back/", kept.bring_back, name="kept_study_bring_back"),
    path("studies/kept/jobs/<row:pk>/", kept.job, name="kept_job"),
    path("studies/kept/jobs/<row:pk>/status/", kept.job_status, name="kept_job_status"),
    path("reports/<row:pk>/", reports.report, name="report"),
    path("reports/<row:pk>/status/", reports.report_status, name="report_status"),
    path("reports/<row:pk>/again/", reports.retry, name="report_retry"),
    path("reports/<row:pk>/delete/", reports.delete, name="report_delete"),
    path("reports/<row:pk>/files/<str:name>", reports.report_file, name="report_file"),
    path("reports/<row:pk>/export/<report_format:format>/", reports.report_export, name="report_export"),
    path("reports/<row:pk>/releases/", releases.releases, name="releases"),
    path("releases/<row:pk>/", releases.release, name="release"),
    path("releases/<row:pk>/status/", releases.release_status, name="release_status"),
    path("releases/<row:pk>/download/", releases.download, name="release_download"),
    path("releases/<row:pk>/delete/", releases.delete, name="release_delete"),
]
