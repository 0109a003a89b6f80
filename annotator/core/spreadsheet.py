"""Read the first sheet of an Excel workbook (.xlsx) as rows of text, with the standard library only.

A workbook is a zip archive of XML files (ECMA-376). A cell holds a number, a shared or inline text, true or false, or
an error. A date is stored as a number of days with a date format, and is read as ISO 8601 writes it: 2024-01-31.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import IO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml import ElementTree as defused

from annotator.core.archives import ARCHIVE_ERRORS

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CELL = re.compile(r"([A-Z]{1,3})([0-9]+)")
#: Formats of dates and times that every workbook has (ECMA-376, 18.8.30; 27-36 and 50-58 in East Asia).
_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
#: What a format shows as it is: quoted text, an escaped character, colours and conditions.
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_DATE_LETTERS = re.compile("[dmyhs]", re.IGNORECASE)
#: Excel takes 1900 for a leap year, so from March 1900 on its dates count from this day.
FIRST_DAY = datetime(1899, 12, 30, tzinfo=UTC)
#: 31 December 9999, the last date of a workbook.
_LAST_DAY = 2_958_466
_NUMBER_FORMAT = re.compile("general|[0#?]", re.IGNORECASE)


class UnreadableSheet(ValueError):
    """A workbook that can't be read; the message says why."""


@dataclass(frozen=True)
class _Book:
    """What the cells of a sheet refer to: shared texts, the styles that show a date, and the day from which dates count."""

    shared: list[str]
    dates: frozenset[int] = frozenset()
    start: datetime = FIRST_DAY


def sheet_rows(file: IO[bytes], *, most_bytes: int) -> Iterator[list[str]]:
    """The rows of the first sheet from the top, blank ones as empty lists; cells as text, whole numbers without a
    fraction. Refuses workbooks that unpack to more than ``most_bytes`` or contain a document type declaration, and at the
    end sheets with merged cells, whose value is stored for the first one only. Raises ``UnreadableSheet``.
    """
    try:
        with zipfile.ZipFile(file) as book:
            if sum(member.file_size for member in book.infolist()) > most_bytes:
                raise UnreadableSheet(
                    f"unpacks to more than {most_bytes / 1e6:,.0f} MB, the most that is read"
                )
            found = _Book(list(_shared_texts(book)), _date_styles(book), _first_day(book))
            with book.open(_first_sheet(book)) as sheet:
                yield from _rows(sheet, found)
    except DefusedXmlException:
        raise UnreadableSheet(
            "contains a document type declaration, which Excel workbooks don't have"
        ) from None
    except UnreadableSheet:
        raise
    except (*ARCHIVE_ERRORS, ParseError):
        raise UnreadableSheet("is not a readable Excel workbook") from None


def _parsed(book: zipfile.ZipFile, name: str) -> Element:
    return defused.fromstring(book.read(name), forbid_dtd=True)


def _first_sheet(book: zipfile.ZipFile) -> str:
    """The name of the file of the first sheet in the workbook's own order."""
    first = next(_parsed(book, "xl/workbook.xml").iter(f"{_MAIN}sheet"), None)
    if first is None:
        raise UnreadableSheet("has no sheet")
    wanted = first.get(f"{_RELATIONS}id")
    for relation in _parsed(book, "xl/_rels/workbook.xml.rels"):
        if relation.get("Id") == wanted:
            return "xl/" + str(relation.get("Target")).removeprefix("/xl/").removeprefix("xl/")
    raise KeyError(wanted)


def _shared_texts(book: zipfile.ZipFile) -> Iterator[str]:
    if "xl/sharedStrings.xml" in book.namelist():
        for entry in _parsed(book, "xl/sharedStrings.xml").iter(f"{_MAIN}si"):
            yield _text_of(entry)


def _date_styles(book: zipfile.ZipFile) -> frozenset[int]:
    """The styles of cells whose number is shown as a date or time."""
    if "xl/styles.xml" not in book.namelist():
        return frozenset()
    styles = _parsed(book, "xl/styles.xml")
    own = {
        int(entry.get("numFmtId") or 0): _LITERAL.sub("", entry.get("formatCode") or "").split(";")[0]
        for entry in styles.iter(f"{_MAIN}numFmt")
    }
    dates = {
        number
        for number, shown in own.items()
        if _DATE_LETTERS.search(shown) and not _NUMBER_FORMAT.search(re.sub(r"[.,]0+", "", shown))
    }
    dates |= _DATE_FORMATS - set(own)
    used = styles.find(f"{_MAIN}cellXfs")
    formats = [] if used is None else [int(entry.get("numFmtId") or 0) for entry in used]
    return frozenset(place for place, number in enumerate(formats) if number in dates)


def _first_day(book: zipfile.ZipFile) -> datetime:
    """Day 0 of the workbook."""
    options = next(_parsed(book, "xl/workbook.xml").iter(f"{_MAIN}workbookPr"), None)
    from_1904 = options is not None and options.get("date1904") in ("1", "true")
    return datetime(1904, 1, 1, tzinfo=UTC) if from_1904 else FIRST_DAY


def _text_of(entry: Element) -> str:
    """A text, in one piece or in runs of different formats; phonetic guides of Asian scripts are left out."""
    runs = [entry, *entry.findall(f"{_MAIN}r")]
    return "".join(text.text or "" for run in runs for text in run.findall(f"{_MAIN}t"))


def _rows(sheet: IO[bytes], book: _Book) -> Iterator[list[str]]:
    before = 0
    for _, element in defused.iterparse(sheet, events=["end"], forbid_dtd=True):
        if element.tag == f"{_MAIN}row":
            number = int(element.get("r") or before + 1)
            yield from ([] for _ in range(min(number - before - 1, 1_000_000)))
            before = number
            yield _cells(element, book)
            element.clear()
        elif element.tag == f"{_MAIN}mergeCell":
            raise UnreadableSheet(
                f"has merged cells ({element.get('ref')}); expected a value in each cell: undo the merging and fill the cells"
            )


def _cells(row: Element, book: _Book) -> list[str]:
    cells: list[str] = []
    for cell in row.iter(f"{_MAIN}c"):
        place = _CELL.fullmatch(cell.get("r") or "")
        column = _column_number(place.group(1)) if place else len(cells)
        cells += [""] * (column - len(cells))
        cells.append(_value(cell, book))
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _column_number(letters: str) -> int:
    """Counted from 0: A, B ... Z, AA.

    >>> _column_number("A"), _column_number("Z"), _column_number("AA")
    (0, 25, 26)
    """
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _value(cell: Element, book: _Book) -> str:
    kind = cell.get("t") or "n"
    if kind == "inlineStr":
        inline = cell.find(f"{_MAIN}is")
        return _text_of(inline) if inline is not None else ""
    found = cell.find(f"{_MAIN}v")
    text = (found.text or "") if found is not None else ""
    if kind == "s":
        return book.shared[int(text)] if text else ""
    if kind == "b":
        return {"1": "true", "0": "false"}.get(text, text)
    if kind == "n" and text:
        number = float(text)
        if int(cell.get("s") or 0) in book.dates and 0 <= number < _LAST_DAY:
            return _date_text(number, book.start)
        return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)
    return text


def _date_text(days: float, start: datetime) -> str:
    """A date, a date with a time, or a time alone, to the second.

    >>> _date_text(45322, FIRST_DAY), _date_text(45322.5, FIRST_DAY), _date_text(0.25, FIRST_DAY)
    ('2024-01-31', '2024-01-31 12:00:00', '06:00:00')
    """
    moment = start + timedelta(seconds=round(days * 86_400))
    if days < 1:
        return f"{moment:%H:%M:%S}"
    return f"{moment:%Y-%m-%d}" if days == int(days) else f"{moment:%Y-%m-%d %H:%M:%S}"
