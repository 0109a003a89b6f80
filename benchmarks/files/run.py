"""Imports of material with all checks, exports of judgments as CSV, workbooks larger than they look, large JSON lists,
and releases made to break a check: time and memory.

    make bench ARGS="files [--items 20000 200000] [--judgments 60000 600000]"

Each size runs in its own process on the database that ``make bench`` starts. Seconds are elapsed time and processor time, for
this process and for its Postgres; memory is the process's peak above its idle state.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _postgres() -> float:
    """Seconds of processor time that our connection's Postgres process has used, if it runs on this machine."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _django() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    import django

    django.setup()


def write_material(path: Path, items: int) -> None:
    """Validated, distinct rows of yes/no simulation: four systems, ten follow-ups per explanation."""
    with path.open("w") as file:
        for number in range(items):
            explanation = number // 10
            row = {
                "key": f"item-{number}",
                "instance": f"bird-{explanation // 4}",
                "system": f"system-{explanation % 4}",
                "question": f"Can bird {explanation // 4} fly?",
                "explanation": f"Explanation {explanation}: " + "all birds can fly. " * 12,
                "answer": "yes",
                "follow_up": f"Can its chick {number} fly?",
                "real_output": "no" if number % 3 else "yes",
            }
            file.write(json.dumps(row) + "\n")


def imported(items: int) -> dict[str, float]:
    _django()
    from annotator.services.imports.material_import import material_import
    from annotator.services.study import study_create

    study = study_create(
        by=None, hit_type="simulation", slug=f"import-{items}-{time.time_ns()}", title="Import"
    )
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "material.jsonl"
        write_material(path, items)
        idle, used, theirs, start = _peak(), time.process_time(), _postgres(), time.perf_counter()
        with path.open("rb") as file:
            result = material_import(study=study, file=file, name=path.name)
        seconds, processor = time.perf_counter() - start, time.process_time() - used
    assert result.items == items
    theirs = _postgres() - theirs
    return {"seconds": seconds, "processor": processor, "postgres": theirs, "MB above idle": _peak() - idle}


def exported(judgments: int) -> dict[str, float]:
    _django()
    from annotator.services.exports import judgments_export
    from benchmarks.report.__main__ import study_of

    study = study_of(judgments)
    idle, used, theirs, start = _peak(), time.process_time(), _postgres(), time.perf_counter()
    size = 0
    for chunk in judgments_export(study=study):
        size += len(chunk)
    return {
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - used,
        "postgres": _postgres() - theirs,
        "MB above idle": _peak() - idle,
        "MB of file": size / 2**20,
    }


def hostile(millions: int) -> dict[str, float]:
    """A workbook with this many million blank texts (25 kB each million), read or refused."""
    from annotator.core.tables.faults import FaultLog, FileRefused
    from annotator.core.tables.workbook import workbook_as_csv
    from tests.annotator.services.imports.workbooks import MAIN, TEXTS, changed

    content = changed(TEXTS, f"<sst {MAIN}>{'<si><t/></si>' * (millions * 1_000_000)}</sst>")
    idle, start = _peak(), time.perf_counter()
    with suppress(FileRefused):
        workbook_as_csv(
            io.BytesIO(content),
            most_bytes=500_000_000,
            most_rows=2_000_000,
            most_columns=500,
            log=FaultLog("x"),
        )
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": time.perf_counter() - start,
        "processor": children.ru_utime + children.ru_stime,
        "MB of its process": children.ru_maxrss / 1024,
        "MB above idle": _peak() - idle,
    }


def json_list(megabytes: int) -> dict[str, float]:
    """A JSON list of this many MB, in objects of 1 kB, read as a dataset's file is; a negative number: of one object, refused."""
    from annotator.core.tables.faults import FaultLog, FileRefused
    from annotator.core.tables.plain_file import Limits
    from annotator.core.tables.rows import table_open

    with tempfile.TemporaryFile() as file:
        file.write(b'[{"question": "')
        for number in range(abs(megabytes) * 1024):
            file.write(b"x" * 1024 if megabytes < 0 else b'%1000d"},\n{"question": "' % number)
        file.write(b'"}]')
        idle, used, start = _peak(), time.process_time(), time.perf_counter()
        limits = Limits(size=2 * abs(megabytes) * 2**20, rows=10_000_000)
        rows = 0
        with suppress(FileRefused):
            rows = sum(
                1 for _ in table_open(file, name="x.json", log=FaultLog("x"), limits=limits, lists=True).rows
            )
        return {
            "seconds": time.perf_counter() - start,
            "processor": time.process_time() - used,
            "MB above idle": _peak() - idle,
            "rows": rows,
        }


def archive(megabytes: int) -> dict[str, float]:
    """A release with a table of one line of this many MB that ends nowhere, refused."""
    _django()
    from evaluation.releases.archive import CONTENTS, ArchiveError, Writer, table_file
    from evaluation.releases.reading import release_open
    from evaluation.releases.signature import private_make

    file = io.BytesIO()
    writer = Writer(file)
    for name in CONTENTS:
        endless = name == table_file("item")
        writer.add(name, (b"x" * 2**20 for _ in range(megabytes if endless else 0)))
    writer.close({}, private=private_make())
    idle, used, start = _peak(), time.process_time(), time.perf_counter()
    refused = 0.0
    try:
        list(release_open(file).rows()["item"])
    except ArchiveError:
        refused = 1.0
    return {
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - used,
        "MB above idle": _peak() - idle,
        "MB of file": len(file.getvalue()) / 2**20,
        "refused": refused,
    }


def one(name: str, size: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.files.run", "--one", name, str(size)],
        cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--judgments", type=int, nargs="+", default=[60_000, 600_000])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, size = options.one
        print(
            json.dumps(
                {
                    "imported": imported,
                    "exported": exported,
                    "hostile": hostile,
                    "archive": archive,
                    "json_list": json_list,
                }[name](int(size))
            )
        )
        return
    for millions in (10, 35):
        found = one("hostile", millions)
        print(
            f"workbook of {millions} million blank texts: {found['seconds']:.1f} s, its process {found['MB of its process']:.0f} MB, "
            f"the caller {found['MB above idle']:.0f} MB above idle",
            flush=True,
        )
    for megabytes in (10, 95, -95):
        found = one("json_list", megabytes)
        print(
            f"JSON list of {abs(megabytes)} MB{' in one object' if megabytes < 0 else ''}: {found['rows']:,.0f} rows after "
            f"{found['seconds']:.1f} s, {found['MB above idle']:.0f} MB above idle",
            flush=True,
        )
    for megabytes in (31, 1_500):
        found = one("archive", megabytes)
        print(
            f"release with a line of {megabytes} MB ({found['MB of file']:.1f} MB packed): "
            f"{'refused' if found['refused'] else 'READ'} after {found['seconds']:.1f} s, {found['MB above idle']:.0f} MB above idle",
            flush=True,
        )
    print(f"{'':<10} {'rows':>10} {'seconds':>8} {'processor':>10} {'of Postgres':>12} {'MB above idle':>14}")
    for name, sizes in (("imported", options.items), ("exported", options.judgments)):
        for size in sizes:
            found = one(name, size)
            print(
                f"{name:<10} {size:>10,} {found['seconds']:>8.2f} {found['processor']:>10.2f} {found['postgres']:>12.2f} "
                f"{found['MB above idle']:>14.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
