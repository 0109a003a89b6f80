"""``python -m benchmarks scale [--list] [--only NAME ...]``: repeat the figures of docs/scale.md, whose table names a command for each.

Each command runs once, in the table's order, however many rows name it; the whole takes hours, on a machine with nothing else to do. If one
fails, the others still run, and the command ends with 1.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "scale.md"


def commands(page: str) -> list[str]:
    r"""The commands in the last column of the table below *Measured*, each once.

    >>> commands("## Measured\n| what | figure | benchmark |\n|---|---|---|\n| a | 1 | `load` |\n| b | 2 | `load`, `llm --workers 2` |\n")
    ['load', 'llm --workers 2']
    """
    table = page.partition("## Measured\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    cells = [row.rstrip("| ").rpartition("|")[2] for row in rows[2:]]
    return list(dict.fromkeys(command for cell in cells for command in re.findall("`([^`]+)`", cell)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the commands without running them")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these benchmarks")
    options = parser.parse_args()
    listed = [shlex.split(command) for command in commands(PAGE.read_text(encoding="utf-8"))]
    if unknown := set(options.only) - {name for name, *_ in listed}:
        parser.error(f"docs/scale.md names no benchmark {', '.join(sorted(unknown))}")
    failed = []
    for command in listed:
        if options.only and command[0] not in options.only:
            continue
        if options.list:
            print(f"python -m benchmarks {shlex.join(command)}")
            continue
        print(f"\n== python -m benchmarks {shlex.join(command)}", flush=True)
        if subprocess.run([sys.executable, "-m", "benchmarks", *command], cwd=ROOT, check=False).returncode:
            failed.append(shlex.join(command))
    if failed:
        print(f"\nfailed: {'; '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
