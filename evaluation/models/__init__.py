"""The rows of this application: endpoints, runs with their calls, pipelines, stored reports."""

from evaluation.models.endpoint import Endpoint
from evaluation.models.pipeline import Pipeline, Recipe
from evaluation.models.report import Report, ReportFile
from evaluation.models.run import Batch, Call, Run

__all__ = [
    "Batch",
    "Call",
    "Endpoint",
    "Pipeline",
    "Recipe",
    "Report",
    "ReportFile",
    "Run",
]
