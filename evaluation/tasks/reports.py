"""Reports: a worker computes them; a sweeper queues those whose message was lost."""

from __future__ import annotations

from typing import Any

from annotator.core.jobs import job
from annotator.services.turns import Work, in_turn, rows_take_turns
from evaluation.models import Report
from evaluation.services.report import report_compute, reports_sweep

rows_take_turns(
    "evaluation.report_build",
    "report_pk",
    Report.objects.filter(state=Report.State.QUEUED),
    workspace="study__workspace",
    lock="report",
    carry_out=lambda pk: report_compute(report_pk=pk),
)


@job("evaluation.report_build")
def report_build(*, report_pk: int) -> Any:
    """Compute a report, unless it is done or being computed."""
    return in_turn(Work("evaluation.report_build", report_pk))


@job("evaluation.reports_sweep")
def reports_sweep_task() -> int:
    """Queue reports again that no worker is computing."""
    return reports_sweep()
