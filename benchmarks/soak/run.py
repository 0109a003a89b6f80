"""The soak test: many annotators, every process killed again and again, and ledgers kept by the clients.

    make bench ARGS="soak --setup embedded --annotators 200 --places 10000 --kills 200 --seed 1 --keep"

Exits with 1 unless the ledger balances: no acknowledged answer lost, doubled or changed, none stored that was never
acknowledged, no item over k, no place left, nobody without work. ``--keep`` writes ``benchmarks/soak/results-SETUP.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import psutil
import psycopg

from benchmarks.soak.annotator import Annotator, Open
from benchmarks.soak.browser import Traffic
from benchmarks.soak.plan import REDUNDANCY, Plan
from benchmarks.soak.setups import SETUPS, Setup, count
from foretell.stopping import Stopping, pause, stop_on_signals

HERE = Path(__file__).parent
#: How long all places may be taken in Postgres while the annotators' ledgers disagree.
SETTLED_SECONDS = 300
_COUNTED = "SELECT count(*) FROM annotator_judgment WHERE standing = 'counted'"


class Progress:
    """Acknowledged answers so far."""

    def __init__(self) -> None:
        self.done = 0
        self.lock = threading.Lock()

    def add(self, number: int) -> None:
        with self.lock:
            self.done += number


def kill_by_plan(
    plan: Plan, setup: Setup, progress: Progress, over: threading.Event, killed: Counter[str]
) -> None:
    """Kill by progress, not by time, so that a fast machine is interrupted too and a slow one still makes progress."""
    rng, places = Random(f"victims {plan.seed}"), plan.all_places()
    for kill in plan.kill_list():
        while progress.done < kill.at * places:
            if over.wait(0.05):
                return
        for _ in range(6000):  # until the process runs: it may still be starting again after the kill before
            try:
                done = setup.kill(kill.victim, rng)
            except psutil.Error:  # it ended in the meantime
                done = False
            if done:
                killed[kill.victim] += 1
                break
            if over.wait(0.1):
                return


def soak_run(plan: Plan, setup: Setup, *, seconds: float) -> dict[str, Any]:
    made = f"import json; from benchmarks.soak.studies import studies_make; print(json.dumps(studies_make({plan.items()!r}, {REDUNDANCY})))"
    said = setup.manage("shell", "--verbosity", "0", "-c", made)
    studies = [Open(**one) for one in json.loads(said.strip().splitlines()[-1])]
    traffic, progress, over, killed = Traffic(), Progress(), threading.Event(), Counter[str]()
    people = [
        Annotator(
            number, seed=plan.seed, habits=plan.habits, studies=studies, addresses=setup.addresses,
            headers=setup.headers, traffic=traffic, over=over, progress=progress.add,
        )
        for number in range(plan.annotators)
    ]  # fmt: skip
    threads = [threading.Thread(target=person.work) for person in people]
    killer = threading.Thread(target=kill_by_plan, args=(plan, setup, progress, over, killed))
    began = time.monotonic()
    for thread in (*threads, killer):
        thread.start()
    said_at, full_since, complete = 0.0, 0.0, False
    try:
        while (
            not complete
            and time.monotonic() - began < seconds
            and any(thread.is_alive() for thread in threads)
        ):
            pause(1)
            now = time.monotonic()
            full = not killer.is_alive() and count(setup.database_url, _COUNTED) == plan.all_places()
            full_since = (full_since or now) if full else 0.0
            # An answer that is taken back at the very end leaves a place free again, so the clients must agree; if they
            # don't for a while, the comparison says what is wrong.
            complete = full and (progress.done >= plan.all_places() or now - full_since > SETTLED_SECONDS)
            if now - said_at > 15:
                said_at = now
                print(
                    f"{said_at - began:6.0f} s  {progress.done:6} of {plan.all_places()}  kills {killed.total():4}"
                    f"  resent {traffic.resent}  faults {sum(len(person.ledger.faults) for person in people)}",
                    flush=True,
                )
    finally:
        over.set()
        for thread in (*threads, killer):
            thread.join()
    elapsed = time.monotonic() - began
    return outcome(plan, setup, people, traffic, killed) | {"seconds": round(elapsed)}


def outcome(
    plan: Plan, setup: Setup, people: list[Annotator], traffic: Traffic, killed: Counter[str]
) -> dict[str, Any]:
    """Compare the annotators' ledgers with what Postgres holds."""
    told: dict[int, dict[str, str]] = {}
    twice = 0
    for person in people:
        twice += len(told.keys() & person.ledger.answers.keys())
        told |= person.ledger.answers
    with psycopg.connect(setup.database_url) as connection:
        stored = connection.execute(
            "SELECT assignment_id, response, standing FROM annotator_judgment"
        ).fetchall()
        (over_k,) = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM annotator_judgment WHERE standing = 'counted' GROUP BY item_id"
            f" HAVING count(*) > {REDUNDANCY}) x"
        ).fetchone() or (0,)
        (same,) = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM annotator_judgment GROUP BY item_id, rater_id HAVING count(*) > 1) x"
        ).fetchone() or (0,)
        (free,) = connection.execute(
            "SELECT count(*) FROM annotator_place WHERE assignment_id IS NULL"
        ).fetchone() or (0,)
        (held,) = connection.execute(
            "SELECT count(*) FROM annotator_assignment WHERE state = 'leased'"
        ).fetchone() or (0,)
    kept = {pk: response for pk, response, _ in stored}
    work = [len(person.ledger.answers) for person in people]
    return {
        "acknowledged": len(told),
        "stored": len(stored),
        "counted": sum(1 for *_, standing in stored if standing == "counted"),
        "lost": len(told.keys() - kept.keys()),
        "stored_but_never_acknowledged": len(kept.keys() - told.keys()),
        "never_acknowledged": sorted(kept.keys() - told.keys())[:20],
        "acknowledged_twice": twice,
        "stored_otherwise_than_acknowledged": sum(
            1 for pk, answers in told.items() if pk in kept and not same_answer(answers, kept[pk])
        ),
        "judged_twice_by_one_person": same,
        "items_over_k": over_k,
        "places_left": free,
        "tasks_still_open": held,
        "faults": [fault for person in people for fault in person.ledger.faults][:20],
        "fault_count": sum(len(person.ledger.faults) for person in people),
        "kills": dict(killed),
        "kills_done": killed.total(),
        "requests": dict(sorted(traffic.statuses.items())),
        "requests_without_a_reply": traffic.resent,
        "did": dict(sum((person.ledger.did for person in people), Counter())),
        "answers_of_one_person": [min(work), max(work)],
        "longest_wait_seconds": round(max(person.ledger.longest_wait for person in people), 1),
    }


def same_answer(told: dict[str, str], stored: dict[str, Any]) -> bool:
    """Whether everything stored is what was sent; an optional text that was left out may be missing or empty."""

    def plain(value: Any) -> str:
        return ",".join(value) if isinstance(value, list) else str(value)

    return bool(stored) and all(plain(value) in (told.get(name, ""), "") for name, value in stored.items())


def balances(plan: Plan, result: dict[str, Any]) -> bool:
    nothing = (
        "lost", "stored_but_never_acknowledged", "acknowledged_twice", "stored_otherwise_than_acknowledged",
        "judged_twice_by_one_person", "items_over_k", "places_left", "tasks_still_open", "fault_count",
    )  # fmt: skip
    return (
        all(result[name] == 0 for name in nothing)
        and result["counted"] == plan.all_places()
        and result["kills_done"] == plan.kills
        and result["answers_of_one_person"][0] > 0
        and not any(status >= 500 and status != 503 for status in result["requests"])
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--setup", choices=SETUPS, default="embedded")
    parser.add_argument("--annotators", type=int, default=20)
    parser.add_argument("--places", type=int, default=300)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600, help="Give up after this many seconds.")
    parser.add_argument("--keep", action="store_true", help="Write the result beside this file.")
    options = parser.parse_args()
    stop_on_signals()
    plan = Plan(options.seed, options.setup, options.annotators, options.places, options.kills)
    with tempfile.TemporaryDirectory(prefix="foretell-soak-") as directory:
        setup: Setup = SETUPS[options.setup](Path(directory))
        busy = os.getloadavg()[0]
        try:
            setup.start()
            result = soak_run(plan, setup, seconds=options.seconds)
        except Stopping:
            return 1
        finally:
            setup.stop()
    passed = balances(plan, result)
    result = {
        "passed": passed,
        "when": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "load_average_before": round(busy, 1),
        "plan": plan.as_json() | {"all_places": plan.all_places(), "items": plan.items()},
        **result,
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.keep:
        (HERE / f"results-{options.setup}.json").write_text(text + "\n", encoding="utf-8")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
