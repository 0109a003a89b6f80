"""Hide the trials of a prompt, and show them again. Their calls and what they cost are kept."""

from __future__ import annotations

from django.utils import timezone

from annotator.models import Study
from evaluation.runs.lifecycle import OVER
from evaluation.selectors.prompts import trials_of


def trials_hide(*, study: Study) -> int:
    """Hide the trials of a study that are over from the page of its prompt; returns how many.

    Their replies have been paid for: they stay in the cache, in the list of runs and in what the workspace has spent.
    """
    return trials_of(study=study).filter(hidden_at=None, state__in=OVER).update(hidden_at=timezone.now())


def trials_show(*, study: Study) -> int:
    """Show the hidden trials of a study again; returns how many."""
    return trials_of(study=study).exclude(hidden_at=None).update(hidden_at=None)
