"""Studies kept in files: a worker writes or reads the file; a sweeper queues jobs whose message was lost."""

from __future__ import annotations

from annotator.core.jobs import job
from evaluation.moves.kept_jobs import kept_job_run, kept_jobs_sweep


@job("evaluation.kept_job_run")
def kept_job_run_task(*, job_pk: int) -> bool:
    """Keep a study in a file or bring it back, unless the job has ended or is being carried out."""
    return kept_job_run(job_pk=job_pk)


@job("evaluation.kept_jobs_sweep")
def kept_jobs_sweep_task() -> int:
    """Queue jobs again that no worker is carrying out."""
    return kept_jobs_sweep()
