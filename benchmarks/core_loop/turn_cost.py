"""What one submit with its next task costs in processor time, beside another checkout of Foretell: in instructions and in seconds.

    python -m benchmarks turn-cost --before FOLDER [--turns 100] [--rounds 10]

FOLDER is a worktree of the earlier commit (``git worktree add --detach FOLDER COMMIT``). Each side has a process of its own with its own embedded
Postgres, and sends what a browser sends to the same kind of study, through Django's whole stack but without a socket. Elapsed time isn't measured,
because it depends on what else the machine does. The instructions of the Python process are counted by Valgrind (``apt install valgrind``), so
they are the same on a busy machine; ``--rounds`` then measures seconds of the processor, in Python and in the Postgres backend, the two sides in
turns: these vary by a tenth and more on a shared machine, so it prints the median ratio with its extremes.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ITEMS = 20_000
SIDES = ("before", "after")


class Side:
    """A process of one checkout, which carries out rounds when it is told to; with ``counted``, Valgrind writes its instructions there."""

    def __init__(self, checkout: Path, database: str, counted: Path | None = None) -> None:
        valgrind = [
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={counted}",
        ]
        self.counted = counted
        self.process = subprocess.Popen(
            [*(valgrind if counted else []), sys.executable, str(Path(__file__).resolve()), "--work"],
            cwd=checkout,
            env={
                **os.environ,
                "PYTHONPATH": str(checkout),
                "PYTHONHASHSEED": "0",
                "DATABASE_URL": database,
                "REDIS_URL": "redis://127.0.0.1:1/0",
                "DJANGO_SETTINGS_MODULE": "foretell.settings",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.read()

    def read(self) -> Any:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError("the process ended; see its error above")

    def round(self, turns: int) -> dict[str, float]:
        """Processor seconds of ``turns`` turns: ``python`` and ``postgres``."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{turns}\n")
        self.process.stdin.flush()
        found: dict[str, float] = self.read()
        return found

    def instructions(self, turns: int) -> int:
        """Instructions of this many turns in the Python process, which then ends."""
        assert self.counted is not None
        control = ["callgrind_control", str(self.process.pid)]
        subprocess.run([*control, "--instr=on"], check=True, stdout=subprocess.DEVNULL)
        self.round(turns)
        subprocess.run([*control, "--dump"], check=True, stdout=subprocess.DEVNULL)
        self.close()
        # The file without a number, which Valgrind writes at the end, counts the end of the process.
        lines = self.counted.with_name(f"{self.counted.name}.1").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("totals:"))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=10, help="Rounds of processor time; 0: none.")
    parser.add_argument("--turns", type=int, default=100, help="Turns of a round, and of the counted ones.")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    if not options.before:
        parser.error("--before: expected a folder with the earlier checkout")
    sys.path.insert(0, str(ROOT))
    from foretell.embedded import EmbeddedServers

    with tempfile.TemporaryDirectory(prefix="foretell-turns-") as directory:
        folder = Path(directory)
        servers = [EmbeddedServers(folder / name) for name in SIDES]
        sides: list[Side] = []
        try:
            databases = [one.start_postgres() for one in servers]
            checkouts = (options.before.resolve(), ROOT)
            sides = [Side(*one) for one in zip(checkouts, databases, strict=True)]
            if options.rounds:
                seconds(sides, options.rounds, options.turns)
            for side in sides:
                side.close()
            sides = []
            if shutil.which("valgrind"):
                counted = []
                for name, checkout, database in zip(SIDES, checkouts, databases, strict=True):
                    sides = [Side(checkout, database, folder / f"{name}.callgrind")]
                    counted.append(sides[0].instructions(options.turns) / options.turns)
                    print(f"{name}: {counted[-1]:,.0f} instructions a turn", flush=True)
                print(f"ratio, instructions: {counted[1] / counted[0]:.4f}")
        finally:
            for side in sides:
                if side.process.poll() is None:
                    side.process.kill()
            for one in servers:
                one.stop()


def seconds(sides: list[Side], rounds: int, turns: int) -> None:
    for side in sides:
        side.round(50)  # what is computed once
    found: list[list[dict[str, float]]] = [[], []]
    for number in range(rounds):
        # Whoever is second may find the processor's caches warm.
        for which in (0, 1) if number % 2 else (1, 0):
            found[which].append(sides[which].round(turns))
    print(f"{'':>8} {'Python, ms':>11} {'Postgres, ms':>13}")
    for name, rows in zip(SIDES, found, strict=True):
        python, postgres = (
            1000 * statistics.median(row[key] / turns for row in rows) for key in ("python", "postgres")
        )
        print(f"{name:>8} {python:>11.3f} {postgres:>13.3f}")
    for key in ("python", "postgres"):
        ratios = [after[key] / before[key] for before, after in zip(*found, strict=True)]
        print(f"ratio, {key}: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


def work() -> None:
    """Make the study unless the database has it, then carry out a round for each line."""
    own = str(Path(__file__).parent)
    sys.path[:] = [os.environ["PYTHONPATH"], *(entry for entry in sys.path if entry != own)]
    import django

    django.setup()
    turns = turns_of_one_person()
    next(turns)
    turns.send(20)  # what is computed once
    gc.collect()
    gc.freeze()  # as web processes do; a collection of everything would otherwise fall into one side's turns
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(turns.send(int(line))), flush=True)


def turns_of_one_person() -> Any:
    """A generator: for each number of turns that it is sent it carries them out and yields what they cost."""
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from annotator.models import Study, User
    from annotator.services.participation import instructions_finish, participation_join
    from benchmarks.core_loop.growth import grown
    from benchmarks.core_loop.load import FORM, INPUT, NAMED

    if "annotator_study" not in connection.introspection.table_names():
        call_command("migrate", verbosity=0)
        grown(ITEMS, 0)
    study = Study.objects.get(slug=f"growth-{ITEMS}")
    user = User.objects.create(username=f"turns-{User.objects.count()}")
    instructions_finish(participation=participation_join(study=study, user=user))
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    page = client.get(f"/study/{study.slug}/task/").content.decode()

    def turn() -> None:
        nonlocal page
        task = FORM.search(page)
        assert task is not None, page[:2000]
        data = {}
        for hidden in INPUT.findall(task.group(3)):
            name, value = (found.search(hidden) for found in NAMED)
            if name:
                data[name.group(1)] = value.group(1) if value else ""
        data |= {"helpful": "yes", "answer": "yes"}
        response = client.post(task.group(1), data, headers={"HX-Request": "true"})
        assert response.status_code == 200, response.status_code
        page = response.content.decode()

    number = yield
    while True:
        python, postgres = time.process_time(), backend_seconds()
        for _ in range(number):
            turn()
        number = yield {"python": time.process_time() - python, "postgres": backend_seconds() - postgres}


def backend_seconds() -> float:
    """Seconds of processor of this process's Postgres backend, to the nanosecond where the kernel counts them."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError):
        parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
