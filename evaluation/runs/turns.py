"""Which runs have calls that could be sent now and no worker for them, by workspace."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotator.core import jobs
from annotator.services.turns import LOOKED_AT, Work
from evaluation.models import Call, Run

#: A run's workspace: its study's, or its dataset's if it has no study.
_WORKSPACE = Coalesce("study__workspace", "dataset__workspace")


def run_workspace(run_pk: int) -> int | None:
    """The workspace of a run; None if there is none."""
    found = Run.objects.filter(pk=run_pk).annotate(owner=_WORKSPACE).values_list("owner", flat=True)
    return found.first()


def runs_waiting() -> Mapping[int, Work]:
    """For each workspace a slice without a worker of a run with calls that are due, the run that waits longest first.

    Runs of the batch API and those whose endpoint is held (after a refusal for its rate) don't count: they couldn't go on.
    """
    now = timezone.now()
    due = Call.objects.filter(run=OuterRef("pk"), state=Call.State.PENDING)
    runs = (
        Run.objects.filter(
            Exists(due.filter(Q(not_before__isnull=True) | Q(not_before__lte=now))),
            Q(endpoint__hold_until__isnull=True) | Q(endpoint__hold_until__lte=now),
            state=Run.State.RUNNING,
            mode=Run.Mode.LIVE,
        )
        .annotate(owner=_WORKSPACE)
        .filter(owner__isnull=False)
        .order_by(F("woken_at").asc(nulls_first=True), "pk")
    )
    found = list(runs.values_list("pk", "owner", "workers")[:LOOKED_AT])
    names = {("run-slice", pk, number) for pk, _, workers in found for number in range(workers)}
    free = jobs.locks_free(names) if names else set()
    first: dict[int, Work] = {}
    for pk, owner, workers in found:
        number = next((n for n in range(workers) if ("run-slice", pk, n) in free), None)
        if number is not None:
            first.setdefault(owner, Work("evaluation.run_work", pk, number))
    return first
