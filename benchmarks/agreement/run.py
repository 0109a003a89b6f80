"""Measure agreement at scale and write ``results.json`` and ``results.md`` beside this file.

    python -m benchmarks.agreement.run [speed] [bootstrap] [growth] [validity]

Without names everything runs (an hour, most of it ``validity``). Each measurement has its own process; implementations that
are compared take turns. Times are medians of the rounds. On a shared machine, compare the implementations, not the seconds.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHAPES = {
    "A: 100,000 units x 10 of 500 raters": (1_000_000, 10, 500),
    "B: 333,333 units x 3 of 500 raters": (1_000_000, 3, 500),
}
SIDES = ("ours", "krippendorff_package", "scikit_learn", "crowd_kit")
GROWTH = (10_000, 100_000, 1_000_000, 10_000_000)
ROUNDS = 3


def one(name: str, *arguments: int) -> dict[str, Any]:
    """A measurement in a separate process."""
    command = [sys.executable, "-m", "benchmarks.agreement.one", name, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def median(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The last round, its seconds and memory replaced by medians."""
    result = dict(rounds[-1])
    if "seconds" in result:
        result["seconds"] = {
            key: statistics.median(found["seconds"][key] for found in rounds) for key in result["seconds"]
        }
    result["peak MB"] = round(statistics.median(found["peak MB"] for found in rounds), 1)
    return result


def speed() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for shape, arguments in SHAPES.items():
        rounds: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
        for number in range(ROUNDS):
            for side in SIDES:
                if side == "ours" or number == 0:  # the slow implementations run once, between ours
                    rounds[side].append(one(side, *arguments))
        results[shape] = {side: median(found) for side, found in rounds.items()}
    return results


def bootstrap() -> dict[str, Any]:
    return {
        "100,000 judgments, 10 a unit, 50 raters": median(
            [one("bootstrap", 100_000, 10, 50) for _ in range(ROUNDS)]
        ),
        "100,000 judgments, 3 a unit, 50 raters": median(
            [one("bootstrap", 100_000, 3, 50) for _ in range(ROUNDS)]
        ),
        "1,000,000 judgments, 10 a unit, 500 raters": one("bootstrap", 1_000_000, 10, 500),
    }


def growth() -> dict[str, Any]:
    rounds: dict[int, list[dict[str, Any]]] = {size: [] for size in GROWTH}
    for _ in range(ROUNDS):
        for size in GROWTH:
            rounds[size].append(one("ours", size, 5, 50))
    return {str(size): median(found) for size, found in rounds.items()}


def validity(studies: int = 1000) -> dict[str, Any]:
    from tests.evaluation.agreement import simulate

    with ProcessPoolExecutor(2) as pool:
        covered = {
            name: pool.submit(simulate.coverage, name, studies=studies, seed=1)
            for name in ("alpha", "kappa", "precision")
        }
        tests = ("permutation", "bootstrap", "t-test", "alternative annotator test")
        rejected = {name: pool.submit(simulate.rejections, name, studies=studies, seed=2) for name in tests}
        return {
            "studies": studies,
            "coverage of 95 % intervals": {name: found.result() for name, found in covered.items()},
            "type I error at 5 %": {name: found.result() for name, found in rejected.items()},
        }


def machine() -> dict[str, Any]:
    import numpy
    import scipy

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory GB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "load while measuring": round(os.getloadavg()[0], 1),
    }


def markdown(results: dict[str, Any]) -> str:
    lines = ["# Agreement: last results", "", "`python -m benchmarks.agreement.run`. The load counts processes that wanted a "
             "core; above the number of cores all seconds are longer than on an idle machine, on both sides.", ""]  # fmt: skip
    for part, found in results.items():
        lines += [f"## {part}", ""]
        lines += [
            f"measured on: {', '.join(f'{key} {value}' for key, value in found['machine'].items())}",
            "",
        ]
        lines += [*WRITERS[part](found["results"]), ""]
    return "\n".join(lines).rstrip() + "\n"


def _speed_lines(results: dict[str, Any]) -> list[str]:
    lines = [
        "Seconds of processor (in brackets: of the clock, which other work on the machine lengthens).",
        "",
    ]
    lines += ["| | " + " | ".join(results) + " |", "|---" * (len(results) + 1) + "|"]
    shapes = list(results.values())
    titles = {
        "ours": "ours",
        "krippendorff_package": "krippendorff, alpha",
        "scikit_learn": "scikit-learn, cohen_kappa_score",
        "crowd_kit": "crowd-kit",
    }
    for side, title in titles.items():
        measured = [shape[side] for shape in shapes]
        keys = dict.fromkeys(
            k for found in measured for k in found["seconds"] if not k.endswith("(processor)")
        )
        for key in keys:
            lines.append(
                f"| {title}: {key} | "
                + " | ".join(_seconds(found["seconds"], key) for found in measured)
                + " |"
            )
        lines.append(
            f"| {title}: peak memory | "
            + " | ".join(f"{found['peak MB']:.0f} MB" for found in measured)
            + " |"
        )
        if side != "ours":
            differences = " | ".join(f"{found['difference']:.1e}" for found in measured)
            lines.append(f"| {title}: largest difference from ours | {differences} |")
    return lines


def _seconds(times: dict[str, float], key: str) -> str:
    if key not in times:
        return "-"
    used = times.get(f"{key} (processor)")
    return f"{used:.3f} ({times[key]:.2f})" if used is not None else f"({times[key]:.2f})"


def _bootstrap_lines(results: dict[str, Any]) -> list[str]:
    lines = [
        "1,000 replicates; seconds of processor (in brackets: of the clock).",
        "",
        "| | alpha, percent, AC1, Fleiss | mean kappa (pairs) | precision | resampling rows | peak |",
        "|---|---|---|---|---|---|",
    ]
    for shape, found in results.items():
        columns = (
            _seconds(found["seconds"], key)
            for key in ("alpha, percent, AC1, Fleiss", "mean kappa", "precision")
        )
        alpha, kappa, precision = columns
        lines.append(
            f"| {shape} | {alpha} | {kappa}, {found['pairs averaged']:,} pairs | {precision} "
            f"| {found.get('resampling rows, seconds of processor', float('nan')):.0f} | {found['peak MB']:.0f} MB |"
        )
    return lines


def _growth_lines(results: dict[str, Any]) -> list[str]:
    lines = ["Everything (order, alpha, all kappas, raters with the rest, Dawid-Skene), 5 a unit of 50 raters.", "",
             "| judgments | seconds | processor | growth | peak MB | MB above the start | growth |", "|---|---|---|---|---|---|---|"]  # fmt: skip
    before = None
    for size, found in results.items():
        used, memory = found["seconds"]["all (processor)"], found["peak MB"] - found["MB before"]
        more = ("", "") if before is None else (f"x {used / before[0]:.1f}", f"x {memory / before[1]:.1f}")
        lines.append(
            f"| {int(size):,} | {found['seconds']['all']:.3f} | {used:.3f} | {more[0]} | {found['peak MB']:.0f} | {memory:.1f} | {more[1]} |"
        )
        before = used, max(memory, 0.1)
    return lines


def _validity_lines(results: dict[str, Any]) -> list[str]:
    lines = [f"{results['studies']:,} simulated studies each (`tests/evaluation/agreement/simulate.py`).", ""]
    for title in ("coverage of 95 % intervals", "type I error at 5 %"):
        lines += [
            f"| {title} | |",
            "|---|---|",
            *(f"| {k} | {v:.1%} |" for k, v in results[title].items()),
            "",
        ]
    return lines[:-1]


PARTS = {"speed": speed, "bootstrap": bootstrap, "growth": growth, "validity": validity}
WRITERS = {
    "speed": _speed_lines,
    "bootstrap": _bootstrap_lines,
    "growth": _growth_lines,
    "validity": _validity_lines,
}


def main() -> None:
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for part in sys.argv[1:] or PARTS:
        results[part] = {"results": PARTS[part](), "machine": machine()}
        path.write_text(json.dumps(results, indent=1) + "\n")
        (HERE / "results.md").write_text(markdown(results))
        print(f"{part} done")


if __name__ == "__main__":
    main()
