"""How well an endpoint is doing, shared by all its workers through its row: a circuit breaker and a window.

*Breaker*: when ``THRESHOLD`` different calls in a row have failed for a reason that is the endpoint's (no
connection, 5xx, timeout, rate limit), nothing is sent for a while and then one request at a time, until one
succeeds. The pauses grow with the outage. Failures meanwhile don't count as attempts of their calls.
A call that gets a 500 again after other calls have succeeded isn't counted: some servers answer 500 where the reply to
one prompt doesn't fit its format, and the last calls of a run may all be like that.

*Window*: each rate limit halves the number of requests that may be in flight, and each window of successes adds
one, as TCP does.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from evaluation.models import Call, Endpoint, Run
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.settle import backoff

#: The number of different calls that must fail in a row. Fewer failures may be the fault of the calls themselves.
THRESHOLD = 5
#: Seconds without requests: at first, and at most.
FIRST_HOLD = 0.5
LONGEST_HOLD = 30.0
#: The fields of an endpoint that this module writes.
STATE = ("failing_calls", "failing_since", "trouble", "window", "hold_until", "tokens_due")
#: Failures that say something about the endpoint and not about the call.
TROUBLE = frozenset({"rate_limit", "server", "timeout", "connection", "unreachable"})


@dataclass(frozen=True)
class HealthReport:
    """What a worker observed since its last report: the number of successful requests, and the outcomes of troubled
    ones."""

    successes: int
    troubled: tuple[Outcome, ...]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> HealthReport:
        sent = [
            outcome
            for outcome in outcomes
            if outcome.sent and outcome.of_request and outcome.error_kind != "cancelled"
        ]
        troubled = tuple(outcome for outcome in sent if outcome.error_kind in TROUBLE)
        return cls(len(sent) - len(troubled), troubled)


def is_open(endpoint: Endpoint) -> bool:
    """Whether the breaker is open: only single requests may be sent, to see whether the endpoint is back."""
    return len(endpoint.failing_calls) >= THRESHOLD


def window_of(endpoint: Endpoint) -> int:
    """Requests that may be in flight at the endpoint now."""
    if is_open(endpoint):
        return 1
    if endpoint.window is None:
        return endpoint.concurrency
    return max(1, min(endpoint.concurrency, math.floor(endpoint.window)))


def is_held(endpoint: Endpoint) -> bool:
    """Whether no request may be sent now."""
    return endpoint.hold_until is not None and endpoint.hold_until > timezone.now()


def copy_state(row: Endpoint, held: Endpoint) -> None:
    """Update a worker's copy of the endpoint."""
    for name in STATE:
        setattr(held, name, getattr(row, name))


def endpoint_report(*, endpoint: Endpoint, outcomes: Sequence[Outcome], rng: random.Random) -> bool:
    """Update the endpoint's state with what came back; returns whether its breaker is open.

    Changes the outcomes of troubled requests: if the endpoint was unavailable or limited the rate, they are excused,
    and their calls are retried without using up an attempt.
    """
    report = HealthReport.of(outcomes)
    well = not report.troubled and endpoint.window is None and not endpoint.failing_calls
    if well and not endpoint.tokens_per_minute:
        return False
    now = timezone.now()
    with transaction.atomic():
        row = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        if report.successes:
            row.failing_calls, row.failing_since, row.trouble = [], None, ""
        if report.troubled:
            _troubled(row, report, now, rng)
        elif row.window is not None:
            grown = row.window + report.successes / max(row.window, 1.0)
            row.window = None if grown >= row.concurrency else grown
        if row.tokens_per_minute and row.tokens_due:
            # The tokens booked at the time of the claim were an estimate.
            more = sum(_tokens(outcome) - outcome.estimated for outcome in outcomes)
            row.tokens_due += timedelta(seconds=more * 60 / row.tokens_per_minute)
        row.save(update_fields=STATE)
    copy_state(row, endpoint)
    for outcome in outcomes:
        if outcome.error_kind in TROUBLE and outcome.sent:
            silent = not report.successes and not (outcome.repeated and row.failing_since is None)
            _excuse(outcome, available=not is_open(row), silent=silent, rng=rng)
    return is_open(row)


def _tokens(outcome: Outcome) -> int:
    """Tokens that count against the endpoint's rate. Every call of a request has the reply's token counts."""
    if not outcome.of_request:
        return 0
    if outcome.tokens_in is not None:
        return outcome.tokens_in + (outcome.tokens_out or 0)
    refused = not outcome.sent or outcome.error_kind in ("rate_limit", "unreachable")
    return 0 if refused else outcome.estimated


def _troubled(row: Endpoint, report: HealthReport, now: datetime, rng: random.Random) -> None:
    limited = [outcome for outcome in report.troubled if outcome.error_kind == "rate_limit"]
    # After a success the list is empty: a repeated failure that isn't in it has had a success in between.
    counted = [o for o in report.troubled if not o.repeated or o.id in row.failing_calls]
    if counted:
        row.trouble = counted[-1].error[:500]
    if counted and not report.successes:
        row.failing_since = row.failing_since or now
        failed = dict.fromkeys([*row.failing_calls, *(o.id for o in counted if o not in limited)])
        row.failing_calls = list(failed)[:THRESHOLD]
    held = row.hold_until is not None and row.hold_until > now
    seconds = 0.0
    if limited:
        if not held:  # requests that were in flight together halve it only once
            row.window = max(1.0, window_of(row) / 2)
        asked = max(outcome.hold for outcome in limited)
        seconds = asked or _hold_seconds(row, now)
    elif is_open(row):
        seconds = _hold_seconds(row, now)
    if seconds:
        until = now + timedelta(seconds=seconds * (1 + 0.1 * rng.random()))
        row.hold_until = max(row.hold_until or until, until)


def _hold_seconds(row: Endpoint, now: datetime) -> float:
    """Half the time since the last success: pauses grow with an outage, and its end is noticed soon."""
    failing = (now - row.failing_since).total_seconds() if row.failing_since else 0.0
    return min(max(FIRST_HOLD, failing / 2), LONGEST_HOLD)


def _excuse(outcome: Outcome, *, available: bool, silent: bool, rng: random.Random) -> None:
    if outcome.error_kind == "rate_limit" or not available:
        outcome.excused = True
        outcome.state = Call.State.PENDING
        outcome.again_in = backoff(1, None, rng)
    elif silent and outcome.again_in is not None:
        outcome.again_in = min(outcome.again_in * 4, LONGEST_HOLD)


def outage_reason(run: Run, endpoint: Endpoint, now: datetime) -> str:
    """Why the run is to pause, if the endpoint has been failing for too long; empty otherwise."""
    if endpoint.failing_since is None:
        return ""
    since = max(filter(None, (endpoint.failing_since, run.resumed_at, run.started_at)))
    if (now - since).total_seconds() < settings.RUN_OUTAGE_SECONDS:
        return ""
    return (
        f"No request to {endpoint} has succeeded since {endpoint.failing_since:%Y-%m-%d %H:%M} UTC. Last error: "
        f"{endpoint.trouble.rstrip('. ')}. Resume the run when the endpoint works again; no call was given up."
    )


def endpoint_contact(*, endpoint: Endpoint, error: str = "") -> None:
    """Store that a request which isn't a call (a batch's file) succeeded, or that it failed with ``error``."""
    with transaction.atomic():
        row = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        if error:
            row.failing_since, row.trouble = row.failing_since or timezone.now(), error[:500]
        else:
            row.failing_calls, row.failing_since, row.trouble = [], None, ""
        row.save(update_fields=["failing_calls", "failing_since", "trouble"])
    copy_state(row, endpoint)
