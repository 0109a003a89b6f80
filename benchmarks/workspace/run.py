"""The backup of a workspace with one large study, and its restore beside it: seconds, memory and the file's size.

    make bench ARGS="workspace [--judgments 30000 100000]"

Each command runs in its own process, without encryption by a passphrase, whose cost is the same for every size.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")


def workspace_of(judgments: int) -> int:
    """The number of a workspace with a study of so many judgments, which is created if it doesn't exist."""
    from annotator.models import Dataset, Study, System, User
    from annotator.services.workspace import workspace_create
    from benchmarks.report.__main__ import study_of

    study = study_of(judgments)
    if study.workspace is None:
        owner, _ = User.objects.get_or_create(username="benchmark", is_staff=True)
        workspace = workspace_create(by=owner, name=f"{judgments:,} judgments")
        Study.objects.filter(pk=study.pk).update(workspace=workspace)
        Dataset.objects.filter(name=study.slug).update(workspace=workspace)
        System.objects.filter(name__startswith=f"{study.slug}-").update(workspace=workspace)
        return workspace.pk
    return study.workspace.pk


def measured(*words: str) -> dict[str, float]:
    """A command in a process of its own: what it took."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.workspace.run", "--command", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    idle, peak, processor = done.stdout.split()[-3:]
    return {
        "seconds": time.perf_counter() - start,
        "processor": float(processor),
        "idle": int(idle),
        "peak": int(peak),
    }


def command(words: list[str]) -> None:
    """Carry a command out in this process, and print its memory before and at its peak in MB, and its processor seconds."""
    import django

    django.setup()
    from django.core.management import call_command

    idle, used = _peak(), time.process_time()
    call_command(*words)
    print(idle, _peak(), f"{time.process_time() - used:.2f}")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, nargs="+", default=[30_000, 100_000])
    parser.add_argument("--command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.command:
        command(options.command)
        return
    import django

    django.setup()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "key").write_bytes(os.urandom(32))
        using = ["--key-file", str(folder / "key")]
        print(
            "| judgments | step | elapsed s | processor s | idle MB | peak MB | file MB |\n|---|---|---|---|---|---|---|"
        )
        for judgments in options.judgments:
            workspace, path = workspace_of(judgments), folder / f"{judgments}.backup"
            backup = measured("workspace_backup", str(workspace), str(path), *using)
            restore = measured("workspace_restore", str(path), "--as", f"Again {time.time_ns()}", *using)
            size = path.stat().st_size / 1e6
            for name, one in (("backup", backup), ("restore", restore)):
                print(
                    f"| {judgments:,} | {name} | {one['seconds']:.1f} | {one['processor']:.1f} | {one['idle']:.0f} | {one['peak']:.0f} | {size:.1f} |"
                )


if __name__ == "__main__":
    main()
