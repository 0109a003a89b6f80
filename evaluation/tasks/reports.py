"""Reports: computed by a worker, and found again when lost."""

from __future__ import annotations

from celery import shared_task


@shared_task(name="evaluation.report_build")
def report_build(*, report_id: int) -> bool:
    """Compute a report, unless it is done or being computed."""
    from evaluation.services.report import report_compute

    return report_compute(report_id=report_id)


@shared_task(name="evaluation.reports_sweep")
def reports_sweep() -> int:
    """Send again the tasks of reports that were lost on the way."""
    from evaluation.services import report

    return report.reports_sweep()
