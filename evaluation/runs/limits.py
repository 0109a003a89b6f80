"""What may be sent now: requests within the budgets of their run and workspace, and within the rates of their endpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import connection

from annotator.core import jobs
from annotator.core.words import money
from annotator.models import Workspace
from evaluation.models import Endpoint, Run
from evaluation.runs.request import Ready
from evaluation.selectors.run import workspace_spent

# Calls of a workspace's runs, as many as each worker may have in flight at present; see ``claim``.
_SENT = """
SELECT coalesce(sum(least(claimed, coalesce(allowance, claimed))), 0)::int FROM (
    SELECT ceil(count(*)::float / r.together)::int AS claimed, (r.allowances ->> split_part(c.claimed_by, ':', 1))::int AS allowance
    FROM evaluation_call c JOIN evaluation_run r ON r.id = c.run_id
    LEFT JOIN annotator_study s ON s.id = r.study_id
    LEFT JOIN annotator_dataset d ON d.id = r.dataset_id
    WHERE c.state = 'in_flight' AND r.mode = 'live' AND coalesce(s.workspace_id, d.workspace_id) = %s
        AND NOT (r.id = %s AND c.claimed_by = %s)
    GROUP BY r.id, c.claimed_by
) AS workers
"""
_RAISE = "Raise it and resume the run, or cancel the run."
#: Seconds of an endpoint's rate that may be saved up for a burst.
BURST_SECONDS = 2.0


def affordable(
    *, run: Run, requests: Sequence[Ready], workspace_id: int | None
) -> tuple[Sequence[Ready], str]:
    """As many requests as the budgets of the run and of its workspace allow, and a message if one allows no more."""
    budgets = _budgets(run, workspace_id) if requests else []
    reserved = Decimal(0)
    for count, request in enumerate(requests):
        if run.budget_calls is not None and run.sent_calls + count >= run.budget_calls:
            return requests[:count], f"The budget of {run.budget_calls:,} calls is used up. {_RAISE}"
        reserved += sum(request.reserved.values(), Decimal(0))
        for left, words in budgets:
            if reserved > left:
                return requests[:count], f"What is left of {words} may not cover the next call. {_RAISE}"
    return requests, ""


def _budgets(run: Run, workspace_id: int | None) -> list[tuple[Decimal, str]]:
    """What is left of each budget, and its name. Runs of a workspace with a budget take turns until they commit."""
    budgets = []
    if run.budget_cost is not None:
        used = run.spent_cost + run.reserved_cost + run.lost_cost
        budgets.append((run.budget_cost - used, f"the budget of {money(run.budget_cost)}"))
    limited = Workspace.objects.filter(model_budget__isnull=False)
    workspace = limited.filter(pk=workspace_id).first() if workspace_id else None
    if workspace is not None and workspace.model_budget is not None:
        jobs.lock_wait_briefly("workspace budget", workspace.pk)
        left = workspace.model_budget - workspace_spent(workspace.pk)
        budgets.append((left, f"the workspace's budget of {money(workspace.model_budget)}"))
    return budgets


def workspace_room(*, workspace_id: int | None, run_pk: int, token: str) -> int | None:
    """How many calls the worker ``token`` of a run may have in flight beside all others of the workspace; None: any number.

    Workers of a workspace with a limit take turns until they commit.
    """
    limited = Workspace.objects.filter(pk=workspace_id or 0, calls_at_once__isnull=False)
    most = limited.values_list("calls_at_once", flat=True).first()
    if most is None:
        return None
    jobs.lock_wait_briefly("workspace calls", str(workspace_id))
    with connection.cursor() as cursor:
        cursor.execute(_SENT, [workspace_id, run_pk, token])
        return max(0, int(most) - int(cursor.fetchone()[0]))


def book(*, run: Run, endpoint: Endpoint, now: datetime, requests: Sequence[Ready]) -> None:
    """Reserve the cost, count the requests, and book them against the endpoint's rates."""
    run.heartbeat_at = now
    run.sent_calls += len(requests)
    run.reserved_cost += sum((cost for request in requests for cost in request.reserved.values()), Decimal(0))
    run.save(update_fields=["heartbeat_at", "sent_calls", "reserved_cost", "allowances"])
    if not requests or not (endpoint.requests_per_minute or endpoint.tokens_per_minute):
        return
    if endpoint.requests_per_minute:
        seconds = len(requests) * 60 / endpoint.requests_per_minute
        endpoint.requests_due = _due(endpoint.requests_due, now) + timedelta(seconds=seconds)
    if endpoint.tokens_per_minute:
        seconds = sum(request.tokens for request in requests) * 60 / endpoint.tokens_per_minute
        endpoint.tokens_due = _due(endpoint.tokens_due, now) + timedelta(seconds=seconds)
    endpoint.save(update_fields=["requests_due", "tokens_due"])


def _due(due: datetime | None, now: datetime) -> datetime:
    """When the next request or token is due, at most ``BURST_SECONDS`` ago."""
    earliest = now - timedelta(seconds=BURST_SECONDS)
    return max(due or earliest, earliest)


def rate_room(*, endpoint: Endpoint, now: datetime, room: int) -> tuple[int, float]:
    """How many of ``room`` requests the rates allow now, and the seconds to wait if none."""
    least_wait = 0.05
    if endpoint.tokens_per_minute:
        seconds = (_due(endpoint.tokens_due, now) - now).total_seconds()
        if seconds > 0:
            return 0, max(least_wait, seconds)
    if endpoint.requests_per_minute:
        seconds = (_due(endpoint.requests_due, now) - now).total_seconds()
        if seconds > 0:
            return 0, max(least_wait, seconds)
        room = min(room, math.floor(-seconds * endpoint.requests_per_minute / 60) + 1)
    return room, least_wait
