"""Runs through an endpoint's batch API: many requests in one file, whose replies are read when they are ready.

Replies may come in any order, twice, or not at all: they are matched by the call's id, the first one counts,
and calls without a reply are sent again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import uuid4

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from annotator.core import jobs
from evaluation.core.failure_words import pause_words
from evaluation.models import Batch, Call, Run
from evaluation.providers.base import ChatRequest, ProviderError
from evaluation.providers.contract import BatchApi, BatchRead
from evaluation.providers.keys import KeyRefused
from evaluation.runs.apply import apply_some
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.claim import claim
from evaluation.runs.endpoint_settings import deployments_of, has_moved, moved_reason
from evaluation.runs.health import endpoint_contact, outage_reason
from evaluation.runs.lifecycle import run_pause
from evaluation.runs.outcome import RunReplies, from_cache, unsent
from evaluation.runs.registry import step_get
from evaluation.runs.request import Ready
from evaluation.runs.settle import settle
from evaluation.runs.step import ClaimedCall, Step
from evaluation.runs.worker import Worked
from evaluation.selectors.endpoint import batch_api_of, endpoint_client

log = logging.getLogger(__name__)
T = TypeVar("T")
#: Calls in one file.
IN_A_FILE = 2000
#: Seconds between two checks of a batch.
LOOK_AGAIN = 2.0


def batch_work(*, run_pk: int) -> Worked:
    """Read the batch at the endpoint if it is ready, then send the next one. Doesn't wait for the endpoint."""
    if not jobs.lock_take("run-slice", run_pk, 0):
        return Worked("busy")
    try:
        run = Run.objects.select_related("endpoint", "study", "dataset").get(pk=run_pk)
        step = step_get(run.kind)
        try:
            worked = _turn(run, step)
        except (ProviderError, KeyRefused) as error:
            reason = _pause_reason(run, error)
            if reason:
                run_pause(run=run, reason=reason)
            worked = Worked("paused") if reason else Worked("time", wait=LOOK_AGAIN * 5)
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            # It would fail again each time, so the run pauses until a researcher has looked at it.
            log.exception("run %s: the worker failed", run.pk)
            run_pause(run=run, reason=f"The worker failed: {type(error).__name__}: {error}"[:2000])
            return Worked("paused")
        while apply_some(run=run, step=step):
            pass
        return worked
    finally:
        jobs.lock_release("run-slice", run_pk, 0)


def _pause_reason(run: Run, error: ProviderError | KeyRefused) -> str:
    """Why the run is to pause: waiting won't help, or the endpoint has been failing for too long; else empty."""
    if not isinstance(error, ProviderError):
        return str(error)
    if error.fatal:
        return pause_words(error.kind, str(error))
    endpoint_contact(endpoint=run.endpoint, error=str(error))
    return outage_reason(run, run.endpoint, timezone.now())


def _turn(run: Run, step: Step) -> Worked:
    for batch in run.batches.filter(state=Batch.State.SENDING):
        _lost(run, step, batch)
    waiting = run.batches.filter(state=Batch.State.WAITING).first()
    if waiting is not None:
        if has_moved(run, run.endpoint):
            what = "A batch of this run is at"
            run_pause(run=run, reason=moved_reason(run.endpoint, since=deployments_of(run), what=what))
            return Worked("paused")
        read = _ask(run, lambda api: api.read(waiting.remote_id))
        Batch.objects.filter(pk=waiting.pk).update(looked_at=timezone.now())
        if not read.over:
            return Worked("time", wait=LOOK_AGAIN)
        _store(run, step, waiting, read)
    return _send(run, step)


def _ask(run: Run, request: Callable[[BatchApi], Coroutine[Any, Any, T]]) -> T:
    async def main() -> T:
        client = endpoint_client(run.endpoint)
        try:
            return await request(batch_api_of(run.endpoint)(client))
        finally:
            await client.aclose()

    reply = asyncio.run(main())
    if run.endpoint.failing_since is not None:
        endpoint_contact(endpoint=run.endpoint)
    return reply


def _send(run: Run, step: Step) -> Worked:
    token = f"file:{uuid4().hex}"
    with transaction.atomic():
        batch = Batch.objects.create(run=run, token=token)
        got = claim(run=run, endpoint=run.endpoint, step=step, token=token, want=IN_A_FILE, in_a_file=True)
    settle(run=run, token=token, outcomes=from_cache(run=run, step=step, hits=got.hits))
    if not got.ready:
        batch.delete()
        if got.state != Run.State.RUNNING:
            return Worked(got.state)
        if got.hits:
            return Worked("time", wait=0.1)
        return Worked("idle") if got.wait is None else Worked("time", wait=got.wait)
    try:
        lines, refused = _lines(run, step, got.ready)
        settle(run=run, token=token, outcomes=refused)
        if not lines:
            batch.delete()
            return Worked("time", wait=0.1)
        remote_id = _ask(run, lambda api: api.send(lines))
    except Exception:
        with transaction.atomic():  # the endpoint accepted nothing, so undo the claim
            settle(run=run, token=token, outcomes=[o for ready in got.ready for o in unsent(ready)])
            batch.delete()
        raise
    Batch.objects.filter(pk=batch.pk).update(remote_id=remote_id, state=Batch.State.WAITING)
    return Worked("time", wait=LOOK_AGAIN)


def _lines(run: Run, step: Step, claimed: Sequence[Ready]) -> tuple[list[str], list[Outcome]]:
    """The lines of a file, and the outcomes of the calls whose request can't be made, for example because the file of an
    image is missing."""
    lines, refused, kind = [], list[Outcome](), batch_api_of(run.endpoint)
    for ready in claimed:
        try:
            lines.append(kind.line(str(ready.calls[0].id), ready.request))
        except ProviderError as error:
            refused += RunReplies(run=run, endpoint=run.endpoint, step=step).read(ready, error)
    return lines, refused


def _lost(run: Run, step: Step, batch: Batch) -> None:
    """The worker died while it sent the file: the endpoint may have it and charge for it, under an unknown id."""
    error = ProviderError("connection", "The worker stopped while it sent the file.")
    replies = RunReplies(run=run, endpoint=run.endpoint, step=step)
    outcomes = [o for ready in _claimed(run, batch) for o in replies.failed(ready, error)]
    settle(run=run, token=batch.token, outcomes=outcomes)
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.FAILED, error=str(error))


def _claimed(run: Run, batch: Batch, step: Step | None = None) -> Iterator[Ready]:
    """The calls of a batch in the form in which a worker claims them; with ``step``, together with what they are about."""
    rows = Call.objects.filter(run=run, claimed_by=batch.token, state=Call.State.IN_FLIGHT)
    calls = [
        # This attempt is counted already; the code below expects the count before it, as at the time of the claim.
        (replace(ClaimedCall.of_row(row), attempts=row.attempts - 1), row.reserved_cost)
        for row in rows.defer("request", "reply").order_by("pk")
    ]
    things = step.load(run, [call for call, _ in calls]) if step else {}
    for call, reserved in calls:
        whole = replace(call, thing=things.get(call.id))
        yield Ready(ChatRequest(run.model, ()), (whole,), {call.id: reserved})


def _store(run: Run, step: Step, batch: Batch, read: BatchRead) -> None:
    """Match replies to calls, and store them in one transaction with the end of the batch."""
    replies = RunReplies(run=run, endpoint=run.endpoint, step=step)
    missing = ProviderError("server", f"The batch is {read.status} and has no reply to this call.")
    outcomes: list[Outcome] = []
    for ready in _claimed(run, batch, step):
        outcomes += replies.read(ready, read.replies.get(str(ready.calls[0].id), missing))
    with transaction.atomic():
        settle(run=run, token=batch.token, outcomes=outcomes)
        state, error = (Batch.State.DONE, "") if read.complete else (Batch.State.FAILED, read.status)
        Batch.objects.filter(pk=batch.pk).update(state=state, error=error)
