"""Applying results: judgments, explanations and follow-ups are created from them, each exactly once."""

from __future__ import annotations

import logging
from itertools import groupby

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import QuerySet

from evaluation.models import Call, Run
from evaluation.runs.step import Step

log = logging.getLogger(__name__)
AT_ONCE = 200


def apply_some(*, run: Run, step: Step) -> int:
    """Apply up to ``AT_ONCE`` finished calls of a run; returns how many.

    With several samples a key's calls are applied together, once all calls of the run are settled.
    """
    with transaction.atomic():
        groups = _groups(run)
        if not groups:
            return 0
        try:
            with transaction.atomic():
                step.apply(run, groups)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception("run %s: results cannot be applied together; applying them one by one", run.pk)
            for group in groups:
                _apply_alone(run, step, group)
        calls = [call.pk for group in groups for call in group]
        Call.objects.filter(pk__in=calls).update(applied=True)
        return len(calls)


def _apply_alone(run: Run, step: Step, group: list[Call]) -> None:
    try:
        with transaction.atomic():
            step.apply(run, [group])
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        log.exception("run %s: the result of %s cannot be applied", run.pk, group[0].key)
        Call.objects.filter(pk__in=[call.pk for call in group]).update(
            state=Call.State.FAILED, error_kind="not_applied", error=f"{type(error).__name__}: {error}"[:2000]
        )


def _groups(run: Run) -> list[list[Call]]:
    waiting = Call.objects.filter(run=run, state=Call.State.DONE, applied=False)
    if run.samples == 1:
        return [
            [call] for call in _light(waiting).order_by("id").select_for_update(skip_locked=True)[:AT_ONCE]
        ]
    if unsettled(run):
        return []
    keys = list(waiting.order_by("key").values_list("key", flat=True).distinct()[:AT_ONCE])
    calls = _light(waiting.filter(key__in=keys)).order_by("key", "sample").select_for_update()
    return [list(group) for _, group in groupby(calls, key=lambda call: call.key)]


def _light(calls: QuerySet[Call]) -> QuerySet[Call]:
    """Without the request and the raw reply: no step needs them, and they are most of a row."""
    return calls.defer("request", "reply")


def unsettled(run: Run) -> bool:
    """Whether some call of the run is pending or in flight."""
    return Call.objects.filter(run=run, state__in=[Call.State.PENDING, Call.State.IN_FLIGHT]).exists()
