"""`make run` on existing data: seconds to the first page, and the memory of the processes at rest.

    make bench ARGS="start [--starts 3]"

The first start creates the database and is not counted. Memory is the proportional set size of each process, which counts
a page that several share once.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil

from foretell.embedded.process import free_port

ROOT = Path(__file__).resolve().parents[2]
REST = 10


def start(directory: str) -> tuple[float, float, dict[str, float]]:
    """(seconds of the clock, seconds of processor until then, MB at rest by kind of process)"""
    port = free_port()
    environment = {**os.environ, "DATA_DIR": directory, "PORT": str(port)}
    for name in ("DATABASE_URL", "REDIS_URL"):
        environment.pop(name, None)
    begun = time.perf_counter()
    running = subprocess.Popen(
        [sys.executable, "-m", "foretell.run"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    )
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30).read()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                if running.poll() is not None or time.perf_counter() - begun > 300:
                    raise
                time.sleep(0.02)
        seconds = time.perf_counter() - begun
        processor = sum(sum(process.cpu_times()[:4]) for process in _family(running.pid))
        time.sleep(REST)
        return seconds, processor, _memory(running.pid)
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(60)


def _family(pid: int) -> list[psutil.Process]:
    whole = psutil.Process(pid)
    return [whole, *whole.children(recursive=True)]


def _memory(pid: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for process in _family(pid):
        line = " ".join(process.cmdline())
        kinds = {
            "granian": "web",
            "celery": "worker",
            "postgres": "Postgres",
            "redis": "Redis",
            "scripted": "model",
        }
        kind = next((name for word, name in kinds.items() if word in line), "supervisor")
        found[kind] = found.get(kind, 0.0) + process.memory_full_info().pss / 2**20
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foretell-start-") as directory:
        first, _, _ = start(directory)
        print(f"first start, which creates the database: {first:.1f} s", flush=True)
        found = [start(directory) for _ in range(options.starts)]
    seconds, processor = (statistics.median(one[place] for one in found) for place in (0, 1))  # type: ignore[misc]
    print(
        f"later starts, to the first page: {seconds:.1f} s of the clock, {processor:.1f} s of processor (all processes)"
    )
    memory = found[-1][2]
    print("at rest, MB: " + ", ".join(f"{kind} {size:.0f}" for kind, size in memory.items()))
    print(f"web and worker: {memory['web'] + memory['worker']:.0f} MB")


if __name__ == "__main__":
    main()
