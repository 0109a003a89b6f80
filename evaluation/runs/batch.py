"""Runs through an endpoint's batch API: many requests in one file, whose replies are read when they are ready.

Replies may come in any order, twice, or not at all: they are matched by the call's id, the first one counts,
and calls without a reply are sent again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar
from uuid import uuid4

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from annotator.core import jobs
from evaluation.core.failure_words import pause_words
from evaluation.models import Batch, Call, Run
from evaluation.providers.base import ChatRequest, ProviderError
from evaluation.providers.images import chat_body
from evaluation.providers.keys import KeyRefused
from evaluation.providers.openai_compatible import OpenAICompatible, provider_error_of_status, read_completion
from evaluation.runs.apply import apply_some
from evaluation.runs.claim import Ready, claim
from evaluation.runs.endpoint_settings import deployments_of, has_moved, moved_reason
from evaluation.runs.health import endpoint_contact, outage_reason
from evaluation.runs.lifecycle import run_pause
from evaluation.runs.outcome import failed, from_cache, read_reply, reply_outcomes, unsent
from evaluation.runs.registry import step_get
from evaluation.runs.settle import Outcome, settle
from evaluation.runs.step import ClaimedCall, Step
from evaluation.runs.worker import Worked
from evaluation.selectors.endpoint import endpoint_openai

log = logging.getLogger(__name__)
T = TypeVar("T")
#: Calls in one file.
IN_A_FILE = 2000
#: Seconds between two checks of a batch.
LOOK_AGAIN = 2.0
OVER = frozenset({"completed", "failed", "expired", "cancelled"})


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
        _lost(run, batch)
    waiting = run.batches.filter(state=Batch.State.WAITING).first()
    if waiting is not None:
        if has_moved(run, run.endpoint):
            what = "A batch of this run is at"
            run_pause(run=run, reason=moved_reason(run.endpoint, since=deployments_of(run), what=what))
            return Worked("paused")
        status, lines = _ask(run, lambda provider: provider.batch_read(waiting.remote_id))
        Batch.objects.filter(pk=waiting.pk).update(looked_at=timezone.now())
        if status not in OVER:
            return Worked("time", wait=LOOK_AGAIN)
        _read(run, step, waiting, status, lines)
    return _send(run, step)


def _ask(run: Run, what: Callable[[OpenAICompatible], Coroutine[Any, Any, T]]) -> T:
    async def main() -> T:
        provider = endpoint_openai(run.endpoint)
        try:
            return await what(provider)
        finally:
            await provider.aclose()

    found = asyncio.run(main())
    if run.endpoint.failing_since is not None:
        endpoint_contact(endpoint=run.endpoint)
    return found


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
        return (
            Worked("time", wait=0.1)
            if got.hits
            else Worked("idle")
            if got.wait is None
            else Worked("time", wait=got.wait)
        )
    try:
        lines, refused = _lines(run, step, got.ready)
        settle(run=run, token=token, outcomes=refused)
        if not lines:
            batch.delete()
            return Worked("time", wait=0.1)
        remote = _ask(run, lambda provider: provider.batch_send("\n".join(lines).encode()))
    except Exception:
        with transaction.atomic():  # the endpoint accepted nothing, so undo the claim
            settle(run=run, token=token, outcomes=[o for one in got.ready for o in unsent(one)])
            batch.delete()
        raise
    Batch.objects.filter(pk=batch.pk).update(remote_id=remote, state=Batch.State.WAITING)
    return Worked("time", wait=LOOK_AGAIN)


def _lines(run: Run, step: Step, ready: Sequence[Ready]) -> tuple[list[str], list[Outcome]]:
    """The lines of a file, and the outcomes of the calls whose request can't be made, for example because the file of an
    image is missing."""
    lines, refused, rng = [], [], random.Random()
    for one in ready:
        try:
            body = chat_body(one.request)
        except ProviderError as error:
            refused.append(
                read_reply(run=run, endpoint=run.endpoint, step=step, ready=one, reply=error, rng=rng)
            )
            continue
        about = {"custom_id": str(one.calls[0].id), "method": "POST", "url": "/v1/chat/completions"}
        lines.append(json.dumps(about | {"body": body}))
    return lines, refused


def _lost(run: Run, batch: Batch) -> None:
    """The worker died while it sent the file: the endpoint may have it and charge for it, under an unknown id."""
    rng = random.Random()
    error = ProviderError("connection", "The worker stopped while it sent the file.")
    outcomes = [
        failed(run, ready, call, error, Decimal(0), 0.0, rng) for ready, call in _held(run, None, batch)
    ]
    settle(run=run, token=batch.token, outcomes=outcomes)
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.FAILED, error=str(error))


def _held(run: Run, step: Step | None, batch: Batch) -> Iterator[tuple[Ready, ClaimedCall]]:
    """The calls of a batch in the form in which a worker claims them."""
    rows = Call.objects.filter(run=run, claimed_by=batch.token, state=Call.State.IN_FLIGHT)
    calls = [
        # This attempt is counted already; the code below expects the count before it, as at the time of the claim.
        (replace(ClaimedCall.of_row(row), attempts=row.attempts - 1), row.reserved_cost)
        for row in rows.defer("request", "reply").order_by("pk")
    ]
    things = step.load(run, [call for call, _ in calls]) if step else {}
    for call, reserved in calls:
        whole = replace(call, thing=things.get(call.id))
        yield Ready(ChatRequest(run.model, ()), (whole,), {call.id: reserved}), whole


def _read(run: Run, step: Step, batch: Batch, status: str, lines: bytes) -> None:
    """Match replies to calls, and store them in one transaction with the end of the batch."""
    replies: dict[str, dict[str, Any]] = {}
    for line in lines.decode("utf-8", "replace").split(
        "\n"
    ):  # a text may have other line ends, such as U+2028
        try:
            row = json.loads(line, parse_constant=str)
            replies.setdefault(str(row["custom_id"]), row)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # a broken line is a missing reply
    rng = random.Random()
    outcomes: list[Outcome] = []
    for ready, call in _held(run, step, batch):
        row = replies.get(str(call.id))
        if row is None:
            said = f"The batch is {status} and has no reply to this call."
            error = ProviderError("server", said)
            outcomes.append(failed(run, ready, call, error, Decimal(0), 0.0, rng))
        else:
            outcomes.append(_outcome(run, step, ready, call, row, rng))
    with transaction.atomic():
        settle(run=run, token=batch.token, outcomes=outcomes)
        state = Batch.State.DONE if status == "completed" else Batch.State.FAILED
        Batch.objects.filter(pk=batch.pk).update(state=state, error="" if status == "completed" else status)


def _outcome(
    run: Run, step: Step, ready: Ready, call: ClaimedCall, row: dict[str, Any], rng: random.Random
) -> Outcome:
    response = row.get("response") if isinstance(row.get("response"), dict) else {}
    body = response.get("body") if isinstance(response, dict) else None
    status = response.get("status_code") if isinstance(response, dict) else 0
    status = status if isinstance(status, int) else 0
    try:
        if status != 200 or not isinstance(body, dict):
            raise provider_error_of_status(status, body or row.get("error"))
        reply = read_completion(body)
    except ProviderError as error:
        return read_reply(run=run, endpoint=run.endpoint, step=step, ready=ready, reply=error, rng=rng)
    return reply_outcomes(run=run, endpoint=run.endpoint, step=step, ready=ready, reply=reply, rng=rng)[0]
