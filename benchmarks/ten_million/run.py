"""``python -m benchmarks ten-million [--judgments 10000000] [--only pages export ...]``: what each operation takes at that size.

The data set is made first, unless the database that ``DATABASE_URL`` names has it. Each operation runs in a process of its own, while somebody
takes a turn every tenth of a second. ``restore`` needs an empty database and isn't measured unless it's named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HEAD = "| operation | elapsed s | processor s | Postgres s | MB above idle | what | turns beside |\n|---|---:|---:|---:|---:|---|---|"


def main() -> None:
    from benchmarks.ten_million import operations, pages
    from benchmarks.ten_million.data import data_make

    parser = argparse.ArgumentParser(prog="python -m benchmarks ten-million", description=__doc__)
    parser.add_argument("--judgments", type=int, default=10_000_000)
    names = ["pages", *operations.OPERATIONS]
    parser.add_argument("--only", nargs="+", choices=names, default=[])
    parser.add_argument("--one", choices=names, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(operations.one(chosen.one)))
        return
    wanted = chosen.only or [name for name in names if name != "restore"]
    if wanted != ["restore"]:
        data_make(chosen.judgments)
    if "pages" in wanted:
        pages.main()
    print(HEAD)
    for name in wanted:
        if name != "pages":
            print(_line(name, operations.OPERATIONS[name][1]), flush=True)


def _line(name: str, slug: str) -> str:
    from annotator.models import Study
    from benchmarks.ten_million.measuring import Beside

    beside = Beside(Study.objects.get(slug=slug)) if slug else None
    if beside:
        beside.start()
    try:
        found = _in_process(name)
    finally:
        turns = beside.stop() if beside else ""
    numbers = " | ".join(f"{found[key]:,}" for key in ("seconds", "processor", "postgres", "mb"))
    return f"| {name} | {numbers} | {found['did']} | {turns} |"


def _in_process(name: str) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.ten_million.run", "--one", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["killed"])[-1]
        return {
            "seconds": 0,
            "processor": 0,
            "postgres": 0,
            "mb": 0,
            "did": f"FAILED ({done.returncode}): {last[:300]}",
        }
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    django.setup()
    main()
