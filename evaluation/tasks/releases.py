"""Releases: a worker builds them; a sweeper queues those whose message was lost, and deletes files without a release."""

from __future__ import annotations

from annotator.core.jobs import job
from evaluation.services.release import release_compute, releases_sweep


@job("evaluation.release_build")
def release_build(*, release_pk: int) -> bool:
    """Build a release, unless it is done or being built."""
    return release_compute(release_pk=release_pk)


@job("evaluation.releases_sweep")
def releases_sweep_task() -> int:
    """Queue releases again that no worker is building."""
    return releases_sweep()
