"""Factories for tests of runs: an endpoint on the scripted provider, a study, a run, a worker's turn."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from annotator.models import Dataset, Item, Study, User
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint, Run
from evaluation.pipelines.model_step import model_steps
from evaluation.runs.canary import CANARY, USABLE
from evaluation.runs.claim import Claim, claim
from evaluation.runs.create import RunPlan
from evaluation.runs.lifecycle import run_finish, run_start
from evaluation.runs.registry import step_get
from evaluation.runs.worker import SliceWorker, Worked
from evaluation.simulators.start import simulation_create
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_study, simulation_payload

#: ``pytestmark`` of tests whose workers, in their own threads and transactions, call the scripted provider.
SCRIPTED_MARKS = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("scripted_allowed"),
]


def make_endpoint(
    provider: ScriptedProcess, *, name: str = "scripted", by: User | None = None, **fields: Any
) -> Endpoint:
    """An endpoint in the own workspace of ``by``, where ``make_study(by=by)`` puts its study too."""
    values: dict[str, Any] = {
        "base_url": provider.base_url,
        "model": "scripted",
        "concurrency": 8,
        "timeout_seconds": 60.0,
        "price_in": 1,
        "price_out": 2,
    }
    workspace = workspace_personal(user=by) if by is not None else None
    endpoint = Endpoint(workspace=workspace, name=name, **(values | fields))
    endpoint.full_clean()
    endpoint.save()
    return endpoint


def make_material(items: int, **fields: Any) -> Study:
    """A study whose items are made in one statement."""
    study = make_study(**fields)
    Item.objects.bulk_create(
        [Item(study=study, key=f"item-{n}", payload=simulation_payload(n)) for n in range(items)]
    )
    return study


def make_run(
    endpoint: Endpoint, study: Study, *, started: bool = True, tried: bool = False, **fields: Any
) -> Run:
    """``tried``: its first replies were usable, so that it may send as many requests at a time as its endpoint allows."""
    by_fingerprint = fields.pop("by_fingerprint", False)
    plan = RunPlan(**fields)
    run = simulation_create(study=study, endpoint=endpoint, plan=plan, by_fingerprint=by_fingerprint)
    run = run_start(run=run) if started else run
    if tried:
        run.latest_attempts = USABLE * CANARY
        run.save(update_fields=["latest_attempts"])
    return run


def material_run_create(*, kind: str, dataset: Dataset | None, endpoint: Endpoint, **chosen: Any) -> Run:
    """A run of a step over a dataset, not yet started; ``options`` and ``plan`` are optional."""
    chosen = {"plan": RunPlan(), "options": {}} | chosen
    return model_steps()[kind].run_create(owner=dataset, endpoint=endpoint, **chosen)


def work(run: Run, **fields: Any) -> Worked:
    """One worker's turn, which finishes the run if nothing is left."""
    worked = SliceWorker(run_pk=run.pk, **{"seconds": 300.0, **fields}).work()
    run_finish(run=run)
    run.refresh_from_db()
    return worked


def work_and_close(run_pk: int, number: int = 0) -> str:
    """A worker's turn in a thread of its own; returns why it ended."""
    try:
        return SliceWorker(run_pk=run_pk, number=number, seconds=300).work().ended
    finally:
        connection.close()


def claim_as(token: str, run: Run, *, want: int = 50, **fields: Any) -> Claim:
    """Claim calls as the worker named ``token`` would; it then neither sends nor stores anything."""
    return claim(run=run, endpoint=run.endpoint, step=step_get(run.kind), token=token, want=want, **fields)


def states(run: Run) -> Counter[str]:
    """How many calls of a run are in each state."""
    return Counter(run.calls.values_list("state", flat=True))


def wait_for(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


def work_alone(run: Run) -> None:
    """``work`` in a thread of its own, whose connection is closed afterwards."""
    try:
        work(run)
    finally:
        connection.close()
