"""Claiming calls: one short transaction picks them, reserves their cost, and marks them as in flight.

Lock order everywhere: endpoint, run, calls; calls are taken with SKIP LOCKED, so no worker waits for another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone

from evaluation.models import Call, Endpoint, Run
from evaluation.providers.base import ChatRequest
from evaluation.runs.cache import cache_split, wait_for_reply
from evaluation.runs.canary import at_once
from evaluation.runs.endpoint_settings import (
    DEPLOYMENTS,
    change_reason,
    deployments_of,
    deployments_set,
    has_changed_since,
    has_moved,
    is_answered,
    moved_reason,
    settings_take,
)
from evaluation.runs.health import copy_state, outage_reason, window_of
from evaluation.runs.limits import affordable, book, rate_room, workspace_room
from evaluation.runs.repair import repair_messages
from evaluation.runs.request import (
    Prices,
    Ready,
    cache_key,
    likely_tokens,
    most_tokens,
    request_build,
    share_of,
)
from evaluation.runs.step import ClaimedCall, Step
from evaluation.runs.structured import with_form
from evaluation.runs.text import clean
from evaluation.runs.together import together_request
from evaluation.selectors.endpoint import provider_of

#: Calls claimed beyond what may be in flight, so that the next request never waits for the database.
AHEAD = 16
#: Seconds until a run whose endpoint has moved looks again whether calls in flight were answered at the old address.
MOVED_WAIT = 0.5


@dataclass(frozen=True)
class Hit:
    """A call that is answered from the cache: some run has paid for its reply."""

    call: ClaimedCall
    key: str
    source: int
    request: ChatRequest


@dataclass(frozen=True)
class ReadyCalls:
    """What claimed calls need: requests to send, replies from the cache, and the ids of those that wait for a reply on its way."""

    ready: tuple[Ready, ...]
    hits: tuple[Hit, ...]
    waiting: tuple[int, ...]


@dataclass(frozen=True)
class Claim:
    """What may be sent now. ``allowed``: the number of requests that the worker may have in flight until its next claim.

    If there is nothing to send, ``wait`` is the number of seconds until it is worth asking again, None if nothing is left
    to claim; ``state`` is the state of the run. ``stale``: the endpoint has changed since the worker read it, so the worker
    has to read it again and make a new client.
    """

    state: str
    ready: tuple[Ready, ...] = ()
    hits: tuple[Hit, ...] = ()
    allowed: int = 0
    wait: float | None = None
    stale: bool = False


_PICK = """
SELECT id, key, item_id, subject, sample, stage, context::text AS context, attempts, unparsable, lost, excused, cache_key,
    CASE WHEN history <> '[]' THEN (
        SELECT jsonb_build_object('text', h -> 'text', 'error_kind', h -> 'error_kind', 'error', h -> 'error', 'parsed', h -> 'parsed')
        FROM jsonb_array_elements(history) WITH ORDINALITY AS t(h, n) WHERE h ->> 'text' <> '' ORDER BY n DESC LIMIT 1
    )::text END AS last
FROM evaluation_call
WHERE run_id = %s AND state = 'pending' AND (not_before IS NULL OR not_before <= %s)
ORDER BY id LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
"""
_NEXT = "SELECT min(coalesce(not_before, %s)) FROM evaluation_call WHERE run_id = %s AND state = 'pending'"
_IN_FLIGHT = """
SELECT c.run_id, c.claimed_by, ceil(count(*)::float / r.together)::int, (r.allowances ->> split_part(c.claimed_by, ':', 1))::int
FROM evaluation_call c JOIN evaluation_run r ON r.id = c.run_id
WHERE c.state = 'in_flight' AND r.endpoint_id = %s AND r.mode = 'live'
GROUP BY r.id, c.run_id, c.claimed_by
"""
_MARK = """
UPDATE evaluation_call c SET state = 'in_flight', claimed_by = %s, claimed_at = %s, attempts = c.attempts + (NOT n.cached)::int,
    reserved_cost = n.reserved, request = n.request, cache_key = n.key, not_before = NULL, from_cache = n.cached
FROM jsonb_to_recordset(%s::jsonb) AS n(id bigint, reserved numeric, request jsonb, key text, cached boolean)
WHERE c.id = n.id
"""


def claim(
    *, run: Run, endpoint: Endpoint, step: Step, token: str, want: int, in_a_file: bool = False
) -> Claim:
    """Claim up to ``want`` requests for the worker that ``token`` names. ``run`` and ``endpoint`` may be stale.

    ``in_a_file``: they go to the batch API, which has no limits on concurrency and rate.

    Nothing is claimed beyond the endpoint's concurrency and rates or the run's budgets; a budget that allows
    no further call pauses the run, once nothing in flight can give back a reservation.
    """
    with transaction.atomic():
        now = timezone.now()
        endpoint_row = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        run_row = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        state = run_row.state
        if state != Run.State.RUNNING:
            return Claim(state)
        if changed := change_reason(run_row, endpoint_row):
            if is_answered(run_row):
                return _paused(run_row, changed)
            if run_row.calls.filter(state=Call.State.IN_FLIGHT).exists():
                return Claim(state, wait=MOVED_WAIT)  # another worker sent them with the old settings
            settings_take(run_row, endpoint_row)
            step.follow(run_row, endpoint_row)
            run_row.save(update_fields=["endpoint_settings", "parameters", "rater"])
            return Claim(state, wait=0.0, stale=True)
        if reason := outage_reason(run_row, endpoint_row, now):
            return _paused(run_row, reason)
        if has_changed_since(held=endpoint, stored=endpoint_row):
            return Claim(state, wait=0.0, stale=True)
        if has_moved(run_row, endpoint_row):
            if run_row.calls.filter(state=Call.State.IN_FLIGHT).exists():
                return Claim(state, wait=MOVED_WAIT)  # another worker sent them to the old address
            if is_answered(run_row):
                return _paused(run_row, moved_reason(endpoint_row, since=deployments_of(run_row)))
            step.follow(run_row, endpoint_row)
        if has_moved(run_row, endpoint_row) or DEPLOYMENTS not in run_row.endpoint_settings:
            deployments_set(run_row, endpoint_row)
            run_row.save(update_fields=["endpoint_settings", "rater"])
        copy_state(endpoint_row, endpoint)
        if endpoint_row.hold_until and endpoint_row.hold_until > now and not in_a_file:
            return Claim(state, wait=(endpoint_row.hold_until - now).total_seconds())
        others, own, mates = _in_flight(run=run, token=token)
        room, wait, most = want, 0.05, want
        if not in_a_file:
            window = window_of(endpoint_row)
            most = max(0, window - others)
            few = at_once(run_row.latest_attempts)
            if few is not None:
                most = min(most, max(0, few - mates))
            shared = workspace_room(workspace_id=run.workspace_id, run_pk=run.pk, token=token)
            most = most if shared is None else min(most, shared)
            room = min(want, most + min(ahead(window), most) - own)
            room, wait = rate_room(endpoint=endpoint_row, now=now, room=room)
        calls = _pick(run, now, room * run.together) if room > 0 else []
        if not calls:
            if _allow(run_row, token, min(most, own)):
                run_row.save(update_fields=["allowances"])
            next_look = _seconds_to_next(run, now) if room > 0 else wait
            return Claim(state, allowed=min(most, own), wait=next_look)
        prepared = _prepare(
            run=run, endpoint=endpoint_row, step=step, calls=calls, now=now, in_a_file=in_a_file,
            least=_dearest(run_row),
        )  # fmt: skip
        ready, shortage = affordable(run=run_row, requests=prepared.ready, workspace_id=run.workspace_id)
        elsewhere = others + own and not in_a_file  # requests in flight may give back a reservation
        if shortage and not (ready or prepared.hits or run_row.reserved_cost or elsewhere):
            return _paused(run_row, shortage)
        _mark(token=token, now=now, ready=ready, hits=prepared.hits)
        allowed = min(most, own + len(ready))
        _allow(run_row, token, allowed)
        book(run=run_row, endpoint=endpoint_row, now=now, requests=ready)
        if prepared.waiting:
            wait_for_reply(calls=prepared.waiting, now=now)
        if not ready and not prepared.hits:
            next_look = _seconds_to_next(run, now) if prepared.waiting else 0.2
            return Claim(state, allowed=allowed, wait=next_look)
        return Claim(state, tuple(ready), prepared.hits, allowed=allowed)


def _paused(run: Run, reason: str) -> Claim:
    run.state, run.reason = Run.State.PAUSED, reason
    run.save(update_fields=["state", "reason"])
    return Claim(run.state)


def _in_flight(*, run: Run, token: str) -> tuple[int, int, int]:
    """Requests that other workers may have in flight at the endpoint, those that ``token`` has claimed, and of the former
    those of the same run.

    A worker claims more than it may send. At any time it has at most its allowance in flight, and at most what it has
    claimed; an allowance that a killed worker left behind is therefore none.
    """
    others = own = mates = 0
    with connection.cursor() as cursor:
        cursor.execute(_IN_FLIGHT, [run.endpoint_id])
        for run_pk, holder, claimed, allowance in cursor.fetchall():
            if (run_pk, holder) == (run.pk, token):
                own = claimed
            else:
                sent = claimed if allowance is None else min(claimed, allowance)
                others += sent
                mates += sent if run_pk == run.pk else 0
    return others, own, mates


def _allow(run: Run, token: str, requests: int) -> bool:
    """Set how many requests a worker may have in flight; returns whether that is a change."""
    before, run.allowances = run.allowances, run.allowances | {token.partition(":")[0]: requests}
    return bool(run.allowances != before)


def ahead(concurrency: int) -> int:
    """How many requests a worker may claim beyond what it may send: a quarter, at most ``AHEAD``."""
    return min(AHEAD, concurrency // 4)


def _pick(run: Run, now: datetime, limit: int) -> list[ClaimedCall]:
    with connection.cursor() as cursor:
        cursor.execute(_PICK, [run.pk, now, limit])
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in rows:
        row["context"], row["last"] = json.loads(row["context"]), json.loads(row["last"] or "null")
    return [ClaimedCall(**row) for row in rows]


def _dearest(run: Run) -> Decimal:
    """What the run's dearest call cost, if the endpoint has charged more than was reserved; else 0."""
    if not run.overrun_cost:
        return Decimal(0)
    return run.calls.aggregate(most=Max("cost"))["most"] or Decimal(0)


def _seconds_to_next(run: Run, now: datetime) -> float | None:
    """Seconds until the next pending call is due; None if none is pending."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, [now, run.pk])
        due = cursor.fetchone()[0]
    return None if due is None else max(0.02, (due - now).total_seconds())


def _prepare(
    *,
    run: Run,
    endpoint: Endpoint,
    step: Step,
    calls: Sequence[ClaimedCall],
    now: datetime,
    in_a_file: bool,
    least: Decimal = Decimal(0),
) -> ReadyCalls:
    """Build each call's request, look them up in the cache, and group and price those that are to be sent.

    At least ``least`` is reserved for each call.
    """
    things = step.load(run, calls)
    calls = [replace(call, thing=things.get(call.id)) for call in calls]
    images = step.images(run, calls)
    requests = {
        call.id: replace(build(run, endpoint, step, call), images=images.get(call.id, {})) for call in calls
    }
    keys = {
        call.id: cache_key(
            base_url=endpoint.base_url,
            headers=endpoint.headers,
            api_version=endpoint.api_version,
            request=requests[call.id],
            sample=call.sample,
        )
        for call in calls
    }
    split = cache_split(run=run, endpoint=endpoint, calls=calls, keys=keys, now=now, in_a_file=in_a_file)
    prices = Prices.of(endpoint)
    ready = []
    for start in range(0, len(split.send), run.together):
        group = split.send[start : start + run.together]
        request = requests[group[0].id]
        if len(group) > 1:
            request = together_request([(call, requests[call.id]) for call in group])
        share = max(share_of(prices.cost(*most_tokens(request)), len(group)), least)
        tokens = likely_tokens(request) if endpoint.tokens_per_minute else 0
        group_keys = {call.id: keys[call.id] for call in group}
        ready.append(Ready(request, group, dict.fromkeys(group_keys, share), group_keys, tokens))
    hits = [Hit(call, keys[call.id], source, requests[call.id]) for call, source in split.cached]
    return ReadyCalls(tuple(ready), tuple(hits), tuple(call.id for call in split.wait))


def build(run: Run, endpoint: Endpoint, step: Step, call: ClaimedCall) -> ChatRequest:
    """The request for one call."""
    parameters: dict[str, Any] = endpoint.parameters | run.parameters
    schema = step.schema(run, call) if endpoint.structured and run.together == 1 else None
    messages = step.messages(run, call)
    if schema is not None:
        messages = with_form(messages, schema, lambda text: step.demonstration(run, call, text))
    return request_build(
        model=run.model,
        messages=[*messages, *repair_messages(run=run, call=call)],
        parameters=parameters,
        sample=call.sample,
        samples=run.samples,
        limit=provider_of(endpoint).reply_limit(
            model=run.model, tokens=step.max_tokens, thinking=endpoint.thinking_tokens
        ),
        schema=schema,
        folds_system=endpoint.fold_system,
    )


def _mark(*, token: str, now: datetime, ready: Sequence[Ready], hits: Sequence[Hit]) -> None:
    """Store the claimed calls as in flight, each with its request."""
    sent = [
        (call.id, str(one.reserved[call.id]), one.request, one.keys[call.id], False)
        for one in ready
        for call in one.calls
    ]
    cached = [(hit.call.id, "0", hit.request, hit.key, True) for hit in hits]
    rows = [
        {"id": pk, "reserved": reserved, "request": request.body(), "key": key, "cached": from_cache}
        for pk, reserved, request, key, from_cache in (*sent, *cached)
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_MARK, [token, now, json.dumps(clean(rows))])
