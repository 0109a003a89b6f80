"""Print the oldest supported Python of this machine if it's older than the one that runs this; otherwise nothing.

`make test` runs the tests of start, backup, restore and upgrade with it too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
ASK = "import sys; print(*sys.version_info[:3])"
NAMES = ("python3.11", "python3.12", "python3.13", "python3")


def version(program: Path) -> tuple[int, ...]:
    """Its version; (0,) if it doesn't run, as a shim of pyenv whose version isn't enabled."""
    done = subprocess.run([program, "-c", ASK], capture_output=True, text=True, check=False)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else (0,)


def older(running: tuple[int, ...], folders: list[str]) -> Path | None:
    """The program with the lowest version from 3.11 on in these folders, if that is lower than ``running``."""
    programs = [Path(folder, name) for folder in folders for name in NAMES]
    versions = {program: version(program) for program in programs if os.access(program, os.X_OK)}
    supported = {program: found for program, found in versions.items() if OLDEST <= found < running}
    return min(supported, key=lambda program: supported[program], default=None)


if __name__ == "__main__":
    folders = [*os.environ.get("PATH", os.defpath).split(os.pathsep), "/usr/bin", "/usr/local/bin"]
    print(older(sys.version_info[:3], folders) or "")
