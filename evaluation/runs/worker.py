"""A worker on a run: one process with many calls in flight.

The event loop only sends and receives. One thread claims calls and stores outcomes; its connection holds the slice's
lock. A second thread applies results. No transaction is open while a call is in flight.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import uuid4

from django.db import InterfaceError, OperationalError, connection

from annotator.core import jobs
from evaluation.models import Run
from evaluation.providers.base import ProviderError
from evaluation.providers.contract import ModelClient
from evaluation.providers.keys import KeyRefused
from evaluation.runs.apply import apply_some
from evaluation.runs.call_outcome import Outcome
from evaluation.runs.canary import AT_ONCE, IN_A_ROW
from evaluation.runs.claim import Claim, ahead, claim
from evaluation.runs.health import endpoint_report, is_held, window_of
from evaluation.runs.lifecycle import run_pause
from evaluation.runs.outcome import RunReplies, from_cache, unsent
from evaluation.runs.registry import step_get
from evaluation.runs.request import Ready
from evaluation.runs.settle import give_back_lost, settle
from evaluation.selectors.endpoint import endpoint_client

log = logging.getLogger(__name__)
T = TypeVar("T")
#: Seconds that a worker with nothing to do waits for its endpoint before it takes other jobs.
LONG_WAIT = 3.0
#: Seconds that a worker waits for an unavailable database before it gives up its calls.
PATIENCE_SECONDS = 60.0
#: Seconds between two turns at the database while there are requests to send: a turn costs about the same however many
#: calls it stores and claims.
TURN_SECONDS = 0.03
#: Seconds between two looks whether the run was cancelled, while its worker waits for replies. Replies that have not
#: arrived by the second look are given up.
LOOK_SECONDS = 5.0


@dataclass(frozen=True)
class Worked:
    """How a slice ended. ``ended``: busy (another worker has it), time, idle (nothing left to claim), or the run's state."""

    ended: str
    calls: int = 0
    wait: float | None = None


class SliceLost(Exception):
    """The database was unavailable and another worker took over."""


class SliceWorker:
    """One worker's turn on a run: at most ``seconds`` long, plus the time that calls in flight still take."""

    def __init__(self, *, run_pk: int, number: int = 0, seconds: float = 45.0) -> None:
        self.run_pk = run_pk
        self.number = number
        self.deadline = time.monotonic() + seconds
        self.token = f"{number}:{uuid4().hex}"
        self.rng = random.Random()
        self.ready: list[Ready] = []
        self.flying: set[asyncio.Task[None]] = set()
        self.outcomes: list[Outcome] = []
        self.claimed = 0  # requests claimed whose outcomes are not stored yet
        self.allowed = 0  # requests that may be in flight until the next claim
        self.in_vain = 0  # attempts in a row without a usable reply
        self.turn_at = 0.0
        self.look_at = time.monotonic() + LOOK_SECONDS
        self.finished = 0
        self.ended = ""
        self.wait: float | None = None
        self.news = asyncio.Event()

    def work(self) -> Worked:
        """Claim calls, send them and store their outcomes until none is left, the time is up, or the run stops."""
        try:
            return asyncio.run(self._main())
        except SliceLost:
            return Worked("lost", self.finished)
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            # It would fail again each time, so the run pauses until a researcher has looked at it.
            log.exception("run %s: the worker failed", self.run_pk)
            run_pause(
                run=Run(pk=self.run_pk), reason=f"The worker failed: {type(error).__name__}: {error}"[:2000]
            )
            return Worked("paused", self.finished)

    # -- the event loop -----------------------------------------------------------------------------

    async def _main(self) -> Worked:
        self.rows = ThreadPoolExecutor(1, thread_name_prefix="rows")
        self.results = ThreadPoolExecutor(1, thread_name_prefix="results")
        try:
            if not await self._in_thread(self.rows, self._begin):
                return Worked("busy")
            try:
                client = endpoint_client(self.endpoint)
            except (ProviderError, KeyRefused) as error:
                await self._in_thread(self.rows, partial(run_pause, run=self.run, reason=str(error)))
                return Worked("paused")
            applying = asyncio.create_task(self._apply_as_it_comes())
            try:
                await self._loop(client)
            finally:
                applying.cancel()
                await asyncio.gather(*self.flying, applying, return_exceptions=True)
                await client.aclose()
            await self._in_thread(self.results, self._apply_rest)
            return Worked(self.ended, self.finished, self.wait)
        finally:
            await self._in_thread(self.rows, self._end)
            await self._in_thread(self.results, lambda: connection.close())
            self.rows.shutdown()
            self.results.shutdown()

    async def _loop(self, client: ModelClient) -> None:
        limit = window_of(self.endpoint)
        not_before = 0.0
        while True:
            self.news.clear()
            if self.in_vain >= IN_A_ROW:
                limit = min(limit, AT_ONCE)
            starved = not self.flying and min(limit, self.allowed) < 1
            if self.ready and (starved or is_held(self.endpoint)):
                self._give_back()
            while self.ready and len(self.flying) < min(limit, self.allowed) and not self.ended:
                self._send(client, self.ready.pop(0))
            if self.outcomes:
                not_before = 0.0  # an outcome may have freed a place, or created a next stage
            now = time.monotonic()
            want = self._wanted(limit) if self._may_claim(not_before) else 0
            if (self.outcomes or want > 0) and (not self.ready or now >= self.turn_at):
                done, self.outcomes = self.outcomes, []
                got = await self._in_thread(self.rows, partial(self._turn, done, want))
                self.turn_at = time.monotonic() + TURN_SECONDS
                self.finished += len(done)
                if got is not None:
                    not_before = self._take(*got)
                limit = window_of(self.endpoint)
                continue
            if self.ended and self.ready:
                self._give_back()
                continue
            if not self.claimed and not self.flying:
                if self.ended or self.wait is None:
                    self.ended = self.ended or "idle"
                    return
                if self.wait > LONG_WAIT and is_held(
                    self.endpoint
                ):  # leave the worker to other jobs meanwhile
                    self.ended = "time"
                    return
            if self.flying and now >= self.look_at:
                await self._give_up_if_cancelled()
            until = not_before if not_before > now else self.deadline
            if self.outcomes or want > 0:
                until = self.turn_at
            timeout = 5.0 if self.ended else min(5.0, max(0.005, until - time.monotonic()))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), timeout)

    def _wanted(self, limit: int) -> int:
        """Requests to claim, once the outcomes so far are stored."""
        stored = sum(outcome.of_request for outcome in self.outcomes)
        return limit + ahead(limit) - self.claimed + stored

    def _may_claim(self, not_before: float) -> bool:
        if not self.ended and time.monotonic() > self.deadline:
            self.ended = "time"
        return not self.ended and time.monotonic() >= not_before

    def _take(self, got: Claim, cached: list[Outcome]) -> float:
        """Add what was claimed to the requests to send; returns the time until which claiming again is pointless."""
        if got.state != Run.State.RUNNING:
            self.ended = got.state
        elif got.stale:  # the next slice makes a client for the endpoint as it is now
            self.ended = "time"
        self.allowed = got.allowed
        self.ready += got.ready
        self.claimed += len(got.ready)
        self.outcomes += cached
        self.wait = got.wait
        if got.ready or got.hits:
            self.wait = 0.0
            return 0.0
        return time.monotonic() + min(1.0, 0.25 if got.wait is None else got.wait)

    def _send(self, client: ModelClient, ready: Ready) -> None:
        task = asyncio.create_task(self._ask(client, ready))
        self.flying.add(task)
        task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self.flying.discard(task)
        self.news.set()

    async def _ask(self, client: ModelClient, ready: Ready) -> None:
        try:
            outcomes = await self.replies.ask(client, ready)
        except asyncio.CancelledError:
            error = ProviderError("cancelled", "The run was cancelled before the reply arrived.")
            outcomes = self.replies.failed(ready, error)
        for outcome in outcomes:
            self.in_vain = 0 if outcome.usable else self.in_vain + (outcome.usable is False)
        self.outcomes += outcomes  # read only now, because the loop may have replaced the list meanwhile

    async def _give_up_if_cancelled(self) -> None:
        """End the requests in flight if the run was cancelled: an endpoint may leave them open for an hour."""
        self.look_at = time.monotonic() + LOOK_SECONDS
        if not await self._in_thread(self.rows, self._is_cancelled):
            return
        if self.ended == Run.State.CANCELLED:
            for task in self.flying:
                task.cancel()
        self.ended = Run.State.CANCELLED

    def _give_back(self) -> None:
        """Return claimed requests that have not been sent, as if they had not been claimed."""
        for ready in self.ready:
            self.outcomes += unsent(ready)
        self.ready = []

    async def _apply_as_it_comes(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(0.5)
            while await loop.run_in_executor(self.results, self._apply):
                pass

    async def _in_thread(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, work)

    # -- the thread that claims and stores -----------------------------------------------------------

    def _begin(self) -> bool:
        if not jobs.lock_take("run-slice", self.run_pk, self.number):
            return False
        self.run = Run.objects.select_related("endpoint", "study", "dataset").get(pk=self.run_pk)
        self.endpoint = self.run.endpoint
        self.step = step_get(self.run.kind)
        self.replies = RunReplies(run=self.run, endpoint=self.endpoint, step=self.step, rng=self.rng)
        lost = give_back_lost(run=self.run, slice_number=self.number)
        if lost:
            log.warning("run %s: %s calls of a dead worker are sent again", self.run_pk, lost)
        return True

    def _turn(self, done: list[Outcome], want: int) -> tuple[Claim, list[Outcome]] | None:
        """Store outcomes, then claim. If the database restarts meanwhile, try again while the slice is still ours."""
        waited_until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if done:
                    endpoint_report(endpoint=self.endpoint, outcomes=done, rng=self.rng)
                    settle(run=self.run, token=self.token, outcomes=done)
                    self.claimed -= sum(outcome.of_request for outcome in done)
                    done = []
                if want <= 0:
                    return None
                got = claim(run=self.run, endpoint=self.endpoint, step=self.step, token=self.token, want=want)
                return got, from_cache(run=self.run, step=self.step, hits=got.hits)
            except (OperationalError, InterfaceError):
                if time.monotonic() > waited_until:
                    raise
                log.exception("run %s: the database is unavailable; trying again", self.run_pk)
                time.sleep(1.0)
                self._lock_again()

    def _is_cancelled(self) -> bool:
        try:
            return Run.objects.filter(pk=self.run_pk, state=Run.State.CANCELLED).exists()
        except (OperationalError, InterfaceError):
            return False  # the next turn waits for the database

    def _lock_again(self) -> None:
        connection.close()
        try:
            if not jobs.lock_take("run-slice", self.run_pk, self.number):
                raise SliceLost
        except (OperationalError, InterfaceError):
            return

    def _end(self) -> None:
        try:
            if hasattr(self, "run"):
                jobs.lock_release("run-slice", self.run_pk, self.number)
        except (OperationalError, InterfaceError):
            pass
        finally:
            connection.close()

    # -- the thread that applies results ---------------------------------------------

    def _apply(self) -> int:
        """Apply some results. If the database is unavailable, apply none; a later call finds them."""
        try:
            return apply_some(run=self.run, step=self.step)
        except (OperationalError, InterfaceError):
            log.exception("run %s: the database is unavailable; results are applied later", self.run_pk)
            connection.close()
            return 0

    def _apply_rest(self) -> None:
        while self._apply():
            pass
