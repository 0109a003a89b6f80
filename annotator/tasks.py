"""Periodic work of the room. Postgres holds the truth: each task can run at any time, twice, or not for a while."""

from __future__ import annotations

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

from annotator.accounts.attempts import knocks_sweep
from annotator.services.assignment import leases_expire
from annotator.services.exports import export_build, exports_sweep
from annotator.services.imports.pending_uploads import parked_sweep

log = logging.getLogger(__name__)


@shared_task(name="annotator.leases_expire", ignore_result=True)
def leases_expire_task() -> int:
    """Free the places of leases that are over."""
    return leases_expire()


@shared_task(name="annotator.export_build", ignore_result=True, acks_late=True, reject_on_worker_lost=True)
def export_build_task(export_pk: int) -> bool:
    """Build an export that somebody waits for."""
    return export_build(export_pk=export_pk)


def export_wake(export_pk: int) -> None:
    """Tell a worker of an export. With Redis away nobody hears it; the sweeper finds it later."""
    try:
        export_build_task.delay(export_pk)
    except OperationalError as error:
        log.warning("export %s waits for the sweeper: %s", export_pk, error)


@shared_task(name="annotator.exports_sweep", ignore_result=True)
def exports_sweep_task() -> int:
    """Wake exports that were asked for and never built; remove old files, and tries at passwords that no longer count."""
    parked_sweep()
    knocks_sweep()
    return exports_sweep(wake=export_wake)
