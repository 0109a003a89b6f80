"""Many annotators who take their time: the time of a submit with the next task, and how another lab's work changes it.

    python -m benchmarks think [--annotators 1000] [--seconds 120] [--think 20 30] [--beside import|run]

Each annotator thinks for a time drawn evenly from ``--think`` seconds, submits, and gets the next task in the reply; each
request has a connection of its own. Annotators begin spread over the first think time. ``--beside import`` repeats the same
seconds while a worker imports 200,000 rows into a study of another workspace, and ``--beside run`` while it sends the calls of a
run of 100,000 in another workspace, 64 at a time, to an endpoint that answers in 200 ms. Postgres, Redis, the web processes of
production, the worker, the annotators and the endpoint share the processors of this machine. At the end, what was acknowledged is
compared with what Postgres holds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.core_loop.load import FORM, INPUT, ITEMS, NAMED, ROOT, Server, check_ledger, make_study, p95
from foretell.embedded import EmbeddedServers
from foretell.embedded.process import spawn, stop
from foretell.serve import worker_command
from tests.evaluation.scripted_process import ScriptedProcess

#: Rows of the import of ``--beside import``, and calls of the run of ``--beside run``.
ROWS, CALLS = 200_000, 100_000
#: Annotators who join at the same time, before the measurement.
JOINING = 16


@dataclass
class Turns:
    """What all annotators saw in one measurement."""

    seconds: list[float] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    accepted: list[int] = field(default_factory=list)

    def line(self, name: str, seconds: float) -> str:
        times = self.seconds or [float("nan")]
        return (
            f"{name:<24} {len(self.seconds) / seconds:>11.1f} {statistics.median(times) * 1000:>8.1f} {p95(times) * 1000:>8.1f} "
            f"{sorted(times)[int(len(times) * 0.99)] * 1000:>8.1f} {max(times) * 1000:>9.1f}  "
            + (", ".join(f"{count} x {fault}" for fault, count in self.faults.most_common(4)) or "none")
        )


class Annotator:
    """A person's browser: cookies, and the page that they are on."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}
        self.page = ""

    async def send(
        self, method: str, path: str, data: Mapping[str, str] | None = None, **headers: str
    ) -> tuple[int, str, str]:
        """(status, where to go, text)"""
        body = urlencode(data).encode() if data is not None else b""
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: 127.0.0.1",
            "Connection: close",
            f"Content-Length: {len(body)}",
        ]
        lines.append("Cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        if data is not None:
            lines.append("Content-Type: application/x-www-form-urlencoded")
            lines.append(f"X-CSRFToken: {self.cookies.get('csrftoken', '')}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            rest = await reader.read()
        finally:
            writer.close()
        got: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            value = value.strip()
            if name.lower() == "set-cookie":
                key, _, left = value.partition("=")
                self.cookies[key] = left.partition(";")[0]
            got[name.lower()] = value
        if got.get("transfer-encoding") == "chunked":
            rest = _joined(rest)
        return int(head[0].split()[1]), got.get("location") or got.get("hx-redirect") or "", rest.decode()

    async def follow(self, method: str, path: str, data: Mapping[str, str] | None = None) -> str:
        status, where, text = await self.send(method, path, data)
        while status in (301, 302, 303) and where:
            status, where, text = await self.send("GET", where)
        if status != 200:
            raise RuntimeError(f"{method} {path} answered {status}")
        return text

    async def join(self, invitation: str) -> None:
        await self.follow("GET", invitation)
        self.page = await self.follow("POST", invitation, {})
        if FORM.search(self.page) is None:
            self.page = await self.follow("POST", f"/study/growth-{ITEMS}/instructions/", {})

    async def work(self, think: tuple[float, float], until: float, turns: Turns, rng: random.Random) -> None:
        """Answer until the time is over. A refusal with Retry-After would be tried again by the page; here it is counted."""
        await asyncio.sleep(rng.uniform(0, think[1]))
        while time.monotonic() < until:
            task = FORM.search(self.page)
            if task is None:
                turns.faults["no next task"] += 1
                return
            data = {"helpful": "yes", "answer": "yes"}
            for hidden in INPUT.findall(task.group(3)):
                name, value = (found.search(hidden) for found in NAMED)
                if name:
                    data[name.group(1)] = value.group(1) if value else ""
            before = time.perf_counter()
            try:
                status, where, page = await self.send("POST", task.group(1), data, **{"HX-Request": "true"})
                if where:
                    page = await self.follow("GET", where)
            except (OSError, RuntimeError, asyncio.IncompleteReadError) as error:
                turns.faults[type(error).__name__] += 1
                await asyncio.sleep(1)
                continue
            if status in (200, 204):
                turns.seconds.append(time.perf_counter() - before)
                turns.accepted.append(int(task.group(2)))
                self.page = page
            else:
                turns.faults[str(status)] += 1
            await asyncio.sleep(rng.uniform(*think))


def _joined(chunks: bytes) -> bytes:
    """The body of a reply in chunks."""
    parts = []
    while chunks:
        size, _, chunks = chunks.partition(b"\r\n")
        if not (length := int(size or b"0", 16)):
            break
        parts.append(chunks[:length])
        chunks = chunks[length + 2 :]
    return b"".join(parts)


async def join_all(annotators: list[Annotator], invitation: str) -> None:
    room = asyncio.Semaphore(JOINING)

    async def one(annotator: Annotator) -> None:
        async with room:
            await annotator.join(invitation)

    await asyncio.gather(*map(one, annotators))


async def work_all(
    annotators: list[Annotator], think: tuple[float, float], seconds: float, seed: int
) -> Turns:
    """All annotators for so long; the first think time, in which they begin one after the other, doesn't count."""
    turns, until = Turns(), time.monotonic() + think[1] + seconds
    rngs = [random.Random(seed * 1_000_003 + number) for number in range(len(annotators))]

    async def count_from_now() -> None:
        await asyncio.sleep(think[1])
        turns.seconds.clear()

    counting = asyncio.create_task(count_from_now())
    await asyncio.gather(
        *(one.work(think, until, turns, rng) for one, rng in zip(annotators, rngs, strict=True))
    )
    await counting
    return turns


def begin_import(environment: dict[str, str], folder: Path) -> None:
    """Queue the import of ``ROWS`` rows into a study of a workspace of its own."""
    code = f"""
from annotator.models import FileImport, User
from annotator.services.imports.file_imports import file_import_request, material_options
from annotator.services.imports.pending_uploads import park
from annotator.services.study import study_create
from benchmarks.files.run import write_material
from pathlib import Path
by = User.objects.create(username='another-lab', is_staff=True)
path = Path({str(folder)!r}) / 'material.jsonl'
write_material(path, {ROWS})
study = study_create(by=by, hit_type='simulation', slug='another-lab', title='Another lab')
waiting = park(study_pk=study.pk, user_pk=by.pk, file=path.open('rb'), name=path.name)
file_import_request(study=study, by=by, kind=FileImport.Kind.MATERIAL, waiting=waiting, options=material_options(mapping={{}}, constants={{}}))
"""
    in_shell(environment, code)


def begin_run(environment: dict[str, str], folder: Path) -> None:
    """Start a run of ``CALLS`` calls on a study of a workspace of its own."""
    code = f"""
from annotator.models import User
from evaluation.runs.create import RunPlan
from evaluation.runs.lifecycle import run_start
from evaluation.simulators.start import simulation_create
from tests.evaluation.run_factories import make_endpoint, make_material
from types import SimpleNamespace
by = User.objects.create(username='another-lab', is_staff=True)
provider = SimpleNamespace(base_url={environment["ENDPOINT"]!r})
endpoint = make_endpoint(provider, by=by, concurrency=64, timeout_seconds=30.0)
study = make_material({CALLS}, slug='another-lab', by=by)
plan = RunPlan(model='scripted?latency=0.2', use_cache=False)
run_start(run=simulation_create(study=study, endpoint=endpoint, plan=plan))
"""
    in_shell(environment, code)


def in_shell(environment: dict[str, str], code: str) -> str:
    """What code prints that Django's shell runs."""
    command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


#: What another lab does meanwhile: how it begins, and what the lines of figures call it.
BESIDE = {"import": (begin_import, "an import"), "run": (begin_run, "a run")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotators", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--think", type=float, nargs=2, default=[20.0, 30.0])
    parser.add_argument("--beside", choices=[*BESIDE])
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory(prefix="foretell-think-") as directory:
        servers = EmbeddedServers(Path(directory), postgres_options={"max_connections": "200"})
        running: list[Server] = []
        worker = None
        provider = ScriptedProcess()
        try:
            ours = {**os.environ, "REDIS_URL": servers.start_redis(), "DATA_DIR": f"{directory}/data"}
            ours |= {
                "JOINS_PER_ADDRESS": "100000000",
                "ENDPOINT": provider.base_url,
                "LLM_ALLOWED_HOSTS": provider.host,
                "STATIC_HASHED": "1",
                "DATABASE_URL": servers.start_postgres(),
            }
            for command in (
                ("migrate", "--verbosity", "0"),
                ("collectstatic", "--noinput", "--verbosity", "0"),
            ):
                subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=ours, check=True)
            invitation = make_study(ours, options.annotators)
            running = [Server("foretell.wsgi:application", ours)]
            worker = spawn(
                worker_command(),
                cwd=ROOT,
                env=ours,
                output=subprocess.DEVNULL,
                on_parent_death=signal.SIGKILL,
            )
            accepted = asyncio.run(_measured(options, running[0].port, invitation, ours, Path(directory)))
            import psycopg

            with psycopg.connect(ours["DATABASE_URL"]) as connection:
                check_ledger(connection, accepted)
        finally:
            if worker is not None:
                stop(worker, (signal.SIGTERM, 10))
            for server in running:
                server.stop()
            provider.stop()
            servers.stop()


_DONE = """
from annotator.models import Item
from evaluation.models import Call
print(Item.objects.filter(study__slug='another-lab').count(), Call.objects.filter(state='done').count())
"""


async def _measured(
    options: argparse.Namespace, port: int, invitation: str, environment: dict[str, str], folder: Path
) -> list[int]:
    annotators = [Annotator(port) for _ in range(options.annotators)]
    start = time.perf_counter()
    await join_all(annotators, invitation)
    print(f"{options.annotators:,} annotators joined in {time.perf_counter() - start:.0f} s")
    print(
        f"{'':<24} {'judgments/s':>11} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'longest':>9}  faults",
        flush=True,
    )
    think = (options.think[0], options.think[1])
    found = await work_all(annotators, think, options.seconds, 1)
    print(found.line("alone", options.seconds), flush=True)
    accepted = found.accepted
    if options.beside:
        begin, name = BESIDE[options.beside]
        await asyncio.to_thread(begin, environment, folder)
        beside = await work_all(annotators, think, options.seconds, 2)
        print(beside.line(f"beside {name}", options.seconds), flush=True)
        for label, value in (("median", statistics.median), ("p95", p95)):
            print(f"{label} beside {name} / alone: {value(beside.seconds) / value(found.seconds):.2f}")
        done = await asyncio.to_thread(in_shell, environment, _DONE)
        print(f"the other lab has {done} items and answered calls")
        accepted = accepted + beside.accepted
    return accepted


if __name__ == "__main__":
    main()
