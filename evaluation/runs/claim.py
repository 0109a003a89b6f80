"""Claiming calls: one short transaction picks them, reserves their cost, and marks them as in flight.

Lock order everywhere: endpoint, run, calls; calls are taken with SKIP LOCKED, so no worker waits for another.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from annotator.core import jobs
from annotator.core.words import money
from annotator.models import Workspace
from evaluation.models import Call, Endpoint, Run
from evaluation.providers.base import ChatRequest
from evaluation.runs.cache import cache_split, wait_for_reply
from evaluation.runs.endpoint_settings import (
    DEPLOYMENTS,
    change_reason,
    deployments_of,
    deployments_set,
    has_changed_since,
    has_moved,
    is_answered,
    moved_reason,
)
from evaluation.runs.health import copy_state, outage_reason, window_of
from evaluation.runs.repair import repair_messages
from evaluation.runs.request import Prices, cache_key, likely_tokens, most_tokens, request_build, share_of
from evaluation.runs.step import ClaimedCall, Step
from evaluation.runs.structured import with_form
from evaluation.runs.text import clean
from evaluation.runs.together import together_request
from evaluation.selectors.run import workspace_spent

_RAISE = "Raise it and resume the run, or cancel the run."
#: Calls claimed beyond what may be in flight, so that the next request never waits for the database.
AHEAD = 16
#: Seconds of an endpoint's rate that may be saved up for a burst.
BURST_SECONDS = 2.0
#: Seconds until a run whose endpoint has moved looks again whether calls in flight were answered at the old address.
MOVED_WAIT = 0.5


@dataclass(frozen=True)
class Ready:
    """One request to send, and the calls that it answers: one, or several in one request.

    ``tokens``: the estimate that is booked against the endpoint's tokens per minute, 0 if it has no such limit.
    """

    request: ChatRequest
    calls: tuple[ClaimedCall, ...]
    reserved: dict[int, Decimal]
    keys: dict[int, str] = field(default_factory=dict)
    tokens: int = 0


@dataclass(frozen=True)
class Hit:
    """A call that is answered from the cache: some run has paid for its reply."""

    call: ClaimedCall
    key: str
    source: int
    request: ChatRequest


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
_FLYING = """
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
        place = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        row = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        if row.state != Run.State.RUNNING:
            return Claim(row.state)
        if reason := change_reason(row, place) or outage_reason(row, place, now):
            return _paused(row, reason)
        if has_changed_since(held=endpoint, stored=place):
            return Claim(row.state, wait=0.0, stale=True)
        if has_moved(row, place):
            if row.calls.filter(state=Call.State.IN_FLIGHT).exists():
                return Claim(row.state, wait=MOVED_WAIT)  # another worker sent them to the old address
            if is_answered(row):
                return _paused(row, moved_reason(place, since=deployments_of(row)))
            step.follow(row, place)
        if has_moved(row, place) or DEPLOYMENTS not in row.endpoint_settings:
            deployments_set(row, place)
            row.save(update_fields=["endpoint_settings", "rater"])
        copy_state(place, endpoint)
        if place.hold_until and place.hold_until > now and not in_a_file:
            return Claim(row.state, wait=(place.hold_until - now).total_seconds())
        others, own = _flying(run, endpoint, token)
        room, wait, most = want, 0.05, want
        if not in_a_file:
            window = window_of(place)
            most = max(0, window - others)
            room, wait = _rate_room(place, now, min(want, most + min(ahead(window), most) - own))
        calls = _pick(run, now, room * run.together) if room > 0 else []
        if not calls:
            if _allow(row, token, min(most, own)):
                row.save(update_fields=["allowances"])
            next_look = _seconds_to_next(run, now) if room > 0 else wait
            return Claim(row.state, allowed=min(most, own), wait=next_look)
        ready, hits, waiting = _prepare(run, place, step, calls, now=now, in_a_file=in_a_file)
        ready, short = _afford(row, place, ready, workspace_id=run.workspace_id)
        if (
            short
            and not ready
            and not hits
            and not row.reserved_cost
            and not (others + own and not in_a_file)
        ):
            return _paused(row, short)
        _mark(token, now, ready, hits)
        allowed = min(most, own + len(ready))
        _allow(row, token, allowed)
        _book(row, place, now, ready)
        if waiting:
            wait_for_reply(calls=waiting, now=now)
        if not ready and not hits:
            next_look = _seconds_to_next(run, now) if waiting else 0.2
            return Claim(row.state, allowed=allowed, wait=next_look)
        return Claim(row.state, tuple(ready), tuple(hits), allowed=allowed)


def _paused(row: Run, reason: str) -> Claim:
    row.state, row.reason = Run.State.PAUSED, reason
    row.save(update_fields=["state", "reason"])
    return Claim(row.state)


def _flying(run: Run, endpoint: Endpoint, token: str) -> tuple[int, int]:
    """Requests that other workers may have in flight at the endpoint, and those that ``token`` has claimed.

    A worker claims more than it may send. At any time it has at most its allowance in flight, and at most what it has
    claimed; an allowance that a killed worker left behind is therefore none.
    """
    others = own = 0
    with connection.cursor() as cursor:
        cursor.execute(_FLYING, [endpoint.pk])
        for run_pk, holder, claimed, allowance in cursor.fetchall():
            if (run_pk, holder) == (run.pk, token):
                own = claimed
            else:
                others += claimed if allowance is None else min(claimed, allowance)
    return others, own


def _allow(row: Run, token: str, requests: int) -> bool:
    """Set how many requests a worker may have in flight; returns whether that is a change."""
    before, row.allowances = row.allowances, row.allowances | {token.partition(":")[0]: requests}
    return bool(row.allowances != before)


def ahead(concurrency: int) -> int:
    """How many requests a worker may claim beyond what it may send: a quarter, at most ``AHEAD``."""
    return min(AHEAD, concurrency // 4)


def _pick(run: Run, now: datetime, limit: int) -> list[ClaimedCall]:
    with connection.cursor() as cursor:
        cursor.execute(_PICK, [run.pk, now, limit])
        names = [column.name for column in cursor.description or ()]
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return [
        ClaimedCall(
            **row
            | {
                "context": json.loads(row["context"]),
                "last": json.loads(row["last"]) if row["last"] else None,
            }
        )
        for row in found
    ]


def _seconds_to_next(run: Run, now: datetime) -> float | None:
    """Seconds until the next pending call is due; None if none is pending."""
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, [now, run.pk])
        due = cursor.fetchone()[0]
    return None if due is None else max(0.02, (due - now).total_seconds())


def _prepare(
    run: Run,
    endpoint: Endpoint,
    step: Step,
    calls: Sequence[ClaimedCall],
    *,
    now: datetime,
    in_a_file: bool,
) -> tuple[list[Ready], list[Hit], list[int]]:
    """Build each call's request. Those in the cache are returned apart, and the ids of those whose reply is on its way;
    the others are grouped and priced."""
    things = step.load(run, calls)
    asked = [replace(call, thing=things.get(call.id)) for call in calls]
    images = step.images(run, asked)
    requests = {
        call.id: replace(build(run, endpoint, step, call), images=images.get(call.id, {})) for call in asked
    }
    keys = {
        call.id: cache_key(
            base_url=endpoint.base_url,
            headers=endpoint.headers,
            api_version=endpoint.api_version,
            request=requests[call.id],
            sample=call.sample,
        )
        for call in asked
    }
    split = cache_split(run=run, endpoint=endpoint, calls=asked, keys=keys, now=now, in_a_file=in_a_file)
    hits = [Hit(call, keys[call.id], source, requests[call.id]) for call, source in split.cached]
    rest = split.send
    prices = Prices.of(endpoint)
    ready = []
    for start in range(0, len(rest), run.together):
        group = rest[start : start + run.together]
        request = (
            requests[group[0].id]
            if len(group) == 1
            else together_request([(c, requests[c.id]) for c in group])
        )
        cost = prices.cost(*most_tokens(request))
        shares = {call.id: share_of(cost, len(group)) for call in group}
        tokens = likely_tokens(request) if endpoint.tokens_per_minute else 0
        ready.append(Ready(request, group, shares, {call.id: keys[call.id] for call in group}, tokens))
    return ready, hits, [call.id for call in split.wait]


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
        max_tokens=step.max_tokens,
        schema=schema,
    )


def _afford(
    run: Run, endpoint: Endpoint, ready: list[Ready], *, workspace_id: int | None
) -> tuple[list[Ready], str]:
    """As many requests as the budgets of the run and of its workspace allow, and a message if one allows no more."""
    kept: list[Ready] = []
    limits = _limits(run, workspace_id) if ready else []
    reserved = Decimal(0)
    for request in ready:
        if run.budget_calls is not None and run.sent_calls + len(kept) >= run.budget_calls:
            return kept, f"The budget of {run.budget_calls:,} calls is used up. {_RAISE}"
        reserved += sum(request.reserved.values(), Decimal(0))
        for left, words in limits:
            if reserved > left:
                return kept, f"What is left of {words} may not cover the next call. {_RAISE}"
        kept.append(request)
    return kept, ""


def _limits(run: Run, workspace_id: int | None) -> list[tuple[Decimal, str]]:
    """What is left of each budget, and its name. Runs of a workspace with a budget take turns until they commit."""
    limits = []
    if run.budget_cost is not None:
        used = run.spent_cost + run.reserved_cost + run.lost_cost
        limits.append((run.budget_cost - used, f"the budget of {money(run.budget_cost)}"))
    labs = Workspace.objects.filter(model_budget__isnull=False)
    lab = labs.filter(pk=workspace_id).first() if workspace_id else None
    if lab is not None and lab.model_budget is not None:
        jobs.lock_wait_briefly("workspace budget", lab.pk)
        limits.append(
            (
                lab.model_budget - workspace_spent(lab.pk),
                f"the workspace's budget of {money(lab.model_budget)}",
            )
        )
    return limits


def _mark(token: str, now: datetime, ready: Sequence[Ready], hits: Sequence[Hit]) -> None:
    rows = [
        {
            "id": call.id,
            "reserved": str(one.reserved[call.id]),
            "request": one.request.body(),
            "key": one.keys[call.id],
            "cached": False,
        }
        for one in ready
        for call in one.calls
    ]
    rows += [
        {"id": hit.call.id, "reserved": "0", "request": hit.request.body(), "key": hit.key, "cached": True}
        for hit in hits
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_MARK, [token, now, json.dumps(clean(rows))])


def _book(run: Run, endpoint: Endpoint, now: datetime, ready: Sequence[Ready]) -> None:
    """Reserve the cost, count the requests, and book them against the endpoint's rates."""
    run.heartbeat_at = now
    run.sent_calls += len(ready)
    run.reserved_cost += sum((cost for one in ready for cost in one.reserved.values()), Decimal(0))
    run.save(update_fields=["heartbeat_at", "sent_calls", "reserved_cost", "allowances"])
    if not ready or not (endpoint.requests_per_minute or endpoint.tokens_per_minute):
        return
    if endpoint.requests_per_minute:
        endpoint.requests_due = _moved(
            endpoint.requests_due, now, len(ready) * 60 / endpoint.requests_per_minute
        )
    if endpoint.tokens_per_minute:
        tokens = sum(one.tokens for one in ready)
        endpoint.tokens_due = _moved(endpoint.tokens_due, now, tokens * 60 / endpoint.tokens_per_minute)
    endpoint.save(update_fields=["requests_due", "tokens_due"])


def _moved(due: datetime | None, now: datetime, seconds: float) -> datetime:
    return _start(due, now) + timedelta(seconds=seconds)


def _start(due: datetime | None, now: datetime) -> datetime:
    earliest = now - timedelta(seconds=BURST_SECONDS)
    return max(due or earliest, earliest)


def _rate_room(endpoint: Endpoint, now: datetime, room: int) -> tuple[int, float]:
    """How many of ``room`` requests the rates allow now, and the seconds to wait if none."""
    wait = 0.05
    if endpoint.tokens_per_minute:
        behind = (_start(endpoint.tokens_due, now) - now).total_seconds()
        if behind > 0:
            return 0, max(wait, behind)
    if endpoint.requests_per_minute:
        behind = (_start(endpoint.requests_due, now) - now).total_seconds()
        if behind > 0:
            return 0, max(wait, behind)
        room = min(room, math.floor(-behind * endpoint.requests_per_minute / 60) + 1)
    return room, wait
