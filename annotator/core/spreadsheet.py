"""Read the first sheet of an Excel workbook (.xlsx) as rows of text, with the standard library only.

A workbook is a zip archive of XML files (ECMA-376). A cell holds a number, a shared or inline text, true or false, or
an error. A date is stored as a number with a date format, and is read as that number.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import IO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml import ElementTree as defused

from annotator.core.archives import ARCHIVE_ERRORS

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CELL = re.compile(r"([A-Z]{1,3})([0-9]+)")


class UnreadableSheet(ValueError):
    """A workbook that can't be read; the message says why."""


def sheet_rows(file: IO[bytes], *, most_bytes: int) -> Iterator[list[str]]:
    """The rows of the first sheet from the top, blank ones as empty lists; cells as text, whole numbers without a
    fraction. Refuses workbooks that unpack to more than ``most_bytes`` or contain a document type declaration. Raises
    ``UnreadableSheet``.
    """
    try:
        with zipfile.ZipFile(file) as book:
            if sum(member.file_size for member in book.infolist()) > most_bytes:
                raise UnreadableSheet(
                    f"unpacks to more than {most_bytes / 1e6:,.0f} MB, the most that is read"
                )
            shared = list(_shared_texts(book))
            with book.open(_first_sheet(book)) as sheet:
                yield from _rows(sheet, shared)
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


def _text_of(entry: Element) -> str:
    """A text, in one piece or in runs of different formats; phonetic guides of Asian scripts are left out."""
    runs = [entry, *entry.findall(f"{_MAIN}r")]
    return "".join(text.text or "" for run in runs for text in run.findall(f"{_MAIN}t"))


def _rows(sheet: IO[bytes], shared: list[str]) -> Iterator[list[str]]:
    before = 0
    for _, element in defused.iterparse(sheet, events=["end"], forbid_dtd=True):
        if element.tag == f"{_MAIN}row":
            number = int(element.get("r") or before + 1)
            yield from ([] for _ in range(min(number - before - 1, 1_000_000)))
            before = number
            yield _cells(element, shared)
            element.clear()


def _cells(row: Element, shared: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in row.iter(f"{_MAIN}c"):
        place = _CELL.fullmatch(cell.get("r") or "")
        column = _column_number(place.group(1)) if place else len(cells)
        cells += [""] * (column - len(cells))
        cells.append(_value(cell, shared))
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


def _value(cell: Element, shared: list[str]) -> str:
    kind = cell.get("t") or "n"
    if kind == "inlineStr":
        inline = cell.find(f"{_MAIN}is")
        return _text_of(inline) if inline is not None else ""
    found = cell.find(f"{_MAIN}v")
    text = (found.text or "") if found is not None else ""
    if kind == "s":
        return shared[int(text)] if text else ""
    if kind == "b":
        return "true" if text == "1" else "false"
    if kind == "n" and text:
        number = float(text)
        return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)
    return text
