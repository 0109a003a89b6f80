"""Store outcomes: all that arrived together, in one short transaction."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from annotator.hit_types.base import JSON
from evaluation.core.failure_words import failure_words
from evaluation.models import Call, Run
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.canary import latest_after, refusals_decide, share_reason
from evaluation.runs.step import Job
from evaluation.runs.text import clean

log = logging.getLogger(__name__)
_rng = random.Random()
#: Seconds before the second attempt; doubled for each further one, and shortened at random by up to half.
BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF = 60.0


_COLUMNS = (
    "id", "state", "again_in", "sent", "excused", "unreadable", "error_kind", "error", "text", "reply", "parsed", "flags",
    "model_returned", "fingerprint", "tokens_in", "tokens_out", "tokens_cached", "confidence", "seconds",
)  # fmt: skip
_SETTLE = """
UPDATE evaluation_call c SET
    state = n.state, reserved_cost = 0, claimed_by = '',
    not_before = CASE WHEN n.again_in IS NULL THEN NULL ELSE %s + n.again_in * interval '1 second' END,
    finished_at = CASE WHEN n.state = 'pending' THEN NULL ELSE %s END,
    attempts = c.attempts - (NOT n.sent AND NOT c.from_cache)::int,
    unparsable = c.unparsable + n.unreadable::int, excused = c.excused + n.excused::int,
    history = CASE WHEN n.sent AND n.state = 'pending' AND (n.text <> '' OR n.reply IS NOT NULL) THEN c.history || jsonb_build_object(
        'text', n.text, 'error_kind', n.error_kind, 'error', n.error, 'parsed', n.parsed, 'reply', n.reply, 'request', c.request,
        'model_returned', n.model_returned, 'tokens_in', n.tokens_in, 'tokens_out', n.tokens_out, 'cost', n.cost,
        'seconds', n.seconds, 'at', %s::timestamptz) ELSE c.history END,
    errors = CASE WHEN n.error_kind = '' OR NOT n.sent THEN c.errors ELSE c.errors || to_jsonb(n.error_kind) END,
    error_kind = n.error_kind, error = n.error, text = n.text, reply = n.reply, parsed = n.parsed, flags = n.flags,
    model_returned = n.model_returned, fingerprint = n.fingerprint, tokens_in = n.tokens_in,
    tokens_out = n.tokens_out, tokens_cached = n.tokens_cached, confidence = n.confidence, cost = c.cost + n.cost, seconds = n.seconds, applied = n.applied
FROM jsonb_to_recordset(%s::jsonb) AS n(
    id bigint, state text, again_in float, sent boolean, excused boolean, unreadable boolean, error_kind text, error text, text text,
    reply jsonb, parsed jsonb, flags jsonb, model_returned text, fingerprint text, tokens_in int, tokens_out int,
    tokens_cached int, confidence float, cost numeric, seconds float, applied boolean)
WHERE c.id = n.id AND c.claimed_by = %s AND c.state = 'in_flight'
RETURNING c.id
"""
_BOOK = """
UPDATE evaluation_run SET reserved_cost = reserved_cost - %s, spent_cost = spent_cost + %s,
    lost_cost = lost_cost + %s, overrun_cost = overrun_cost + %s, sent_calls = sent_calls - %s, heartbeat_at = %s,
    latest_attempts = %s
WHERE id = %s
"""
#: How many workers can die during one call before it fails.
MAX_LOST = 20
_RETURN = """
WITH gone AS (
    SELECT c.id, c.reserved_cost FROM evaluation_call c
    JOIN unnest(%(runs)s::bigint[], %(numbers)s::int[]) AS slice(run_id, number) USING (run_id)
    WHERE c.state = 'in_flight' AND starts_with(c.claimed_by, slice.number || ':') FOR NO KEY UPDATE OF c
), given_back AS (
    UPDATE evaluation_call c SET
        state = CASE WHEN c.lost + 1 >= %(most)s THEN 'failed' ELSE 'pending' END,
        error_kind = 'lost', error = 'The worker stopped while the call was in flight.',
        finished_at = CASE WHEN c.lost + 1 >= %(most)s THEN %(now)s::timestamptz END,
        lost = c.lost + (NOT c.from_cache)::int, errors = c.errors || '"lost"'::jsonb,
        reserved_cost = 0, claimed_by = ''
    FROM gone WHERE c.id = gone.id
    RETURNING c.run_id, gone.reserved_cost, c.from_cache
), sums AS (
    SELECT run_id, count(*) AS calls, count(*) FILTER (WHERE NOT from_cache) AS sent, sum(reserved_cost) AS reserved
    FROM given_back GROUP BY run_id
)
UPDATE evaluation_run r SET reserved_cost = r.reserved_cost - sums.reserved, lost_cost = lost_cost + sums.reserved,
    lost_calls = lost_calls + sums.sent
FROM sums WHERE r.id = sums.run_id
RETURNING sums.calls
"""
#: How many calls must have ended before their share of failures can pause a run.
LEAST_ENDED = 10
FINAL_FAILURES = frozenset({"failed", "unparsable"})
_SHARE = """
SELECT count(*) FILTER (WHERE c.state <> 'done'), count(*), r.max_failed_share,
    count(*) FILTER (WHERE c.state = 'failed' AND c.error_kind = 'bad_request'),
    EXISTS (SELECT 1 FROM evaluation_call d WHERE d.run_id = r.id AND d.state NOT IN ('failed', 'unparsable')),
    mode() WITHIN GROUP (ORDER BY c.error_kind) FILTER (WHERE c.state <> 'done'),
    max(c.error) FILTER (WHERE c.state <> 'done')
FROM evaluation_run r LEFT JOIN evaluation_call c ON c.run_id = r.id AND c.state IN ('done', 'failed', 'unparsable')
    AND c.finished_at >= coalesce(r.resumed_at, r.started_at, r.created_at)
WHERE r.id = %(run)s GROUP BY r.id
"""
# Calls that were recorded as refused items, although the key or the address was wrong: no call was answered since. Replies may
# be stored in another order than they were sent. A refused item that is among them is asked again, and refused again.
_NOT_REFUSED = """
UPDATE evaluation_call SET state = 'pending', finished_at = NULL, not_before = NULL
WHERE run_id = %(run)s AND state = 'failed' AND error_kind = 'item_refused' AND finished_at > (
    SELECT coalesce(max(finished_at), '-infinity') - interval '10 seconds' FROM evaluation_call
    WHERE run_id = %(run)s AND state = 'done' AND NOT from_cache)
"""
_ANSWERED = (
    "SELECT EXISTS (SELECT 1 FROM evaluation_call WHERE run_id = %s AND state = 'done' AND NOT from_cache)"
)
_PAUSE = "UPDATE evaluation_run SET state = 'paused', reason = %s WHERE id = %s AND state = 'running'"


def settle(*, run: Run, token: str, outcomes: Sequence[Outcome]) -> int:
    """Store outcomes of calls that ``token`` has in flight; returns how many it still had.

    Calls that it no longer has (they were considered lost and given to another worker) are left alone: their
    reservation has already been counted as perhaps spent.
    """
    if not outcomes:
        return 0
    now = timezone.now()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT latest_attempts, max_failed_share FROM evaluation_run WHERE id = %s FOR NO KEY UPDATE",
            [run.pk],
        )
        before, most = cursor.fetchone()
        latest = latest_after(before, outcomes)
        refused = refusals_decide(
            outcomes, latest=latest, is_answered=partial(_is_answered, cursor, run), rng=_rng
        )
        own, broken = _store(cursor, [_row(outcome) for outcome in outcomes], now=now, token=token)
        kept = [outcome for outcome in outcomes if outcome.id in own]
        released = sum((o.reserved for o in kept), Decimal(0))
        spent = sum((min(o.cost, o.reserved) for o in kept), Decimal(0))
        over = sum((max(o.cost - o.reserved, Decimal(0)) for o in kept), Decimal(0))
        lost = sum((o.reserved for o in kept if o.charge), Decimal(0))
        unsent = sum(not o.sent and o.of_request for o in kept)
        cursor.execute(_BOOK, [released, spent, lost, over, unsent, now, latest, run.pk])
        follow(run, [o.next for o in kept if o.next is not None and o.id not in broken])
        if refused:
            cursor.execute(_NOT_REFUSED, {"run": run.pk})
        reason = refused or next((o.pause for o in kept if o.pause), "")
        reason = reason or (share_reason(latest, most=most, outcomes=outcomes) if latest != before else "")
        if not reason and any(o.state in FINAL_FAILURES for o in kept):
            reason = too_many_failed(run)
        if over and not reason:
            reason = _overrun(max(kept, key=lambda o: o.cost - o.reserved))
        if reason:
            cursor.execute(_PAUSE, [reason[:2000], run.pk])
    return len(kept)


def _overrun(outcome: Outcome) -> str:
    """Why the run is to pause after a charge above the reservation, with or without a budget."""
    return (
        f"The endpoint charged more tokens than the request allowed: {outcome.cost:.4f} for one call, and at most "
        f"{outcome.reserved:.4f} was expected. Check its replies before you resume; then as much is reserved for each call as the "
        "dearest one cost."
    )


def _is_answered(cursor: Any, run: Run) -> bool:
    """Whether the endpoint has answered a call of the run."""
    cursor.execute(_ANSWERED, [run.pk])
    return bool(cursor.fetchone()[0])


def _store(cursor: Any, rows: Sequence[JSON], *, now: datetime, token: str) -> tuple[set[int], set[int]]:
    """Store all rows at once, or one at a time if one of them can't be stored.

    Returns the calls that were still held, and those of which only a minimum could be stored.
    """

    def store(part: Sequence[JSON]) -> set[int]:
        with transaction.atomic():
            cursor.execute(_SETTLE, [now, now, now, json.dumps(part, allow_nan=False), token])
            return {row[0] for row in cursor.fetchall()}

    try:
        return store(rows), set()
    except (DataError, IntegrityError, ValueError):
        log.exception("outcomes of %s cannot be stored together; storing them one by one", token)
    own: set[int] = set()
    broken: set[int] = set()
    for row in rows:
        try:
            own |= store([row])
        except (DataError, IntegrityError, ValueError) as error:
            log.exception("the outcome of call %s cannot be stored", row["id"])
            broken.add(row["id"])
            reason = f"The reply could not be stored: {type(error).__name__}"
            own |= store([_minimal(row) | {"error_kind": "not_stored", "error": reason}])
    return own, broken


def _minimal(row: JSON) -> JSON:
    """The same call as failed, with its cost and text but nothing else from the endpoint."""
    empty: JSON = {"reply": None, "parsed": None, "flags": [], "model_returned": "", "fingerprint": ""}
    text = row["text"][:10_000]
    return row | empty | {"state": "failed", "text": text, "again_in": None, "applied": False}


def too_many_failed(run: Run) -> str:
    """The reason to pause the run if too many of the calls that ended since its last start have failed: more than its share of at least
    ``LEAST_ENDED``, or of a run's last calls, when none was ever answered and the server refused every request."""
    with connection.cursor() as cursor:
        cursor.execute(_SHARE, {"run": run.pk})
        failed, ended, most, refused, any_done, kind, message = cursor.fetchone()
    none_taken = 0 < failed == refused and not any_done and most < 1
    if not none_taken and (ended < LEAST_ENDED or failed <= most * ended):
        return ""
    advice = (
        "Fix the cause and retry the failed calls."
        if none_taken
        else "Fix the cause and resume, or allow a larger share of failed calls."
    )
    return f"{failed} of {ended} calls failed, most of them: {failure_words(kind)}. {message[:300]} {advice}"


def _row(outcome: Outcome) -> JSON:
    row: JSON = {name: getattr(outcome, name) for name in _COLUMNS}
    row["applied"] = outcome.next is not None  # an earlier stage's result is the next one's context
    row["cost"] = str(outcome.cost)
    row["error"] = outcome.error[:2000]
    return clean(row)


def follow(run: Run, jobs: Sequence[Job]) -> None:
    """Create the calls of a next stage; existing ones stay as they are."""
    if jobs:
        Call.objects.bulk_create([call_of(run, job) for job in jobs], ignore_conflicts=True)


def call_of(run: Run, job: Job) -> Call:
    """The unsaved row of a job."""
    return Call(
        run=run,
        key=job.key,
        item_id=job.item_id,
        subject=job.subject,
        sample=job.sample,
        stage=job.stage,
        context=clean(job.context),
    )


def backoff(attempt: int, retry_after: float | None, rng: random.Random) -> float:
    """Seconds before the next attempt: what the endpoint asked for, or else doubling; both with random variation.

    >>> 0.25 <= backoff(1, None, random.Random(1)) <= 0.5
    True
    >>> 2.0 <= backoff(1, 2.0, random.Random(1)) <= 2.2
    True
    """
    if retry_after is not None:
        return retry_after * (1 + 0.1 * rng.random()) + 0.01
    longest = min(LONGEST_BACKOFF, BACKOFF_SECONDS * 2.0 ** min(attempt - 1, 20))
    return longest * (0.5 + 0.5 * rng.random())


def give_back_lost(*, run: Run, slice_number: int) -> int:
    """Free the calls of a dead worker; the caller holds the slice's lock. Returns how many.

    Each may have been sent and paid for, so its reservation counts as perhaps spent. A call whose workers die
    repeatedly fails for good, so that it can't bring down one worker after another.
    """
    with transaction.atomic():
        Run.objects.select_for_update(no_key=True).only("pk").get(pk=run.pk)
        return _give_back([(run.pk, slice_number)])


def slices_give_back(*, slices: Collection[tuple[int, int]]) -> int:
    """``give_back_lost`` for many slices, each (primary key of the run, number), whose locks the caller holds.

    Runs that somebody is changing at the moment are left out. Needs a transaction.
    """
    wanted = Run.objects.filter(pk__in={run for run, _ in slices}).select_for_update(
        no_key=True, skip_locked=True
    )
    locked = set(wanted.values_list("pk", flat=True))
    return _give_back([one for one in slices if one[0] in locked])


def _give_back(slices: Collection[tuple[int, int]]) -> int:
    runs, numbers = [run for run, _ in slices], [number for _, number in slices]
    with connection.cursor() as cursor:
        cursor.execute(_RETURN, {"runs": runs, "numbers": numbers, "most": MAX_LOST, "now": timezone.now()})
        return sum(calls for (calls,) in cursor.fetchall())
