"""Reports: a worker computes them; a sweeper queues those whose message was lost."""

from __future__ import annotations

from annotator.core.jobs import job
from evaluation.services.report import report_compute, reports_sweep


@job("evaluation.report_build")
def report_build(*, report_pk: int) -> bool:
    """Compute a report, unless it is done or being computed."""
    return report_compute(report_pk=report_pk)


@job("evaluation.reports_sweep")
def reports_sweep_task() -> int:
    """Queue reports again that no worker is computing."""
    return reports_sweep()
