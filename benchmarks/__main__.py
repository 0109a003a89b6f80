"""``python -m benchmarks [NAME [OPTION ...]]``: run one benchmark; without a name, list them.

A benchmark that needs a database gets its own embedded one, unless ``DATABASE_URL`` names another.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.ten_million.server import OPTIONS as TEN_MILLION
from foretell.embedded import EmbeddedServers

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Benchmark:
    module: str
    about: str
    servers: bool = False
    options: tuple[str, ...] = ()
    #: Settings of its Postgres.
    postgres: Mapping[str, str] = field(default_factory=dict)


BENCHMARKS = {
    "agreement": Benchmark(
        "benchmarks.agreement.run", "kappa, alpha and the others on a million judgments", options=("speed",)
    ),
    "files": Benchmark("benchmarks.files.run", "material in, judgments out: time and memory", servers=True),
    "first-view": Benchmark(
        "benchmarks.first_view.run",
        "a page's first view on a slow phone: responses, bytes, time",
    ),
    "growth": Benchmark(
        "benchmarks.core_loop.growth", "a turn as a study grows to 200,000 items and a million judgments"
    ),
    "load": Benchmark("benchmarks.core_loop.load", "many annotators at once over HTTP"),
    "panel": Benchmark(
        "benchmarks.panel.run",
        "a study with 200 people from the stand-in of a panel, from publication to pay",
    ),
    "llm": Benchmark("benchmarks.llm.throughput", "calls of one worker against the ideal", servers=True),
    "llm-faults": Benchmark("benchmarks.llm.faults", "5,000 calls while workers are killed", servers=True),
    "llm-recipes": Benchmark(
        "benchmarks.llm.recipes", "every recipe end to end on the public data in FOLDER", servers=True
    ),
    "outage": Benchmark(
        "benchmarks.start.outage", "how long pages are unavailable when web processes are killed"
    ),
    "parts": Benchmark(
        "benchmarks.core_loop.parts", "what each optimisation of the core loop saves", servers=True
    ),
    "report": Benchmark("benchmarks.report", "from Postgres to the stored report", servers=True),
    "researcher-pages": Benchmark(
        "benchmarks.researcher_pages.run",
        "queries and server time of each page of a study with a million judgments",
        servers=True,
    ),
    "scale": Benchmark(
        "benchmarks.scale", "every figure of docs/scale.md again, one command after the other"
    ),
    "soak": Benchmark(
        "benchmarks.soak.run", "many annotators while every process is killed again and again, with ledgers"
    ),
    "start": Benchmark("benchmarks.start.run", "`make run` again: to its first page, and memory at rest"),
    "think": Benchmark(
        "benchmarks.core_loop.think",
        "thousands of annotators who take their time, alone and beside another lab's import",
    ),
    "ten-million": Benchmark(
        "benchmarks.ten_million.run",
        "every operation on ten million judgments, half of them in one study",
        servers=True,
        postgres=TEN_MILLION,
    ),
    "turn-cost": Benchmark(
        "benchmarks.core_loop.turn_cost",
        "processor time of a submit with its next task, beside another checkout",
    ),
    "workspace": Benchmark(
        "benchmarks.workspace.run", "a workspace to its backup and back: time and memory", servers=True
    ),
    "validation": Benchmark("benchmarks.validation.coverage", "whether the intervals cover the truth"),
}


def run(benchmark: Benchmark, options: list[str], **settings: str) -> int:
    command = [sys.executable, "-m", benchmark.module, *(options or benchmark.options)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, check=False).returncode


def run_with_servers(benchmark: Benchmark, options: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="foretell-benchmark-") as directory:
        servers = EmbeddedServers(Path(directory), postgres_options=dict(benchmark.postgres))
        try:
            addresses = {"DATABASE_URL": servers.start_postgres(), "REDIS_URL": servers.start_redis()}
            migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(migrate, cwd=ROOT, env={**os.environ, **addresses}, check=True)
            return run(benchmark, options, **addresses)
        finally:
            servers.stop()


def main() -> int:
    name, *options = sys.argv[1:] or [""]
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        print('Choose one: make bench ARGS="NAME OPTION ...". NAME is one of')
        print("\n".join(f"  {name:<16} {one.about}" for name, one in BENCHMARKS.items()))
        return 2 if name else 0
    if benchmark.servers and "DATABASE_URL" not in os.environ:
        return run_with_servers(benchmark, options)
    return run(benchmark, options)


if __name__ == "__main__":
    sys.exit(main())
