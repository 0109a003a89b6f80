"""Two hundred people from the stand-in of a panel: ``python -m benchmarks panel [PEOPLE]``. Prints the seconds that the whole study takes.

It is the fault test of the same name, with as many people: places, codes, decisions and money must agree at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = "tests/faults/test_panel_crowd.py"


def main() -> int:
    people = sys.argv[1] if len(sys.argv) > 1 else "200"
    # As a benchmark it takes longer than a test may.
    command = [sys.executable, "-m", "pytest", "-q", "--durations=1", "-o", "faulthandler_timeout=0", TEST]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, "CROWD_PEOPLE": people}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
