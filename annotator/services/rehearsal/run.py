"""Rehearsals as background jobs: a researcher requests one, a worker carries it out, and the page can stop or clear it."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.models import Rehearsal, Study, User
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.rehearsal.places import rehearsal_prepare

log = logging.getLogger(__name__)

#: How much the accuracy of rehearsal raters varies around its mean (standard deviation).
SPREAD = 0.06
ACTIVE = (Rehearsal.State.QUEUED, Rehearsal.State.RUNNING)


class Stopped(Exception):
    """Raised inside a rehearsal when the researcher has stopped it."""


@transaction.atomic
def rehearsal_request(*, study: Study, by: User | None, raters: int, accuracy: float, seed: int) -> Rehearsal:
    """Request a rehearsal, which a worker carries out.

    ``accuracy`` is the mean share of right answers, from 0 to 1. Raises ``ValidationError`` for a value out of range,
    for a study that cannot be rehearsed, and while another rehearsal of the study is running.
    """
    rehearsal_prepare(study=study)
    rehearsal = Rehearsal(study=study, created_by=by, raters=raters, accuracy=accuracy, seed=seed)
    rehearsal.full_clean(validate_constraints=False)
    try:
        with transaction.atomic():
            rehearsal.save()
    except IntegrityError:
        raise ValidationError("A rehearsal of this study is already running.") from None
    transaction.on_commit(lambda: _queue(rehearsal.pk))
    return rehearsal


def _queue(pk: int) -> None:
    jobs.enqueue("annotator.rehearsal_run", rehearsal_pk=pk)


def rehearsal_run(*, rehearsal_pk: int) -> int:
    """Carry out a rehearsal; returns how many judgments this call added.

    Does nothing while another worker carries it out, or once it has ended. After a worker is killed, the next call
    continues from the raters and judgments in the database.
    """
    with jobs.lock_held("rehearsal", rehearsal_pk) as mine:
        return _run(rehearsal_pk) if mine else 0


def _run(pk: int) -> int:
    rehearsal = Rehearsal.objects.select_related("study").filter(pk=pk, state__in=ACTIVE).first()
    if rehearsal is None or not _move(pk, Rehearsal.State.RUNNING):
        return 0
    added = 0
    try:
        study = rehearsal_prepare(study=rehearsal.study)
        raters = rehearsal_raters(
            study=study,
            count=rehearsal.raters,
            accuracy=rehearsal.accuracy,
            spread=SPREAD,
            seed=rehearsal.seed,
        )

        def each() -> None:
            nonlocal added
            added += 1
            if added % 20 == 0 and not Rehearsal.objects.filter(pk=pk, state__in=ACTIVE).exists():
                raise Stopped

        rehearse(study=study, raters=raters, seed=rehearsal.seed, each=each)
    except Stopped:
        return added
    except Exception as error:  # whatever the error is, the waiting researcher must see that it failed
        log.exception("rehearsal %s failed", pk)
        detail = "; ".join(error.messages) if isinstance(error, ValidationError) else str(error)
        _move(pk, Rehearsal.State.FAILED, error=f"{type(error).__name__}: {detail}"[:500])
        return added
    _move(pk, Rehearsal.State.DONE)
    return added


def _move(pk: int, state: str, *, error: str = "") -> bool:
    """Change the state of an active rehearsal; False if it is no longer active."""
    ended = None if state in ACTIVE else timezone.now()
    changed = Rehearsal.objects.filter(pk=pk, state__in=ACTIVE).update(
        state=state, error=error, finished_at=ended
    )
    return bool(changed)


def rehearsal_stop(*, study: Study) -> bool:
    """Stop the study's rehearsal; its judgments stay until it is cleared. Returns whether one was running."""
    return any(
        _move(pk, Rehearsal.State.STOPPED)
        for pk in study.rehearsals.filter(state__in=ACTIVE).values_list("pk", flat=True)
    )


def rehearsals_sweep() -> int:
    """Wake a worker for rehearsals that no worker is running; returns how many."""
    old = timezone.now() - timedelta(minutes=1)
    waiting = Rehearsal.objects.filter(state__in=ACTIVE, created_at__lt=old)
    pks = list(waiting.values_list("pk", flat=True)[:100])
    for pk in pks:
        _queue(pk)
    return len(pks)
