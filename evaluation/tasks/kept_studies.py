"""Studies kept in files: a worker writes or reads the file; a sweeper queues jobs whose message was lost."""

from __future__ import annotations

from typing import Any

from annotator.core.jobs import job
from annotator.services.turns import Work, in_turn, rows_take_turns
from evaluation.models import KeptJob
from evaluation.moves.kept_jobs import kept_job_run, kept_jobs_sweep

rows_take_turns(
    "evaluation.kept_job_run",
    "job_pk",
    KeptJob.objects.filter(state=KeptJob.State.QUEUED),
    workspace="workspace",
    lock="kept study",
    carry_out=lambda pk: kept_job_run(job_pk=pk),
)


@job("evaluation.kept_job_run")
def kept_job_run_task(*, job_pk: int) -> Any:
    """Keep a study in a file or bring it back, unless the job has ended or is being carried out."""
    return in_turn(Work("evaluation.kept_job_run", job_pk))


@job("evaluation.kept_jobs_sweep")
def kept_jobs_sweep_task() -> int:
    """Queue jobs again that no worker is carrying out."""
    return kept_jobs_sweep()
