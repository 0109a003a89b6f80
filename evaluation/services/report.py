"""Request reports, compute them in a job, and queue them again in a sweep if the job was lost."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.replica import replica_read
from annotator.models import Study, User
from evaluation.models import Report, ReportFile
from evaluation.services.analysis_plan import plan_look_log

log = logging.getLogger(__name__)

#: How long a report may stay queued before a sweep queues it again.
LOST_AFTER = timedelta(minutes=2)


@transaction.atomic
def report_create(
    *,
    study: Study,
    others: Sequence[Study] = (),
    choices: Mapping[str, Any] | None = None,
    user: User | None = None,
    send: bool = True,
) -> Report:
    """Request a report on a study, or across it and ``others``; the job starts once the transaction is committed.

    Requested before a study with a sealed plan is complete, it is recorded as an early look. The caller has checked that the researcher may do so for all the studies. Raises ``ChoicesError`` if a choice is
    invalid; then nothing is stored. Without ``send``, the caller computes it.
    """
    from evaluation.reports.choices import Choices

    checked = Choices.parse(choices or {})
    report = Report(study=study, choices=checked.to_json(), created_by=user, progress="Waiting for a worker")
    report.full_clean()
    report.save()
    report.others.set([other for other in others if other.pk != study.pk])
    if checked.count != "rehearsal":
        for one in {study.pk: study, **{other.pk: other for other in others}}.values():
            plan_look_log(study=one, user=user)
    if send:
        transaction.on_commit(lambda: _send(report.pk))
    return report


def _send(report_pk: int) -> None:
    jobs.enqueue("evaluation.report_build", report_pk=report_pk)


def report_compute(*, report_pk: int) -> bool:
    """Compute a report and store it; True if this call did.

    Called twice, or for a report that is done, failed or being computed elsewhere, it changes nothing. A report whose
    worker was killed is still ``running`` but not locked, and is computed again.
    """
    from evaluation.core.version import software
    from evaluation.reports.choices import Choices
    from evaluation.reports.compute import compute_across

    with jobs.lock_held("report", report_pk) as mine:
        report = Report.objects.select_related("study").filter(pk=report_pk).first() if mine else None
        if report is None or report.state in (Report.State.DONE, Report.State.FAILED):
            return False
        rows = Report.objects.filter(pk=report_pk)

        def tell(text: str) -> None:
            rows.update(progress=text[:200])

        rows.update(state=Report.State.RUNNING, started_at=timezone.now(), progress="Starting")
        try:
            choices = Choices.parse(report.choices)
            studies = report.studies
            found = replica_read(lambda: compute_across(studies=studies, choices=choices, progress=tell))
        except Exception as error:
            log.exception("report %s failed", report_pk)
            rows.update(
                state=Report.State.FAILED,
                error=str(error) or type(error).__name__,
                progress="",
                finished_at=timezone.now(),
            )
            return True
        with transaction.atomic():
            ReportFile.objects.filter(report_id=report_pk).delete()
            ReportFile.objects.bulk_create(
                ReportFile(report_id=report_pk, name=name, media_type=media_type, body=body)
                for name, (media_type, body) in found.files.items()
            )
            rows.update(
                state=Report.State.DONE,
                content=found.content,
                inputs_hash=found.inputs_hash,
                software=software(),
                progress="",
                error="",
                finished_at=timezone.now(),
            )
    return True


def report_retry(*, report: Report) -> Report:
    """Queue a failed report again. A report in any other state is left as it is."""
    waiting = Report.objects.filter(pk=report.pk, state=Report.State.FAILED)
    if waiting.update(state=Report.State.QUEUED, error="", finished_at=None, progress="Waiting for a worker"):
        transaction.on_commit(lambda: _send(report.pk))
        report.refresh_from_db()
    return report


def report_delete(*, report: Report) -> None:
    """Delete a report with its files. The judgments that it was computed from stay."""
    report.delete()


def reports_sweep() -> int:
    """Queue reports again that no worker is computing: the job was never sent, or its worker was killed."""
    before = timezone.now() - LOST_AFTER
    lost = Report.objects.filter(state=Report.State.QUEUED, created_at__lt=before)
    lost |= Report.objects.filter(state=Report.State.RUNNING, started_at__lt=before)
    sent = 0
    for pk in lost.values_list("pk", flat=True):
        with jobs.lock_held("report", pk) as free:
            pass
        if free:
            _send(pk)
            sent += 1
    return sent
