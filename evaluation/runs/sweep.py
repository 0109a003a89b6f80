"""The sweeper of runs: it releases the calls of dead workers and wakes workers for runs that have none, as Postgres
shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from annotator.core import jobs
from evaluation.models import Call, Run
from evaluation.runs.lifecycle import run_finish
from evaluation.runs.settle import slices_give_back
from evaluation.runs.wake import runs_wake

#: Primary key of a run -> the numbers of its slices that no worker has.
Free = Mapping[int, list[int]]


def runs_sweep() -> int:
    """Check every run that is running or has calls in flight. Returns how many were woken.

    The number of statements is the same for any number of runs and slices, but for those that a run takes which ends.
    """
    held = Call.objects.filter(state=Call.State.IN_FLIGHT).values("run").distinct()
    runs = Run.objects.filter(Q(state=Run.State.RUNNING) | Q(pk__in=held)).order_by("pk")
    found = list(runs.only("pk", "workers", "mode", "state", "woken_at"))
    free = _free(found)
    _give_back(found, free)
    idle = [run for run in found if run.state == Run.State.RUNNING and free[run.pk]]
    over = {run.pk for run in _ended(idle) if run_finish(run=run)}
    slices = {run.pk: free[run.pk] for run in idle if run.pk not in over and _asleep(run)}
    if slices:
        runs_wake(slices=slices)
    return len(slices)


def _free(runs: Sequence[Run]) -> Free:
    names = {("run-slice", run.pk, number) for run in runs for number in range(run.workers)}
    free = jobs.locks_free(names) if names else set()
    return {run.pk: [n for n in range(run.workers) if ("run-slice", run.pk, n) in free] for run in runs}


def _give_back(runs: Sequence[Run], free: Free) -> None:
    """Release the calls of slices that no worker has. Only those slices are locked, so that no worker that starts now finds
    its slice taken for nothing."""
    live = [run.pk for run in runs if run.mode == Run.Mode.LIVE and free[run.pk]]
    claimed = Call.objects.filter(run__in=live, state=Call.State.IN_FLIGHT)
    holders = claimed.order_by().values_list("run_id", "claimed_by").distinct()
    slices = {(run_pk, int(token.partition(":")[0])) for run_pk, token in holders}
    lost = {("run-slice", run_pk, number) for run_pk, number in slices if number in free[run_pk]}
    if not lost:
        return
    with transaction.atomic():
        mine = jobs.locks_take_briefly(lost)
        slices_give_back(
            slices={(run_pk, number) for run_pk, number in slices if ("run-slice", run_pk, number) in mine}
        )


def _ended(runs: Sequence[Run]) -> list[Run]:
    """The runs without any call to send or to apply."""
    calls = Call.objects.filter(run=OuterRef("pk"))
    left = [
        Q(state=Call.State.PENDING),
        Q(state=Call.State.IN_FLIGHT),
        Q(state=Call.State.DONE, applied=False),
    ]
    ended = Run.objects.filter(pk__in=[run.pk for run in runs])
    for some in left:  # one condition for each partial index
        ended = ended.filter(~Exists(calls.filter(some)))
    over = set(ended.values_list("pk", flat=True))
    return [run for run in runs if run.pk in over]


def _asleep(run: Run) -> bool:
    """Whether the last message is so old that it is either lost, or in a queue where another one does no harm."""
    limit = timezone.now() - timedelta(seconds=settings.RUN_WAKE_SECONDS)
    return run.woken_at is None or run.woken_at < limit
