"""Replies that need not be paid for again: stored ones, and those that are on their way to another call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from annotator.core import jobs
from evaluation.models import Endpoint, Run
from evaluation.runs.step import ClaimedCall

#: Seconds until a call that waits for another one's reply looks for it again.
LOOK_AGAIN = 0.5
#: Seconds after the claim in which a live worker, if it is alive, has stored the reply: two timeouts, since a claimed
#: request may wait for one that is in flight, and this.
GRACE_SECONDS = 60.0


@dataclass(frozen=True)
class Split:
    """Calls by what is to be done with them: answer them from the cache, send them, or look again later."""

    #: Each with the id of the call that has the reply.
    cached: tuple[tuple[ClaimedCall, int], ...] = ()
    send: tuple[ClaimedCall, ...] = ()
    wait: tuple[ClaimedCall, ...] = ()


# A batch can take a day: only other batches wait for it, and only while its run is working.
_KNOWN = """
WITH mine AS NOT MATERIALIZED (
    SELECT r.id, r.mode, r.state, e.timeout_seconds FROM evaluation_run r JOIN evaluation_endpoint e ON e.id = r.endpoint_id
    LEFT JOIN annotator_study s ON s.id = r.study_id LEFT JOIN annotator_dataset d ON d.id = r.dataset_id
    WHERE COALESCE(s.workspace_id, d.workspace_id) IS NOT DISTINCT FROM %(workspace)s
)
(SELECT DISTINCT ON (c.cache_key) c.cache_key, c.id FROM evaluation_call c JOIN mine r ON r.id = c.run_id
WHERE c.cache_key = ANY(%(keys)s) AND c.state = 'done' AND c.reply IS NOT NULL ORDER BY c.cache_key, c.id)
UNION ALL
(SELECT DISTINCT c.cache_key, NULL::bigint FROM evaluation_call c JOIN mine r ON r.id = c.run_id
WHERE c.cache_key = ANY(%(keys)s) AND c.state = 'in_flight' AND CASE r.mode
    WHEN 'live' THEN c.claimed_at > %(now)s - (2 * r.timeout_seconds + %(grace)s) * interval '1 second'
    ELSE %(in_a_file)s AND r.state = 'running' END)
"""


def cache_split(
    *,
    run: Run,
    endpoint: Endpoint,
    calls: Sequence[ClaimedCall],
    keys: Mapping[int, str],
    now: datetime,
    in_a_file: bool,
) -> Split:
    """Split claimed calls so that of identical requests only one is sent; ``keys`` are their cache keys by call id.

    Runs inside the transaction that claims them. Nothing is stored about which call waits for which: a call that waits
    stays pending and looks again, so it is sent as soon as the other one has failed, was given back, or is overdue.
    """
    if not run.use_cache or not calls:
        return Split(send=tuple(calls))
    # The endpoint's row keeps other claims out, but another endpoint may have the same address.
    jobs.lock_wait_briefly("requests", run.workspace_id or 0, endpoint.base_url)
    stored, coming = _known(set(keys.values()), workspace_id=run.workspace_id, now=now, in_a_file=in_a_file)
    cached, send, wait = [], [], []
    for call in calls:
        key = keys[call.id]
        # A request whose reply could not be read must be sent again: another call would get the same reply. A changed
        # request may find a reply.
        if call.unparsable and key == call.cache_key:
            send.append(call)
        elif key in stored:
            cached.append((call, stored[key]))
        elif key in coming:
            wait.append(call)
        else:
            send.append(call)
            coming.add(key)
    return Split(tuple(cached), tuple(send), tuple(wait))


def _known(
    keys: Iterable[str], *, workspace_id: int | None, now: datetime, in_a_file: bool
) -> tuple[dict[str, int], set[str]]:
    """Where the replies to some requests are: cache key -> id of the call that has the reply, and the keys for which
    another call is waiting. Only those of the same workspace: what other labs paid for isn't shared.
    """
    known = {"keys": list(keys), "workspace": workspace_id, "now": now, "grace": GRACE_SECONDS}
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, known | {"in_a_file": in_a_file})
        rows = cursor.fetchall()
    return {key: pk for key, pk in rows if pk is not None}, {key for key, pk in rows if pk is None}


def wait_for_reply(*, calls: Iterable[int], now: datetime) -> None:
    """Leave these calls alone for a moment: a reply that they can share is on its way."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE evaluation_call SET not_before = %s WHERE id = ANY(%s) AND state = 'pending'",
            [now + timedelta(seconds=LOOK_AGAIN), list(calls)],
        )
