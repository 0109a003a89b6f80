"""The process that reads a workbook: an .xlsx file on standard input, the rows of its first sheet as CSV on standard output.

    python -I workbook_process.py LIMITS < FILE > ROWS

``LIMITS`` is JSON: ``memory`` and ``output`` in bytes, ``seconds`` of processor time, ``unpacked`` bytes, ``rows`` and
``columns``. calamine loads a whole sheet, and a small file can hold a large one, so the operating system holds the limits.
A fault ends the process with status 3 and itself, as JSON, on standard error. The script imports nothing
of the product, so it starts quickly.
"""

from __future__ import annotations

import csv
import errno
import json
import re
import resource
import sys
import zipfile
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from typing import IO, Any, NoReturn
from xml.etree.ElementTree import Element
from xml.parsers import expat

from defusedxml.ElementTree import fromstring

REFUSED = 3
DAMAGED = "is not a readable Excel workbook"
#: Cells of a sheet from its first to its last row and column; calamine stores blank ones too.
MOST_CELLS = 10_000_000
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


def main() -> None:
    limits = json.loads(sys.argv[1])
    for kind, most in (
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_CPU, limits["seconds"]),
        (resource.RLIMIT_FSIZE, limits["output"]),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # a system without this limit, or with a lower one
            resource.setrlimit(kind, (most, most))
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    try:
        write_rows(sys.stdin.buffer, sys.stdout, limits)
        sys.stdout.flush()
    except SystemExit:
        raise
    except MemoryError:
        sys.exit(1)
    except BaseException as error:  # whatever zipfile, expat and calamine, whose panics aren't Exceptions, raise for a damaged file
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            sys.exit(1)
        refuse(DAMAGED)


def refuse(expected: str, line: int | None = None, field: str = "") -> NoReturn:
    fault = {"expected": expected, "line": line, "field": field}
    sys.stderr.write(f"\n{json.dumps(fault)}")  # after whatever a library has written there
    sys.exit(REFUSED)


def write_rows(file: IO[bytes], out: IO[str], limits: dict[str, int]) -> None:
    """Write one line per row, except for cells with line breaks; each row is at least as wide as the first one."""
    scan = SheetScan(limits)
    with zipfile.ZipFile(file) as book:
        if sum(member.file_size for member in book.infolist()) > limits["unpacked"]:
            refuse(f"unpacks to more than {limits['unpacked'] / 1e6:,.0f} MB, the most that is read")
        with book.open(first_sheet(book)) as xml:
            scan.parser.ParseFile(xml)
    file.seek(0)
    from python_calamine import CalamineWorkbook

    sheet = CalamineWorkbook.from_filelike(file).get_sheet_by_index(0)
    width, blank = 0, 0
    before = [""] * (sheet.start[1] if sheet.start else 0)  # rows begin at the first column that has a cell
    writer = csv.writer(out, lineterminator="\n")
    for number, row in enumerate(sheet.iter_rows(), start=1):
        cells = before + [text(value) for value in row]
        for column, error in scan.errors.get(number, ()):
            cells[column] = error
        if not any(cells):
            blank += 1  # blank rows at the end are left out
            continue
        while not cells[-1] and len(cells) > width:
            cells.pop()
        width = width or len(cells)
        writer.writerows([] for _ in range(blank))
        writer.writerow(cells)
        blank = 0


def first_sheet(book: zipfile.ZipFile) -> str:
    """The name of the file of the first sheet in the workbook's own order."""
    sheets = [e for e in fromstring(book.read("xl/workbook.xml")).iter() if local_name(e.tag) == "sheet"]
    if not sheets:
        refuse("has no sheet")
    wanted = next(value for name, value in sheets[0].items() if local_name(name) == "id")
    relations: list[Element] = list(fromstring(book.read("xl/_rels/workbook.xml.rels")))
    target = next(str(relation.get("Target")) for relation in relations if relation.get("Id") == wanted)
    return "xl/" + target.removeprefix("/xl/").removeprefix("xl/")


def local_name(name: str) -> str:
    return name.rpartition("}")[2]


class SheetScan:
    """What calamine doesn't tell about a sheet, read before it is loaded: how large it is, cells that hold an error, and
    formulas whose result wasn't stored."""

    def __init__(self, limits: dict[str, int]):
        self.limits = limits
        #: Row number, from 1 -> the columns, from 0, that hold an error such as #N/A.
        self.errors: dict[int, list[tuple[int, str]]] = {}
        self.row, self.column, self.widest = 0, -1, 0
        self.is_error = self.is_text = self.has_formula = self.has_value = False
        self.text: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator="}")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _doctype(self, *_: Any) -> None:
        refuse("contains a document type declaration, which Excel workbooks don't have")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = local_name(tag)
        if name == "v":
            # A formula whose result is an empty text is of type str; programs that don't compute write an empty v.
            self.has_value = self.is_text
            if self.is_error:
                self.parser.CharacterDataHandler = self.text.append
            elif self.has_formula and not self.has_value:
                self.parser.CharacterDataHandler = self._result
        elif name == "c":
            place = _CELL.fullmatch(attributes.get("r", ""))
            self.column = column_number(place[1]) if place else self.column + 1
            self.is_error, self.is_text = attributes.get("t") == "e", attributes.get("t") == "str"
            self.has_formula = self.has_value = False
            if self.column >= self.widest:
                self.widest = self.column + 1
                self._check_size()
        elif name == "row":
            self.row, self.column = int(attributes.get("r") or self.row + 1), -1
            self._check_size()
        elif name == "f":
            self.has_formula = True
        elif name == "mergeCell":
            refuse(
                f"has merged cells ({attributes.get('ref')}); expected a value in each cell: undo the merging and fill the cells"
            )

    def _result(self, _: str) -> None:
        self.has_value = True

    def _end(self, tag: str) -> None:
        name = local_name(tag)
        if name == "v":
            self.parser.CharacterDataHandler = None
        if name == "v" and self.is_error:
            self.has_value = True
            self.errors.setdefault(self.row, []).append((self.column, "".join(self.text)))
            self.text.clear()
        elif name == "c" and self.has_formula and not self.has_value:
            refuse(
                "is a formula whose result isn't stored in the file; open the file in a spreadsheet program, save it there and "
                "choose it again",
                line=self.row,
                field=f"column {self.column + 1}",
            )

    def _check_size(self) -> None:
        if self.row > self.limits["rows"]:
            refuse(f"expected at most {self.limits['rows']:,} rows")
        if self.widest > self.limits["columns"]:
            refuse(f"expected at most {self.limits['columns']} columns, got {self.widest:,}")
        if self.row * self.widest > MOST_CELLS:
            refuse(f"has more than {MOST_CELLS:,} cells; save it as CSV and choose that")


def column_number(letters: str) -> int:
    """Counted from 0: A, B ... Z, AA.

    >>> column_number("A"), column_number("Z"), column_number("AA")
    (0, 25, 26)
    """
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def text(value: Any) -> str:
    """A cell as text: whole numbers without a fraction, true and false in lower case, dates as in ISO 8601, to the second.

    >>> text(3.0), text(0.5), text(True), text(datetime(2024, 1, 31, 12)), text(time(6)), text(timedelta(days=1.5))
    ('3', '0.5', 'true', '2024-01-31 12:00:00', '06:00:00', '36:00:00')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime):
        return f"{value + timedelta(microseconds=500_000):%Y-%m-%d %H:%M:%S}"
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    if isinstance(value, time):
        return f"{value:%H:%M:%S}"
    return value.isoformat() if isinstance(value, date) else str(value)


if __name__ == "__main__":
    main()
