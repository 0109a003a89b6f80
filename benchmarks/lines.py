"""Lines of Python by package, without migrations, tests and benchmarks: ``make lines``, or ``... lines.py ROOT`` for another checkout."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

APPLICATIONS = ("annotator", "evaluation", "foretell")


def count(root: Path) -> Counter[str]:
    """Package, such as ``annotator/services`` -> lines, with blank ones and comments."""
    lines: Counter[str] = Counter()
    for application in APPLICATIONS:
        for path in (root / application).rglob("*.py"):
            parts = path.relative_to(root).parts
            if "migrations" not in parts:
                lines["/".join(parts[: min(2, len(parts) - 1)])] += len(path.read_bytes().splitlines())
    return lines


def table(lines: Counter[str]) -> str:
    """One row a package, then the applications and the sum."""
    rows = sorted(lines.items())
    sums = [(name, sum(n for package, n in rows if package.split("/")[0] == name)) for name in APPLICATIONS]
    every = [*rows, *((f"{name} in all", n) for name, n in sums), ("all", sum(lines.values()))]
    return "\n".join(f"{n:>7,}  {name}" for name, n in every)


if __name__ == "__main__":
    print(table(count(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])))
