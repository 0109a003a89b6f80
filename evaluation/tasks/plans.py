"""Calculations on analysis plans: a worker carries them out; a sweeper queues those whose message was lost."""

from __future__ import annotations

from annotator.core.jobs import job
from evaluation.services.plan_job import plan_job_run, plan_jobs_sweep


@job("evaluation.plan_job_run")
def plan_job_run_task(*, job_pk: int) -> bool:
    """Compute it, unless it is done, cancelled, or another one of its workspace is being computed."""
    return plan_job_run(job_pk=job_pk)


@job("evaluation.plan_jobs_sweep")
def plan_jobs_sweep_task() -> int:
    """Queue calculations again that no worker is carrying out."""
    return plan_jobs_sweep()
