"""How many calls of a workspace may be in flight at once, over all its endpoints and runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from annotator.services.workspace import workspace_limits_set, workspace_personal
from evaluation.runs.turns import run_workspace, runs_waiting
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
    work_alone,
)
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = SCRIPTED_MARKS


def test_a_limit_on_calls_holds_over_endpoints_and_runs(scripted: ScriptedProcess) -> None:
    rosa = make_user("rosa", staff=True)
    lab = workspace_personal(user=rosa)
    workspace_limits_set(workspace=lab, by=rosa, calls_at_once=3)
    runs = [
        make_run(
            make_endpoint(scripted, by=rosa, name=name, concurrency=16),
            make_material(12, by=rosa),
            model="scripted?latency=0.03",
            use_cache=False,
        )
        for name in ("one", "two")
    ]
    with ThreadPoolExecutor(len(runs)) as both:
        list(both.map(work_alone, runs))
    for run in runs:
        run.refresh_from_db()
        assert (run.state, states(run)) == ("done", {"done": 12})
    assert 1 < scripted.stats()["most_in_flight"] <= 3
    other = make_user("otto", staff=True)
    free = make_run(
        make_endpoint(scripted, by=other, name="three", concurrency=16),
        make_material(12, by=other),
        model="scripted?latency=0.05",
    )
    scripted.reset()
    work(free)
    assert scripted.stats()["most_in_flight"] > 3, "another lab has its own"


def test_runs_that_wait_for_a_worker_are_found_by_workspace(scripted: ScriptedProcess) -> None:
    rosa = make_user("rosa", staff=True)
    endpoint = make_endpoint(scripted, by=rosa, name="one")
    run = make_run(endpoint, make_material(2, by=rosa))
    lab = workspace_personal(user=rosa)
    assert run_workspace(run.pk) == lab.pk
    assert [(pk, one.pk, one.number) for pk, one in runs_waiting().items()] == [(lab.pk, run.pk, 0)]
    work(run)
    assert runs_waiting() == {}
