"""Whose work a free worker does next: workspaces take turns, whatever the order of the messages.

A message wakes a worker for one row, and the queue is first in, first out: a workspace that asks for a thousand exports
would keep everybody else waiting. So the worker looks, before it begins, whether another workspace has work waiting
and fewer jobs under way (if as many: its last turn is longer ago). If so, it does that first, and the row that it was
woken for gets a new message at the end of the queue. What waits is read from Postgres, so a lost message loses nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.models import QuerySet
from django.utils import timezone

from annotator.core import jobs
from annotator.models import Workspace

#: Jobs of one workspace that are counted: more worker processes than any installation has for long jobs.
MOST = 64
#: Rows of one kind that are looked at. Those behind them wait for their message.
LOOKED_AT = 500
#: Seconds after which a workspace that has just had a turn is preferred again. Without it, work that can't go on at
#: present, such as a run whose endpoint is slow, would be chosen again at once.
PAUSE = timedelta(seconds=0.5)


@dataclass(frozen=True)
class Work:
    """A row that waits for a worker: its kind (a name in ``KINDS``), primary key and, for a run, the number of its slice."""

    kind: str
    pk: int
    number: int = 0


@dataclass(frozen=True)
class Kind:
    """A kind of long job.

    ``workspace``: the workspace of a row, or None. ``waiting``: for each workspace the row that comes first among those that
    no worker has begun, in a constant number of statements. ``carry_out``: does the work; returns something false if none was left.
    ``again``: queues another message for a row. ``later``: it goes on for hours in slices, so a workspace's other jobs come first.
    """

    workspace: Callable[[int], int | None]
    waiting: Callable[[], Mapping[int, Work]]
    carry_out: Callable[[Work], Any]
    again: Callable[[Work], Any]
    later: bool = False


KINDS: dict[str, Kind] = {}


@dataclass(frozen=True)
class Standing:
    """How a workspace stands among the others: jobs under way, its last turn, and how many jobs it may have at once."""

    under_way: int
    last_turn: datetime | None
    most: int | None

    @property
    def full(self) -> bool:
        return self.most is not None and self.under_way >= self.most

    def before(self, other: Standing) -> bool:
        """Whether it comes first: fewer jobs under way, or its last turn is longer ago.

        >>> Standing(0, None, None).before(Standing(1, None, None)), Standing(1, None, None).before(Standing(0, None, None))
        (True, False)
        """
        never = datetime.min.replace(tzinfo=timezone.get_default_timezone())
        return (self.under_way, self.last_turn or never) < (other.under_way, other.last_turn or never)


def in_turn(work: Work, own: Callable[[], Any] | None = None) -> Any:
    """Do what comes next: ``work``, or what waits in a workspace whose turn comes before.

    Returns what the work returned, or None if it has to wait: then another message is queued for it, at once or, if its workspace
    has as many jobs under way as it may have, when one of them ends. ``own`` carries it out, if this isn't what any worker
    does for that kind.
    """
    kind = KINDS[work.kind]
    carry_out = own or (lambda: kind.carry_out(work))
    mine = kind.workspace(work.pk)
    if mine is None:
        return carry_out()  # on the command line, without a workspace; or the row is gone
    others = _waiting()
    own_next = others.pop(mine, None)
    standing = _standing({mine, *others})
    first = _first(mine, others, standing)
    if first is not None:
        with _under_way(first, standing[first]):
            KINDS[others[first].kind].carry_out(others[first])
        kind.again(work)
        return None
    mine_now = standing.get(mine)
    if mine_now is not None and mine_now.full:
        return None  # a message follows when one of its jobs ends
    if own_next is not None and kind.later and not KINDS[own_next.kind].later:
        with _under_way(mine, mine_now):
            KINDS[own_next.kind].carry_out(own_next)
        kind.again(work)
        return None
    with _under_way(mine, mine_now) as begun:
        done = carry_out()
    if not done and mine_now is not None:  # nothing was left to do, so it was no turn
        rows = Workspace.objects.filter(pk=mine, last_turn_at=begun)
        rows.update(last_turn_at=mine_now.last_turn)
    return done


def _waiting() -> dict[int, Work]:
    """For each workspace the work that it would have done next."""
    found: dict[int, Work] = {}
    for kind in sorted(KINDS.values(), key=lambda one: one.later):
        found = {**kind.waiting(), **found}
    return found


def _first(mine: int, others: Collection[int], standing: Mapping[int, Standing]) -> int | None:
    """The workspace whose turn comes before ``mine``; None if ``mine`` is next, or nobody else may begin."""
    justly = timezone.now() - PAUSE
    ready = [
        pk
        for pk in others
        if pk in standing
        and not standing[pk].full
        and not ((last := standing[pk].last_turn) is not None and last > justly)
    ]
    own = standing.get(mine)
    if own is not None and not own.full:
        ready = [pk for pk in ready if standing[pk].before(own)]
    best = None
    for pk in ready:
        if best is None or standing[pk].before(standing[best]):
            best = pk
    return best


def _standing(workspaces: Collection[int]) -> dict[int, Standing]:
    rows = Workspace.objects.filter(pk__in=workspaces).values_list("pk", "last_turn_at", "jobs_at_once")
    names = {("turn", pk, n) for pk in workspaces for n in range(MOST)}
    free = jobs.locks_free(names)
    under_way = {pk: sum(("turn", pk, n) not in free for n in range(MOST)) for pk in workspaces}
    return {pk: Standing(under_way[pk], last, most) for pk, last, most in rows}


@contextlib.contextmanager
def _under_way(workspace: int, standing: Standing | None) -> Iterator[datetime]:
    """Count as a job of the workspace, as long as the worker lives. Gives the time at which its turn began.

    At the end, a workspace with a limit gets a message for what waits next: its own messages came to nothing meanwhile. If the
    worker is killed, the sweeper of that kind of row sends one.
    """
    begun = timezone.now()
    Workspace.objects.filter(pk=workspace).update(last_turn_at=begun)
    taken = next((n for n in range(MOST) if jobs.lock_take("turn", workspace, n)), None)
    try:
        yield begun
    finally:
        if taken is not None:
            # A connection that has been lost meanwhile has released its locks.
            with contextlib.suppress(DatabaseError, InterfaceError):
                jobs.lock_release("turn", workspace, taken)
    found = _waiting().get(workspace) if standing is not None and standing.most is not None else None
    if found is not None and not KINDS[found.kind].later:  # a slice that isn't over has a message already
        KINDS[found.kind].again(found)


def rows_take_turns(
    name: str,
    argument: str,
    rows: QuerySet[Any],
    *,
    workspace: str,
    lock: str,
    carry_out: Callable[[int], Any],
) -> None:
    """Declare a kind of row whose job ``name`` takes turns.

    ``rows``: those that wait; ``workspace``: the path to their workspace; ``lock``: the lock that a worker takes on one
    (``lock``, primary key); ``argument``: the job's argument for the primary key.
    """

    def waiting() -> Mapping[int, Work]:
        known = rows.filter(**{f"{workspace}__isnull": False}).order_by("pk")
        found = list(known.values_list("pk", workspace)[:LOOKED_AT])
        free = jobs.locks_free({(lock, pk) for pk, _ in found}) if found else set()
        first: dict[int, Work] = {}
        for pk, owner in found:
            if (lock, pk) in free:
                first.setdefault(owner, Work(name, pk))
        return first

    every = rows.model._default_manager
    KINDS[name] = Kind(
        workspace=lambda pk: every.filter(pk=pk).values_list(workspace, flat=True).first(),
        waiting=waiting,
        carry_out=lambda work: carry_out(work.pk),
        again=lambda work: jobs.enqueue(name, **{argument: work.pk}),
    )
