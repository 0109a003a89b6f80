"""Releases: a worker builds them; a sweeper queues those whose message was lost, and deletes files without a release."""

from __future__ import annotations

from typing import Any

from annotator.core.jobs import job
from annotator.services.turns import Work, in_turn, rows_take_turns
from evaluation.models import Release
from evaluation.services.release import release_compute, releases_sweep

rows_take_turns(
    "evaluation.release_build",
    "release_pk",
    Release.objects.filter(state=Release.State.QUEUED),
    workspace="report__study__workspace",
    lock="release",
    carry_out=lambda pk: release_compute(release_pk=pk),
)


@job("evaluation.release_build")
def release_build(*, release_pk: int) -> Any:
    """Build a release, unless it is done or being built."""
    return in_turn(Work("evaluation.release_build", release_pk))


@job("evaluation.releases_sweep")
def releases_sweep_task() -> int:
    """Queue releases again that no worker is building."""
    return releases_sweep()
