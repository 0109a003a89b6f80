"""The same ratings give the same intervals: in every process, and whatever the order of the rows."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np

from foretell import env


def rows() -> list[str]:
    rng = np.random.default_rng(5)
    return [
        f"{rater},u{unit:02d},doc-{unit % 12},{label}"
        for unit in range(60)
        for rater in ("ann", "bob", "cy")
        for label in [rng.choice(["yes", "no", "yes", "cannot"])]
    ]


def agreement(path: Path, seed: str) -> str:
    command = [
        *(sys.executable, "manage.py", "agreement", str(path), "--rater", "r", "--unit", "u", "--value", "v"),
        *("--cluster", "d", "--format", "json"),
    ]
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(
        command, cwd=env.ROOT, env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    return done.stdout


def test_intervals_by_clusters_do_not_depend_on_the_process_or_on_the_order_of_the_rows(
    tmp_path: Path,
) -> None:
    lines = rows()
    given, shuffled = tmp_path / "r.csv", tmp_path / "s" / "r.csv"
    shuffled.parent.mkdir()
    given.write_text("\n".join(["r,u,d,v", *lines]))
    random.Random(1).shuffle(lines)
    shuffled.write_text("\n".join(["r,u,d,v", *lines]))
    first = agreement(given, "0").replace(str(given), "")
    assert '"low"' in first
    assert agreement(shuffled, "1").replace(str(shuffled), "") == first
