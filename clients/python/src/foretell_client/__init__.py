"""The client of Foretell's API: studies from material to report, in Python.

``Foretell(url, token)`` is where to begin. ``foretell_client.operations`` has one method for each operation of the API.
"""

from __future__ import annotations

from foretell_client.client import Foretell
from foretell_client.errors import (
    ApiError,
    BadRequest,
    Busy,
    Fault,
    ForetellError,
    JobStopped,
    NotAllowed,
    NotFound,
    NotPossibleNow,
    Unreachable,
)
from foretell_client.jobs import Job, Progress
from foretell_client.results import Export, Pipeline, Release, Report, Run
from foretell_client.studies import Rehearsal, Study

__all__ = [
    "ApiError", "BadRequest", "Busy", "Export", "Fault", "Foretell", "ForetellError", "Job", "JobStopped", "NotAllowed",
    "NotFound", "NotPossibleNow", "Pipeline", "Progress", "Rehearsal", "Release", "Report", "Run", "Study", "Unreachable",
]  # fmt: skip
