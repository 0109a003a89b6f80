"""The REST API's addresses of runs, reports and releases, under /api/v1/."""

from __future__ import annotations

from django.urls import path

from annotator.core import converters  # noqa: F401 - registers them
from evaluation.api import (
    comparison,
    datasets,
    disagreement,
    kept,
    logs,
    pipelines,
    plans,
    releases,
    reports,
    runs,
)
from evaluation.views import converters as formats  # noqa: F401 - registers the format of a report

app_name = "evaluation_api"

urlpatterns = [
    path("studies/<study:study>/reports/", reports.StudyReports.as_view(), name="study_reports"),
    path(
        "studies/<study:study>/report-columns/",
        reports.ReportColumns.as_view(),
        name="study_report_columns",
    ),
    path(
        "studies/<study:study>/disagreement/",
        disagreement.StudyDisagreement.as_view(),
        name="study_disagreement",
    ),
    path("studies/<study:study>/plan/", plans.StudyAnalysisPlan.as_view(), name="study_plan"),
    path("studies/<study:study>/plan/so-far/", plans.StudyPlanSoFar.as_view(), name="study_plan_so_far"),
    path("studies/<study:study>/plan/power/", plans.StudyPlanPower.as_view(), name="study_plan_power"),
    path("studies/<study:study>/plan/seal/", plans.StudyPlanSeal.as_view(), name="study_plan_seal"),
    path("studies/<study:study>/keep/", kept.StudyKeep.as_view(), name="study_keep"),
    path("kept-studies/", kept.KeptStudies.as_view(), name="kept_studies"),
    path("kept-studies/<row:pk>/", kept.KeptStudyDetail.as_view(), name="kept_study"),
    path("kept-studies/<row:pk>/file/", kept.KeptStudyFile.as_view(), name="kept_study_file"),
    path("kept-studies/<row:pk>/download/", kept.KeptStudyDownload.as_view(), name="kept_study_download"),
    path(
        "kept-studies/<row:pk>/bring-back/", kept.KeptStudyBringBack.as_view(), name="kept_study_bring_back"
    ),
    path("kept-jobs/<row:pk>/", kept.KeptJobDetail.as_view(), name="kept_job"),
    path("reports/<row:pk>/", reports.ReportDetail.as_view(), name="report"),
    path("reports/<row:pk>/content/", reports.ReportContent.as_view(), name="report_content"),
    path(
        "reports/<row:pk>/export/<report_format:as_format>/",
        reports.ReportExport.as_view(),
        name="report_export",
    ),
    path(
        "reports/<row:pk>/compare/<row:other>/", comparison.ReportComparison.as_view(), name="report_compare"
    ),
    path("reports/<row:pk>/releases/", releases.ReportReleases.as_view(), name="report_releases"),
    path("reports/<row:pk>/releases/cost/", releases.ReleaseCosts.as_view(), name="release_cost"),
    path("releases/<row:pk>/", releases.ReleaseDetail.as_view(), name="release"),
    path("releases/<row:pk>/texts/", releases.ReleaseTexts.as_view(), name="release_texts"),
    path("releases/<row:pk>/download/", releases.ReleaseDownload.as_view(), name="release_download"),
    path("studies/<slug:slug>/runs/", runs.StudyRuns.as_view(), name="study_runs"),
    path("runs/<row:pk>/", runs.RunDetail.as_view(), name="run"),
    path("runs/<row:pk>/estimate/", runs.RunEstimate.as_view(), name="run_estimate"),
    path("runs/<row:pk>/calls/", logs.RunCalls.as_view(), name="run_calls"),
    path("studies/<slug:slug>/human-scores/", logs.HumanScores.as_view(), name="human_scores"),
    path("runs/<row:pk>/<slug:action>/", runs.RunAction.as_view(), name="run_action"),
    path("datasets/", datasets.Datasets.as_view(), name="datasets"),
    path("endpoints/", datasets.Endpoints.as_view(), name="endpoints"),
    path("recipes/", datasets.Recipes.as_view(), name="recipes"),
    path("pipelines/", pipelines.Pipelines.as_view(), name="pipelines"),
    path("pipelines/<row:pk>/", pipelines.PipelineDetail.as_view(), name="pipeline"),
    path("pipelines/<row:pk>/<slug:action>/", pipelines.PipelineAction.as_view(), name="pipeline_action"),
]
