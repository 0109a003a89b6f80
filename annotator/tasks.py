"""Periodic work of the room. Postgres holds the truth: each task can run at any time, twice, or not for a while."""

from __future__ import annotations

from celery import shared_task

from annotator.services.assignment import leases_expire


@shared_task(name="annotator.leases_expire", ignore_result=True)
def leases_expire_task() -> int:
    """Free the places of leases that are over."""
    return leases_expire()
