"""A short form of ``benchmarks/soak``, and a check that its ledger finds faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.soak.plan import Plan
from benchmarks.soak.run import balances, same_answer, soak_run
from benchmarks.soak.setups import Processes
from tests.foretell.env_names import names_read

pytestmark = pytest.mark.fault


def test_a_short_soak_test_balances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in names_read():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
    plan = Plan(seed=4, setup="processes", annotators=8, places=90, kills=8)
    setup = Processes(tmp_path)
    try:
        setup.start()
        result = soak_run(plan, setup, seconds=1800)
    finally:
        setup.stop()
    assert balances(plan, result), json.dumps(result)
    assert result["requests_without_a_reply"] > 0, "no request was interrupted by a kill"
    assert {"passed exam", "two tabs", "undo", "draft"} <= result["did"].keys()


def test_a_plan_follows_from_its_seed() -> None:
    plan = Plan(seed=4, setup="embedded", annotators=200, places=10_000, kills=200)
    same = Plan(seed=4, setup="embedded", annotators=200, places=10_000, kills=200)
    other = Plan(seed=5, setup="embedded", annotators=200, places=10_000, kills=200)
    assert plan.kill_list() == same.kill_list() != other.kill_list()
    assert len(plan.kill_list()) == 200
    assert {kill.victim for kill in plan.kill_list()} == {
        "web", "web worker", "worker", "housekeeping", "postgres", "postgres backend", "redis",
    }  # fmt: skip
    assert plan.all_places() >= 10_000


GOOD: dict[str, Any] = {
    "lost": 0, "stored_but_never_acknowledged": 0, "acknowledged_twice": 0, "stored_otherwise_than_acknowledged": 0,
    "judged_twice_by_one_person": 0, "items_over_k": 0, "places_left": 0, "tasks_still_open": 0, "fault_count": 0,
    "counted": 90, "kills_done": 8, "answers_of_one_person": [3, 20], "requests": {200: 5, 409: 1, 503: 7},
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: 1} for name in GOOD if GOOD[name] == 0),
        {"counted": 89}, {"kills_done": 7}, {"answers_of_one_person": [0, 20]}, {"requests": {200: 5, 500: 1}},
    ],
)  # fmt: skip
def test_any_discrepancy_fails_the_soak_test(wrong: dict[str, Any]) -> None:
    plan = Plan(seed=4, setup="processes", annotators=8, places=90, kills=8)
    assert balances(plan, GOOD)
    assert not balances(plan, GOOD | wrong)


def test_a_changed_answer_is_noticed() -> None:
    assert same_answer({"helpful": "yes", "answer": "no"}, {"helpful": "yes", "answer": "no"})
    assert same_answer({"helpful": "no", "note": "None."}, {"helpful": "no"})
    assert not same_answer({"helpful": "yes", "answer": "no"}, {"helpful": "yes", "answer": "yes"})
    assert not same_answer({"helpful": "yes"}, {})
