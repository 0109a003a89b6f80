"""Read the first sheet of an Excel workbook (.xlsx) as CSV, in a process whose memory and time are limited."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from typing import IO

from annotator.core.tables import workbook_process
from annotator.core.tables.faults import FaultLog

#: What the process that reads a workbook may use. 512 MB are enough for 10,000,000 cells of numbers, or for 1,000,000 rows
#: with a few short texts each.
MEMORY_BYTES = 512_000_000
SECONDS = 30


def workbook_as_csv(
    file: IO[bytes], *, most_bytes: int, most_rows: int, most_columns: int, log: FaultLog
) -> IO[bytes]:
    """The rows of the first sheet as CSV, in a temporary file: one line per row, except for cells with line breaks.

    Whole numbers have no fraction and dates are written as 2024-01-31. Raises ``FileRefused`` for a damaged or too large
    workbook, one that needs more than ``MEMORY_BYTES`` or ``SECONDS``, and sheets with merged cells, whose value is stored
    for the first one only, or with formulas whose result isn't stored.
    """
    limits = {
        "memory": MEMORY_BYTES, "seconds": SECONDS, "output": most_bytes,
        "unpacked": most_bytes, "rows": most_rows + 1, "columns": most_columns,
    }  # fmt: skip
    command = [sys.executable, "-I", workbook_process.__file__, json.dumps(limits)]
    rows = tempfile.TemporaryFile()  # noqa: SIM115 - returned
    with tempfile.TemporaryFile() as source:
        shutil.copyfileobj(file, source)
        source.seek(0)
        try:
            done = subprocess.run(  # noqa: S603 - a script of ours
                command, stdin=source, stdout=rows, stderr=subprocess.PIPE, timeout=4 * SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            done = None
    if done is not None and done.returncode == workbook_process.REFUSED:
        log.refuse(**json.loads(done.stderr.splitlines()[-1]))
    if done is None or done.returncode:
        log.refuse(
            f"needs more than {MEMORY_BYTES // 1_000_000} MB of memory or {SECONDS} seconds to read; save it as CSV and choose "
            "that"
        )
    rows.seek(0)
    return rows
