"""Worker processes against an endpoint that answers in 200 ms with 64 in flight: their share of the ideal, their memory.

    DATABASE_URL=... REDIS_URL=... python -m benchmarks.llm.throughput [--calls 8000] [--in-flight 64] [--workers 2] [--turns 4]

The calls are those of a simulator on real items: claimed, sent, parsed, stored, and applied as judgments. The ideal is
calls / (in flight / 0.2 s), whatever the number of workers: each is a process on the same run, and together they keep
within the endpoint's concurrency, as workers of an installation do. The first worker's time runs from its first claim to
the last worker's end, without the start of the processes. ``plain`` sends the same requests through the bare ``openai``
client in one process and stores nothing: this is what the client alone achieves on this machine at this time.
``--chats plain`` sends the workers' chats without the ``openai`` client, over the same transport; ``--turns 4`` compares the
two in turns, four times. Needs a
migrated database that it may fill. Prints JSON; ``--keep`` adds it to ``benchmarks/llm/throughput.json``, where the results
are stored by the number of workers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from tests.evaluation.scripted_process import ScriptedProcess

HERE = Path(__file__).parent
KEPT = HERE / "throughput.json"
LATENCY = 0.2


def memory() -> float:
    return psutil.Process().memory_info().rss / 1e6


async def plain(base_url: str, calls: int, in_flight: int, body: list[dict[str, str]]) -> float:
    """Seconds that the bare client takes."""
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0)
    left = iter(range(calls))

    async def slot() -> None:
        for _ in left:
            await client.chat.completions.create(model=f"scripted?latency={LATENCY}", messages=body)  # type: ignore[arg-type]

    started = time.perf_counter()
    await asyncio.gather(*(slot() for _ in range(in_flight)))
    return time.perf_counter() - started


def chats_without_openai() -> None:
    """From now on, this process sends chats through the plain HTTP client, as it does to other providers."""
    from evaluation.providers.client import Client
    from evaluation.providers.openai_client import OpenAIClient

    async def send(self: OpenAIClient, method: str, path: str, body: Any = None, **more: Any) -> Any:
        return await Client.send(self, method, path, body, **more)

    OpenAIClient.send = send  # type: ignore[method-assign]


def work(run_pk: int, number: int, chats: str) -> None:
    """One worker process: says that it is ready, waits for a line, works, and prints what it measured."""
    from evaluation.runs import wake
    from evaluation.runs.worker import SliceWorker

    if chats == "plain":
        chats_without_openai()
    else:
        import openai  # noqa: F401 - loading it is no part of a call

    wake.jobs.enqueue = lambda *_, **__: None  # type: ignore[assignment]
    worker = SliceWorker(run_pk=run_pk, number=number, seconds=3600)
    marks: list[float] = []
    take = worker._take

    def watched(*arguments: Any) -> float:
        if worker.finished // 1000 > len(marks):
            marks.append(memory())
        return take(*arguments)

    worker._take = watched  # type: ignore[method-assign]
    print("ready", flush=True)
    sys.stdin.readline()
    before, cpu = memory(), time.process_time()
    worker.work()
    print(
        json.dumps(
            {
                "calls": worker.finished,
                "processor_seconds": round(time.process_time() - cpu, 2),
                "memory_mb": {
                    "before": round(before),
                    "each_1000_calls": [round(mark) for mark in marks][:: max(1, len(marks) // 20)],
                },
            }
        ),
        flush=True,
    )


def run(provider: ScriptedProcess, *, calls: int, in_flight: int, workers: int, chats: str) -> dict[str, Any]:
    """One run with this many calls, carried out by this many worker processes."""
    from evaluation.runs import wake
    from evaluation.runs.create import RunPlan
    from evaluation.runs.lifecycle import run_finish, run_start
    from evaluation.simulators.start import simulation_create
    from tests.evaluation.run_factories import make_endpoint, make_material

    wake.jobs.enqueue = lambda *_, **__: None  # type: ignore[assignment]
    endpoint = make_endpoint(
        provider, name=f"bench-{time.time_ns()}", concurrency=in_flight, timeout_seconds=30.0
    )
    row = simulation_create(
        study=make_material(calls, slug=f"bench-{time.time_ns()}"),
        endpoint=endpoint,
        plan=RunPlan(model=f"scripted?latency={LATENCY}", use_cache=False, workers=workers),
    )
    run_start(run=row)
    command = [
        sys.executable,
        "-m",
        "benchmarks.llm.throughput",
        "--chats",
        chats,
        "--run",
        str(row.pk),
        "--number",
    ]
    processes = [
        subprocess.Popen(
            [*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        for number in range(workers)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    started = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("start\n")
    measured = [json.loads(process.communicate()[0]) for process in processes]
    seconds = time.perf_counter() - started
    assert run_finish(run=row)
    row.refresh_from_db()
    assert (row.state, row.sent_calls) == ("done", calls), (row.state, row.reason)
    return {
        "calls": calls,
        "seconds": round(seconds, 2),
        "share_of_ideal": round(calls / seconds / (in_flight / LATENCY), 3),
        "cpu_ms_per_call": round(sum(one["processor_seconds"] for one in measured) / calls * 1000, 2),
        "each_worker": measured,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=8000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--workers", type=int, default=1, help="Worker processes on the one run.")
    parser.add_argument("--chats", choices=["openai", "plain"], default="openai", help="The client of chats.")
    parser.add_argument("--turns", type=int, default=1, help="Repeat with each client in turns.")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    provider = None if arguments.run else ScriptedProcess()
    if provider is not None:
        os.environ["LLM_ALLOWED_HOSTS"] = provider.host
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    import django

    django.setup()
    if provider is None:
        work(arguments.run, arguments.number, arguments.chats)
        return
    try:
        asked = {"calls": arguments.calls, "in_flight": arguments.in_flight, "workers": arguments.workers}
        for turn in range(2 * arguments.turns if arguments.turns > 1 else 0):
            chats = ("plain", "openai")[turn % 2]
            found = run(provider, **asked, chats=chats)
            print(chats, found["share_of_ideal"], found["cpu_ms_per_call"], os.getloadavg(), flush=True)
        if arguments.turns > 1:
            return
        mine = run(provider, **asked, chats=arguments.chats)
        from evaluation.models import Call

        request = Call.objects.exclude(request=None).order_by("-pk").values_list("request", flat=True)[0]
        few = min(arguments.calls, 4000)
        seconds = asyncio.run(plain(provider.base_url, few, arguments.in_flight, request["messages"]))
    finally:
        provider.stop()
    result = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "load": [round(load, 1) for load in os.getloadavg()],
        "in_flight": arguments.in_flight,
        "latency": LATENCY,
        "workers": arguments.workers,
        **mine,
        "plain_client_share_of_ideal": round(few / seconds / (arguments.in_flight / LATENCY), 3),
    }
    print(json.dumps(result, indent=1))
    if arguments.keep:
        kept = json.loads(KEPT.read_text(encoding="utf-8")) | {f"{arguments.workers}_workers": result}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
