"""News about agreement and runs that researchers can get emails about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import Q
from django.urls import reverse

from annotator.core.news import News
from annotator.models import Study
from evaluation.models import Run
from evaluation.selectors.live import agreement_so_far

#: Agreement is low if even the upper end of its interval is below this.
LOW = 0.4
#: What a run needs help with, in words.
_STATES = {
    Run.State.PAUSED: "is paused",
    Run.State.FAILED: "has failed",
    Run.State.INCOMPLETE: "finished with failed calls",
}


def quality_news(studies: Sequence[Study]) -> Iterator[News]:
    """Low agreement among people, once for each version of a study, and runs that need help."""
    for study in studies:
        found = agreement_so_far(study=study) if study.state == Study.State.LIVE else None
        alpha = found.points[-1].alpha if found and found.points and not found.rehearsal else None
        if alpha is not None and alpha.high < LOW:  # not if there is no interval: nan compares as False
            text = f"Agreement is low: alpha {alpha.value:.2f} (95 % interval {alpha.low:.2f} to {alpha.high:.2f})"
            path = reverse("admin:study_live", args=[study.pk])
            yield News(study.pk, "quality", f"low agreement {study.snapshot_id}", text, path)
    runs = Run.objects.filter(study__in=studies, hidden_at__isnull=True).filter(
        Q(state__in=(Run.State.FAILED, Run.State.INCOMPLETE)) | Q(state=Run.State.PAUSED) & ~Q(reason="")
    )
    for run in runs.order_by("pk"):
        state = Run.State(run.state)
        yield News(
            run.study_id or 0,
            "quality",
            f"run {run.pk} {state} {run.resumed_at:%Y-%m-%dT%H:%M:%S}"
            if run.resumed_at
            else f"run {run.pk} {state}",
            f"A run of {run.model[:100]} {_STATES[state]}",
            reverse("admin:evaluation_run_change", args=[run.pk]),
            run.finished_at or run.heartbeat_at or run.created_at,
        )
