"""The rows of this application: endpoints, runs with their calls, pipelines, instances' parts, fine-tuning jobs, stored reports, releases, analysis plans, studies kept in files, restores of workspaces."""

from evaluation.models.endpoint import Endpoint
from evaluation.models.kept import KeptJob, KeptStudy
from evaluation.models.part import InstancePart
from evaluation.models.pipeline import Pipeline, Recipe
from evaluation.models.plan import AnalysisPlan, PlanJob, PlanLook
from evaluation.models.release import Release, ReleaseText
from evaluation.models.report import Report, ReportFile
from evaluation.models.run import Batch, Call, Run
from evaluation.models.signing_key import SigningKey
from evaluation.models.training import FineTuning, Reward
from evaluation.models.validation import QuestionVerdict
from evaluation.models.workspace_restore import WorkspaceRestore

__all__ = [
    "AnalysisPlan",
    "Batch",
    "Call",
    "Endpoint",
    "FineTuning",
    "InstancePart",
    "KeptJob",
    "KeptStudy",
    "Pipeline",
    "PlanJob",
    "PlanLook",
    "QuestionVerdict",
    "Recipe",
    "Release",
    "ReleaseText",
    "Report",
    "ReportFile",
    "Reward",
    "Run",
    "SigningKey",
    "WorkspaceRestore",
]
