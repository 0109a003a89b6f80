"""Workbooks as Excel writes them."""

from __future__ import annotations

import io
import zipfile
from typing import Any

CONTENT_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>'
)

PACKAGE_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
PACKAGE = (
    f'<Relationships xmlns="{PACKAGE_RELATIONS}"><Relationship Id="rId1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/>'
    "</Relationships>"
)


def workbook(rows: list[list[Any]], *, first: str = "sheet1.xml") -> bytes:
    """A workbook as Excel writes it: texts in the shared list, one text of its own, numbers, true and false."""
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    shared: list[str] = []
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = ""
        for column, value in enumerate(row):
            place = f"{chr(65 + column)}{number}"
            if isinstance(value, bool):
                cells += f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
            elif isinstance(value, str) and value.startswith("="):
                cells += f'<c r="{place}" t="inlineStr"><is><t>{value[1:]}</t></is></c>'
            elif isinstance(value, str):
                shared.append(value)
                cells += f'<c r="{place}" t="s"><v>{len(shared) - 1}</v></c>'
            elif value is not None:
                cells += f'<c r="{place}"><v>{value}</v></c>'
        lines.append(f'<row r="{number}">{cells}</row>' if cells else "")
    texts = "".join(f"<si><r><t>{text[:1]}</t></r><r><t>{text[1:]}</t></r></si>" for text in shared)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("[Content_Types].xml", CONTENT_TYPES)
        book.writestr("_rels/.rels", PACKAGE)
        book.writestr("xl/workbook.xml", f'<workbook {main} xmlns:r="{relations}"><sheets>'
                      '<sheet name="B" r:id="rId7"/><sheet name="A" r:id="rId1"/></sheets></workbook>')  # fmt: skip
        book.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE_RELATIONS}">'
                      f'<Relationship Id="rId1" Type="{relations}/worksheet" Target="worksheets/other.xml"/>'
                      f'<Relationship Id="rId2" Type="{relations}/sharedStrings" Target="sharedStrings.xml"/>'
                      f'<Relationship Id="rId3" Type="{relations}/styles" Target="styles.xml"/>'
                      f'<Relationship Id="rId7" Type="{relations}/worksheet" Target="worksheets/{first}"/></Relationships>')  # fmt: skip
        book.writestr("xl/sharedStrings.xml", f"<sst {main}>{texts}</sst>")
        book.writestr(
            "xl/worksheets/sheet1.xml",
            f"<worksheet {main}><sheetData>{''.join(lines)}</sheetData></worksheet>",
        )
        book.writestr("xl/worksheets/other.xml", f"<worksheet {main}><sheetData/></worksheet>")
    return out.getvalue()


MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SHEET, TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"


def changed(name: str, text: str, rows: list[list[object]] | None = None) -> bytes:
    """A workbook with other content of one of its files."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook(rows or [["a", "b"], ["x", 1]]))) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.namelist():
            new.writestr(member, text if member == name else old.read(member))
    return out.getvalue()
