"""Workbooks that are larger than they look, and cells that have no value to read."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.core.tables.workbook import MEMORY_BYTES, workbook_as_csv
from tests.annotator.services.imports.workbooks import MAIN, SHEET, TEXTS, changed, workbook


def sheet(body: str) -> bytes:
    return changed(SHEET, f"<worksheet {MAIN}><sheetData>{body}</sheetData></worksheet>")


def rows_of(content: bytes) -> list[list[str]]:
    found = workbook_as_csv(
        io.BytesIO(content),
        most_bytes=500_000_000,
        most_rows=2_000_000,
        most_columns=500,
        log=FaultLog("x.xlsx"),
    )
    return list(csv.reader(io.TextIOWrapper(found, encoding="utf-8", newline="")))


def refused(content: bytes) -> str:
    with pytest.raises(FileRefused) as caught:
        rows_of(content)
    return str(caught.value)


def test_two_cells_far_apart_are_refused_before_the_sheet_is_loaded() -> None:
    content = sheet('<row r="1"><c r="A1"><v>1</v></c></row><row r="9"><c r="XFD9"><v>1</v></c></row>')
    assert refused(content) == "x.xlsx: expected at most 500 columns, got 16,384"
    content = sheet('<row r="1048576"><c r="J1048576"><v>1</v></c></row>')
    assert refused(content) == "x.xlsx: has more than 10,000,000 cells; save it as CSV and choose that"
    content = sheet('<row r="2000002"><c r="A2000002"><v>1</v></c></row>')
    assert refused(content) == "x.xlsx: expected at most 2,000,001 rows"


MEASURED = """
import io, resource, sys
from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.core.tables.workbook import workbook_as_csv
content = open(sys.argv[1], "rb").read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    workbook_as_csv(io.BytesIO(content), most_bytes=500_000_000, most_rows=2_000_000, most_columns=500, log=FaultLog("x.xlsx"))
except FileRefused as error:
    print(error)
own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(own * 1024, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda: changed(TEXTS, f"<sst {MAIN}><si><t>{'x' * 300_000_000}</t></si></sst>"), id="one long text"),
        pytest.param(lambda: changed(TEXTS, f"<sst {MAIN}>{'<si><t/></si>' * 30_000_000}</sst>"), id="many texts"),
    ],
)  # fmt: skip
def test_a_workbook_that_expands_costs_the_caller_no_memory(content, tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    path.write_bytes(content())
    assert path.stat().st_size < 1_000_000
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=True
    )
    message, sizes = done.stdout.splitlines()
    assert "needs more than 512 MB of memory or 30 seconds to read; save it as CSV" in message
    own, child = map(int, sizes.split())
    assert own < 20_000_000
    assert child < MEMORY_BYTES


def cell(content: str) -> bytes:
    """A workbook whose cell B2 is ``content``."""
    with zipfile.ZipFile(io.BytesIO(workbook([["a", "b"], ["x", 1]]))) as book:
        text = book.read(SHEET).decode()
    return changed(SHEET, re.sub(r'<c r="B2"><v>1</v></c>', content, text))


def test_a_formula_without_its_result_is_named() -> None:
    assert rows_of(cell('<c r="B2"><f>1+1</f><v>2</v></c>')) == [["a", "b"], ["x", "2"]]
    assert rows_of(cell('<c r="B2" t="str"><f>""</f><v></v></c>')) == [["a", "b"], ["x", ""]]
    assert rows_of(cell('<c r="B2" t="str"><f>"a"</f><v>a</v></c>')) == [["a", "b"], ["x", "a"]]
    for stored in ("", "<v></v>", "<v/>"):  # openpyxl writes an empty v
        message = refused(cell(f'<c r="B2"><f>1+1</f>{stored}</c>'))
        assert message.startswith(
            "x.xlsx:2: column 2: is a formula whose result isn't stored in the file; open"
        )


def test_cells_with_an_error_keep_it() -> None:
    assert rows_of(cell('<c r="B2" t="e"><v>#DIV/0!</v></c>')) == [["a", "b"], ["x", "#DIV/0!"]]
    assert rows_of(cell('<c r="B2" t="e"><f>NA()</f><v>#N/A</v></c>')) == [["a", "b"], ["x", "#N/A"]]
