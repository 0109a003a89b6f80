"""A run with a faulty endpoint, killed workers and a flushed Redis, for the test and the benchmark."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.utils import timezone

from annotator.models import Assignment, Judgment
from annotator.services.assignment import assignment_next
from evaluation.models import Run
from evaluation.runs.create import RunPlan
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import run_start
from evaluation.runs.sweep import runs_sweep
from evaluation.simulators.start import simulation_create
from tests.evaluation.run_factories import make_endpoint, make_material
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_participation, make_study
from tests.processes import Process, WorkerProcess

#: Replies that no server should send; see ``tests.evaluation.scripted.misbehave``.
BAD_REPLIES = (
    "whitespace,deep,deep_extra,nan,overflow,long_number,odd_types,error_body,nul,bad_gzip,html,slow"
)


@dataclass(frozen=True)
class FaultPlan:
    """The faults of one run. ``kills``, ``flushes`` and ``outages`` are spread over its calls.

    Each outage lasts ``outage_seconds``, with status 503 or 429 in turns. ``kinds`` are what else the provider does,
    to a share ``faults`` of the requests.
    """

    calls: int
    faults: float
    kills: int
    flushes: int
    concurrency: int = 16
    timeout: float = 2.0
    latency: float = 0.15
    budget: int = 40
    seed: int = 1
    outages: int = 0
    outage_seconds: float = 4.0
    kinds: str = f"429,500,hang,truncated,empty,refusal,{BAD_REPLIES}"


@dataclass
class Outcome:
    states: dict[str, int]
    errors: dict[str, int]
    judgments: dict[str, Any]
    lost: int
    in_flight_at_kills: int
    paid_again: int
    spent: float
    perhaps_spent: float
    #: What the endpoint charges for all replies that it made, whether they arrived or not.
    billed: float
    budget: float
    requests: int
    sent: int
    seconds: float
    kills: int
    flushes: int
    outages: int
    #: The longest time, in seconds, that an ended lease waited to be freed during the run.
    slowest_lease: float
    #: How many ended leases were freed during the run.
    leases_freed: int


class Leases:
    """Creates expired leases one after another, to see how soon housekeeping frees them."""

    def __init__(self) -> None:
        self.study = make_study(items=200, redundancy=1, launched=True, slug=f"people-{time.time_ns()}")
        self.slowest = 0.0
        self.freed = 0
        self.lease: Assignment | None = None
        self.since = 0.0

    def look(self) -> None:
        now = time.monotonic()
        if self.lease is None:
            self.lease = assignment_next(participation=make_participation(self.study))
            assert self.lease is not None
            ended = timezone.now() - timedelta(seconds=1)
            Assignment.objects.filter(pk=self.lease.pk).update(lease_until=ended)
            self.since = now
            return
        self.slowest = max(self.slowest, now - self.since)
        if Assignment.objects.get(pk=self.lease.pk).state == Assignment.State.EXPIRED:
            self.lease = None
            self.freed += 1


def run_with_faults(
    plan: FaultPlan, provider: ScriptedProcess, folder: Path, say: Callable[[str], None]
) -> Outcome:
    """Complete a run while workers are killed and Redis is flushed. Two workers, restarted after each kill."""
    provider.reset()
    endpoint = make_endpoint(
        provider,
        name=f"plan-{time.time_ns()}",
        concurrency=plan.concurrency,
        timeout_seconds=plan.timeout,
        price_in=1,
        price_out=2,
    )
    study = make_material(plan.calls, slug=f"plan-{time.time_ns()}")
    model = "scripted"
    if plan.faults:
        model += f"?faults={plan.faults}&kinds={plan.kinds}&retry_after=0.02&latency={plan.latency}&hang=60"
    run = simulation_create(
        study=study,
        endpoint=endpoint,
        plan=RunPlan(
            model=model,
            workers=2,
            use_cache=False,
            max_attempts=30,
            max_unparsable=30,
            budget_cost=Decimal(plan.budget),
        ),
    )
    options = {"RUN_SLICE_SECONDS": "20", "RUN_WAKE_SECONDS": "2", "RUN_SWEEP_SECONDS": "1"}
    workers = [WorkerProcess(folder, WORKER_CONCURRENCY="2", **options) for _ in range(2)]
    for worker, name in zip(workers, ("a", "b"), strict=True):
        worker.log = folder / f"worker-{name}.log"
        worker.start()
    housekeeping = WorkerProcess(folder, only="housekeeping", SOLE_WORKER="1")
    housekeeping.start()
    leases = Leases()
    started = time.monotonic()
    run_start(run=run)
    rng = random.Random(plan.seed)
    marks = [0.8 * (n + 1) / (plan.kills + 1) for n in range(plan.kills)]
    flushes = [(n + 1) / (plan.flushes + 1) + 0.01 for n in range(plan.flushes)]
    outages = [(n + 0.5) / (plan.outages + 1) for n in range(plan.outages)]
    taken_down = 0
    in_flight_at_kills_count, kills, flushed = 0, 0, 0
    broker = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    swept = 0.0
    try:
        while True:
            run.refresh_from_db()
            if run.state == Run.State.DONE:
                break
            if run.state != Run.State.RUNNING:
                raise AssertionError(f"the run is {run.state}: {run.reason}")
            if time.monotonic() - started > 600 + 4 * plan.calls:
                raise AssertionError(f"not finished: {Counter(run.calls.values_list('state', flat=True))}")
            settled = run.calls.exclude(state__in=["pending", "in_flight"]).count() / plan.calls
            if marks and settled >= marks[0]:
                marks.pop(0)
                victim = rng.choice(workers)
                victim.suspend()  # so that what it has in flight can be counted before anybody releases it
                in_flight_at_kills_count += run.calls.filter(state="in_flight").count()
                victim.kill()
                kills += 1
                say(f"killed a worker at {settled:.0%}")
                Process.start(victim)  # don't wait for it: the other worker continues
            if flushes and settled >= flushes[0]:
                flushes.pop(0)
                broker.flushdb()
                flushed += 1
                say(f"flushed Redis at {settled:.0%}")
            if outages and settled >= outages[0]:
                outages.pop(0)
                provider.outage(plan.outage_seconds, 429 if taken_down % 2 else 503)
                taken_down += 1
                say(f"took the provider down at {settled:.0%}")
            if time.monotonic() - swept > 1:  # more often than beat would
                runs_sweep()
                leases.look()
                swept = time.monotonic()
            time.sleep(0.05)
    finally:
        for worker in (*workers, housekeeping):
            worker.stop()
    stats = provider.stats()
    return Outcome(
        states=dict(Counter(run.calls.values_list("state", flat=True))),
        errors=dict(
            Counter(kind for errors in run.calls.values_list("errors", flat=True) for kind in errors)
        ),
        judgments=dict(Judgment.objects.filter(study=study).values_list("item__key", "response")),
        lost=run.lost_calls,
        in_flight_at_kills=in_flight_at_kills_count,
        paid_again=stats["paid_again"],
        spent=float(run.spent_cost),
        perhaps_spent=float(run.lost_cost),
        billed=(stats["billed"]["prompt_tokens"] * 1 + stats["billed"]["completion_tokens"] * 2) / 1e6,
        budget=float(plan.budget),
        requests=stats["requests"],
        sent=run.sent_calls,
        seconds=time.monotonic() - started,
        kills=kills,
        flushes=flushed,
        outages=taken_down,
        slowest_lease=leases.slowest,
        leases_freed=leases.freed,
    )


def run_without_faults(calls: int, provider: ScriptedProcess) -> dict[str, Any]:
    """The judgments of the same items by the same model when nothing goes wrong, in one process."""
    provider.reset()
    endpoint = make_endpoint(provider, name=f"calm-{time.time_ns()}", concurrency=16, price_in=1, price_out=2)
    study = make_material(calls, slug=f"calm-{time.time_ns()}")
    plan = RunPlan(model="scripted", use_cache=False)
    run = run_inline(run=run_start(run=simulation_create(study=study, endpoint=endpoint, plan=plan)))
    if run.state != Run.State.DONE:
        raise AssertionError(f"the run is {run.state}: {run.reason}")
    return dict(Judgment.objects.filter(study=study).values_list("item__key", "response"))
