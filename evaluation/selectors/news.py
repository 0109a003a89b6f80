"""News about agreement and runs that researchers can get emails about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.core.cache import cache
from django.db.models import Max, Q
from django.urls import reverse

from annotator.core.news import News
from annotator.models import AuditEntry, Judgment, Study
from evaluation.models import Run
from evaluation.selectors.live import agreement_so_far

#: Agreement is low if even the upper end of its interval is below this.
LOW = 0.4
#: How long, in seconds, agreement is remembered that nothing has changed since.
KEPT = 24 * 3600
#: What a run needs help with, in words.
_STATES = {
    Run.State.PAUSED: "is paused",
    Run.State.FAILED: "has failed",
    Run.State.INCOMPLETE: "finished with failed calls",
}


def quality_news(studies: Sequence[Study]) -> Iterator[News]:
    """Low agreement among people, once for each version of a study, and runs that need help."""
    for study in studies:
        text = _agreement_words(study) if study.state == Study.State.LIVE else ""
        if text:
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


def _agreement_words(study: Study) -> str:
    """A sentence if agreement is low, else empty; computed again only if there are newer judgments, or exclusions and other changes."""
    latest = Judgment.objects.filter(study=study).aggregate(latest=Max("pk"))["latest"]
    changed = AuditEntry.objects.filter(study=study).aggregate(latest=Max("pk"))["latest"]
    key = f"low-agreement:{study.pk}:{study.snapshot_id}:{latest}:{changed}"
    text: str | None = cache.get(key)
    if text is None:
        found = agreement_so_far(study=study)
        alpha = found.points[-1].alpha if found and found.points and not found.rehearsal else None
        low = alpha is not None and alpha.high < LOW  # not if there is no interval: nan compares as False
        text = (
            f"Agreement is low: alpha {alpha.value:.2f} (95 % interval {alpha.low:.2f} to {alpha.high:.2f})"
            if alpha is not None and low
            else ""
        )
        cache.set(key, text, KEPT)
    return text
