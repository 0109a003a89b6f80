"""Runs, as background work for the researchers' pages."""

from __future__ import annotations

from django.urls import reverse

from annotator.core.background import BackgroundWork
from annotator.models import User
from evaluation.models import Run
from evaluation.selectors.run import runs_for

MOST = 50


def runs_as_work(*, user: User, studies: list[int] | None = None) -> list[BackgroundWork]:
    """The newest runs of these studies; without studies, only runs that are active or have failed.

    Trials that were hidden are left out.
    """
    runs = runs_for(user=user).order_by("-id")
    if studies is not None:
        runs = runs.filter(study__in=studies, hidden_at=None)
    else:
        runs = runs.filter(state__in=[*Run.LIVE, Run.State.PAUSED, Run.State.FAILED])
    return [
        BackgroundWork(
            title=f"Run {run.pk}: {run.kind.replace('_', ' ')} with {run.model}{f' at {run.endpoint}' if run.endpoint else ''}",
            state=run.get_state_display(),
            url=reverse("admin:evaluation_run_change", args=[run.pk]),
            study=run.study_id,
            running=run.state in Run.LIVE,
            failed=run.state == Run.State.FAILED,
            says=run.reason,
        )
        for run in runs[:MOST]
    ]
