"""One worker process against an endpoint that answers in 200 ms with 64 in flight: its share of the ideal, its memory.

    DATABASE_URL=... REDIS_URL=... python -m benchmarks.llm.throughput [--calls 8000] [--in-flight 64]

The calls are those of a simulator on real items: claimed, sent, parsed, stored, and applied as judgments. The ideal is
calls / (in flight / 0.2 s). ``plain`` sends the same requests through the bare ``openai`` client in the same process and
stores nothing: this is what the client alone achieves on this machine at this time. Needs a migrated database that it may
fill. Prints JSON; ``--keep`` writes it to ``benchmarks/llm/throughput.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import psutil

from tests.evaluation.scripted_process import ScriptedProcess

HERE = Path(__file__).parent
LATENCY = 0.2


def memory() -> float:
    return psutil.Process().memory_info().rss / 1e6


async def plain(provider: ScriptedProcess, calls: int, in_flight: int, body: list[dict[str, str]]) -> float:
    """Seconds that the bare client takes."""
    import openai

    client = openai.AsyncOpenAI(api_key="none", base_url=provider.base_url, max_retries=0)
    left = iter(range(calls))

    async def slot() -> None:
        for _ in left:
            await client.chat.completions.create(model=f"scripted?latency={LATENCY}", messages=body)  # type: ignore[arg-type]

    started = time.perf_counter()
    await asyncio.gather(*(slot() for _ in range(in_flight)))
    return time.perf_counter() - started


def run(provider: ScriptedProcess, calls: int, in_flight: int) -> dict[str, Any]:
    """One run with this many calls, carried out in this process."""
    from evaluation.runs import wake as run_wake
    from evaluation.runs.create import RunPlan
    from evaluation.runs.lifecycle import run_finish, run_start
    from evaluation.runs.worker import SliceWorker
    from evaluation.simulators.start import simulation_create
    from tests.evaluation.run_factories import make_endpoint, make_material

    run_wake._send = lambda *_: None  # type: ignore[assignment]
    endpoint = make_endpoint(
        provider, name=f"bench-{time.time_ns()}", concurrency=in_flight, timeout_seconds=30.0
    )
    row = simulation_create(
        study=make_material(calls, slug=f"bench-{time.time_ns()}"),
        endpoint=endpoint,
        plan=RunPlan(model=f"scripted?latency={LATENCY}", use_cache=False),
    )
    run_start(run=row)
    marks: list[float] = []
    before, cpu, started = memory(), time.process_time(), time.perf_counter()
    worker = SliceWorker(run_pk=row.pk, seconds=3600)
    take = worker._take

    def watched(*arguments: Any) -> float:
        if worker.finished // 1000 > len(marks):
            marks.append(memory())
        return take(*arguments)

    worker._take = watched  # type: ignore[method-assign]
    worker.work()
    seconds = time.perf_counter() - started
    assert run_finish(run=row)
    return {
        "calls": calls,
        "seconds": round(seconds, 2),
        "share_of_ideal": round(calls / seconds / (in_flight / LATENCY), 3),
        "cpu_ms_per_call": round((time.process_time() - cpu) / calls * 1000, 2),
        "memory_mb": {
            "before": round(before),
            "each_1000_calls": [round(m) for m in marks][:: max(1, len(marks) // 20)],
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=8000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    provider = ScriptedProcess()
    os.environ["LLM_ALLOWED_HOSTS"] = provider.host
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    import django

    django.setup()
    try:
        mine = run(provider, arguments.calls, arguments.in_flight)
        from evaluation.models import Call

        request = Call.objects.exclude(request=None).order_by("-pk").values_list("request", flat=True)[0]
        seconds = asyncio.run(
            plain(provider, min(arguments.calls, 4000), arguments.in_flight, request["messages"])
        )
    finally:
        provider.stop()
    result = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "load": [round(load, 1) for load in os.getloadavg()],
        "in_flight": arguments.in_flight,
        "latency": LATENCY,
        **mine,
        "plain_client_share_of_ideal": round(
            min(arguments.calls, 4000) / seconds / (arguments.in_flight / LATENCY), 3
        ),
    }
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.keep:
        (HERE / "throughput.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
