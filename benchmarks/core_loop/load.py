"""Judgments a second and the time of a submit with 1, 8, 64 and 200 annotators at once, over HTTP, without think time.

    make load [ARGS="--seconds 10 --rounds 3 --annotators 1 8 64"]

The baseline (``floor.py``) takes turns with it, under the same server with the same number of workers: the ratio says more
than the seconds, which vary with the machine. Postgres and this load generator share the processors with both. Every
answer is followed by the next item; a judgment is one request here and two in the baseline.

With ``--beside FILE``, the file of a HIT type that asks what ``simulation`` asks, a study of this type takes turns with one of the
built-in type instead, on the same server: the ratio says what it costs to declare a type in a file.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from foretell.embedded import EmbeddedServers
from foretell.embedded.process import free_port, spawn, stop
from foretell.serve import web_command

ROOT = Path(__file__).resolve().parents[2]
ITEMS = 20_000
FORM = re.compile(r'<form\b[^>]*\baction="(/task/(\d+)/)"[^>]*>(.*?)</form>', re.S)
INPUT = re.compile(r'<input\b[^>]*type="hidden"[^>]*>', re.S)
INSTRUCTIONS = re.compile(r"/study/[a-z0-9-]+/instructions/")
NAMED = re.compile(r'name="([^"]*)"'), re.compile(r'value="([^"]*)"')


@dataclass
class Tally:
    judgments: int = 0
    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    #: Assignments whose answers the server acknowledged.
    accepted: list[int] = field(default_factory=list)


class Client:
    """One connection with its cookies: as little work as a client can have."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.cookies: dict[str, str] = {}

    def send(
        self, method: str, path: str, data: dict[str, str] | None = None, **headers: str
    ) -> tuple[int, str, str]:
        """(status, where to go, text)"""
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        body = None
        if data is not None:
            body = urlencode(data)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            headers["X-CSRFToken"] = self.cookies.get("csrftoken", "")
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        text = reply.read().decode()
        for name, value in reply.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        return reply.status, reply.headers.get("Location") or reply.headers.get("HX-Redirect") or "", text

    def follow(self, method: str, path: str, data: dict[str, str] | None = None) -> str:
        status, where, text = self.send(method, path, data)
        while status in (301, 302, 303) and where:
            status, where, text = self.send("GET", where)
        if status != 200:
            raise RuntimeError(f"{method} {path} answered {status}")
        return text


def work_here(port: int, join: str, tally: Tally, begin: threading.Barrier, over: threading.Event) -> None:
    client = Client(port)
    client.follow("GET", join)
    page = client.follow("POST", join, {})
    if FORM.search(page) is None:
        page = client.follow("POST", INSTRUCTIONS.search(page)[0], {})  # type: ignore[index]
    begin.wait()
    while not over.is_set():
        task = FORM.search(page)
        if task is None:
            tally.faults.append(f"no next task in {page[:300]!r}")
            return
        data = {}
        for hidden in INPUT.findall(task.group(3)):
            name, value = (found.search(hidden) for found in NAMED)
            if name:
                data[name.group(1)] = value.group(1) if value else ""
        data |= {"helpful": "yes", "answer": "yes"}
        before = time.perf_counter()
        status, where, page = client.send("POST", task.group(1), data, **{"HX-Request": "true"})
        tally.seconds.append(time.perf_counter() - before)
        if status not in (200, 204):
            tally.faults.append(f"{status}")
            return
        tally.accepted.append(int(task.group(2)))
        if where:
            page = client.follow("GET", where)
        if not over.is_set():
            tally.judgments += 1


def work_floor(port: int, number: int, tally: Tally, begin: threading.Barrier, over: threading.Event) -> None:
    client = Client(port)
    client.send("GET", f"/enter/{number}")
    begin.wait()
    while not over.is_set():
        before = time.perf_counter()
        status, _, text = client.send("GET", "/next")
        if status != 200:
            tally.faults.append(f"next: {status}")
            return
        status, _, _ = client.send(
            "POST", "/submit", {"item": str(json.loads(text)["item"]), "answer": "yes"}
        )
        tally.seconds.append(time.perf_counter() - before)
        if status != 204:
            tally.faults.append(f"submit: {status}")
            return
        if not over.is_set():
            tally.judgments += 1


def measure(work, port: int, entries: list, seconds: float) -> Tally:  # type: ignore[no-untyped-def, type-arg]
    """Run all annotators from the same moment, for this long."""
    tally, begin, over = Tally(), threading.Barrier(len(entries) + 1), threading.Event()
    threads = [threading.Thread(target=work, args=(port, entry, tally, begin, over)) for entry in entries]
    for thread in threads:
        thread.start()
    begin.wait(timeout=300)
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join()
    return tally


def p95(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95)] if seconds else float("nan")


class Server:
    def __init__(self, application: str, environment: dict[str, str]) -> None:
        self.port = free_port()
        command = web_command()
        command[command.index("--port") + 1] = str(self.port)
        command[-1] = application
        self.child = spawn(
            command, cwd=ROOT, env=environment, output=subprocess.DEVNULL, on_parent_death=signal.SIGKILL
        )
        for _ in range(3000):
            try:
                Client(self.port).send("GET", "/healthz")
                return
            except OSError:
                time.sleep(0.01)
        raise RuntimeError(f"{application} does not respond")

    def stop(self) -> None:
        stop(self.child, (signal.SIGTERM, 10))


def make_study(environment: dict[str, str], most: int, source: bytes = b"") -> str:
    """A launched study without consent, practice and exam, of a declared type if there is a file; returns its invitation."""
    code = f"""
from benchmarks.core_loop.growth import grown
study = grown({ITEMS}, 0, {source!r})
study.redundancy = {most}
print('/join/' + study.join_token + '/')
"""
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", code],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotators", type=int, nargs="+", default=[1, 8, 64, 200])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--beside", type=Path, help="the file of a declared type that asks what simulation asks"
    )
    options = parser.parse_args()
    most = max(options.annotators)
    with tempfile.TemporaryDirectory(prefix="foretell-load-") as directory:
        servers = EmbeddedServers(Path(directory), postgres_options={"max_connections": "200"})
        running: list[Server] = []
        try:
            base = {**os.environ, "REDIS_URL": servers.start_redis(), "DATA_DIR": f"{directory}/data"}
            base["JOINS_PER_ADDRESS"] = "1000000"  # all annotators come from this machine
            ours = {**base, "DATABASE_URL": servers.start_postgres(), "STATIC_HASHED": "1"}
            floor = {**base, "DATABASE_URL": ours["DATABASE_URL"].rpartition("/")[0] + "/floor"}
            import psycopg

            with psycopg.connect(ours["DATABASE_URL"], autocommit=True) as connection:
                connection.execute("CREATE DATABASE floor")
            for command in (
                ("migrate", "--verbosity", "0"),
                ("collectstatic", "--noinput", "--verbosity", "0"),
            ):
                subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=ours, check=True)
            join = make_study(ours, most)
            if options.beside:
                declared = make_study(ours, most, options.beside.read_bytes())
                running = [Server("foretell.wsgi:application", ours)]
                accepted = beside(options, running[0].port, join, declared)
            else:
                subprocess.run(
                    [sys.executable, "-m", "benchmarks.core_loop.floor", str(ITEMS), str(most)],
                    cwd=ROOT, env=floor, check=True,
                )  # fmt: skip
                running = [
                    Server("foretell.wsgi:application", ours),
                    Server("benchmarks.core_loop.floor:application", {**floor, "FLOOR_K": "1000000"}),
                ]
                accepted = compare(options, running[0].port, running[1].port, join)
            with psycopg.connect(ours["DATABASE_URL"]) as connection:
                check_ledger(connection, accepted)
        finally:
            for server in running:
                server.stop()
            servers.stop()


def check_ledger(connection: Any, accepted: list[int]) -> None:
    """Compare the answers that were acknowledged to clients with what Postgres holds."""
    stored = [
        pk
        for (pk,) in connection.execute(
            "SELECT assignment_id FROM annotator_judgment WHERE source = 'web'"
        ).fetchall()
    ]
    (over,) = connection.execute(
        """SELECT count(*) FROM (SELECT 1 FROM annotator_judgment j JOIN annotator_item i ON i.id = j.item_id
           JOIN annotator_study s ON s.id = i.study_id GROUP BY i.id, s.redundancy HAVING count(*) > s.redundancy) x"""
    ).fetchone()
    told, kept = set(accepted), set(stored)
    print(
        f"ledger: {len(accepted):,} taken, {len(told - kept)} of them not stored, {len(kept - told)} stored that nobody "
        f"was told of, {len(accepted) - len(told) + len(stored) - len(kept)} twice, {over} items with too many raters"
    )


def compare(options: argparse.Namespace, ours: int, floor: int, join: str) -> list[int]:
    """Print a line for each number of annotators; return the assignments whose answers were acknowledged."""
    accepted: list[int] = []
    print(
        f"{'annotators':>10} {'judgments/s':>12} {'floor':>8} {'ratio':>6} {'p50 ms':>8} {'p95 ms':>8} {'floor p95':>10}"
    )
    for count in options.annotators:
        here, there = [], []
        for _ in range(options.rounds):
            here.append(measure(work_here, ours, [join] * count, options.seconds))
            there.append(measure(work_floor, floor, list(range(count)), options.seconds))
        accepted += [pk for tally in here for pk in tally.accepted]
        faults = [fault for tally in here + there for fault in tally.faults]
        rate = statistics.median(tally.judgments / options.seconds for tally in here)
        base = statistics.median(tally.judgments / options.seconds for tally in there)
        times = [second for tally in here for second in tally.seconds] or [float("nan")]
        print(
            f"{count:>10} {rate:>12.1f} {base:>8.1f} {rate / base if base else float('nan'):>6.2f} "
            f"{statistics.median(times) * 1000:>8.1f} {p95(times) * 1000:>8.1f} "
            f"{p95([second for tally in there for second in tally.seconds]) * 1000:>10.1f}"
            + (f"  {len(faults)} faults: {faults[0]}" if faults else ""),
            flush=True,
        )
    return accepted


def beside(options: argparse.Namespace, port: int, built_in: str, declared: str) -> list[int]:
    """Print a line for each number of annotators: judgments per second of both studies, and the median ratio of neighbouring rounds."""
    accepted: list[int] = []
    print(
        f"{'annotators':>10} {'built-in/s':>12} {'declared/s':>12} {'ratio':>6} {'p95 ms':>8} {'declared':>9}"
    )
    for count in options.annotators:
        tallies: dict[str, list[Tally]] = {built_in: [], declared: []}
        for number in range(options.rounds):
            for join in (built_in, declared) if number % 2 == 0 else (declared, built_in):
                tallies[join].append(measure(work_here, port, [join] * count, options.seconds))
        accepted += [pk for held in tallies.values() for tally in held for pk in tally.accepted]
        faults = [fault for held in tallies.values() for tally in held for fault in tally.faults]
        rates = [[one.judgments / options.seconds for one in held] for held in tallies.values()]
        ratio = statistics.median(
            there / here if here else float("nan") for here, there in zip(*rates, strict=True)
        )
        times = [
            p95([second for tally in held for second in tally.seconds]) * 1000 for held in tallies.values()
        ]
        print(
            f"{count:>10} {statistics.median(rates[0]):>12.1f} {statistics.median(rates[1]):>12.1f} {ratio:>6.3f} "
            f"{times[0]:>8.1f} {times[1]:>9.1f}" + (f"  {len(faults)} faults: {faults[0]}" if faults else ""),
            flush=True,
        )
    return accepted


if __name__ == "__main__":
    main()
