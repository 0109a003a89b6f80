from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.services.imports.readers import table_open
from tests.annotator.services.imports.workbooks import workbook


def read(content: bytes, name: str) -> tuple[list[tuple[int, dict[str, Any]]], list[tuple[int | None, str]]]:
    log = FaultLog(name)
    rows = []
    with suppress(FileRefused):
        rows = list(table_open(io.BytesIO(content), name=name, log=log).rows)
    return rows, [(fault.line, fault.expected) for fault in log.faults]


def test_csv_rows_carry_the_line_on_which_they_begin() -> None:
    rows, faults = read(b'a,b\r\n1,"two\nlines"\n3,4\n', "x.csv")
    assert rows == [(2, {"a": "1", "b": "two\nlines"}), (4, {"a": "3", "b": "4"})]
    assert faults == []


def test_columns_without_a_name_are_ignored() -> None:
    """R and pandas write the rows' numbers into one; spreadsheets leave delimiters at the ends of lines."""
    expected = [(2, {"a": "1", "b": "2"})], []
    assert read(b'"","a","b"\n"1",1,2\n', "x.csv") == expected
    assert read(b"a,b,,\n1,2,,\n", "x.csv") == expected
    assert read("\ufeffa\u200b, b\n1,2\n".encode(), "x.csv") == expected


def test_a_json_list_is_refused_with_what_to_do() -> None:
    _, faults = read(b'[{"a": 1}]\n', "x.jsonl")
    assert "lines=True" in faults[0][1]


def test_a_byte_order_mark_is_accepted() -> None:
    assert read(b"\xef\xbb\xbfa\n1\n", "x.csv") == ([(2, {"a": "1"})], [])
    assert read(b'\xef\xbb\xbf{"a": 1}\n', "x.jsonl") == ([(1, {"a": 1})], [])


def test_blank_lines_at_the_end_of_json_lines_are_ignored() -> None:
    assert read(b'{"a": "\xc3\xa9"}\n\n\n', "x.jsonl") == ([(1, {"a": "é"})], [])


@pytest.mark.parametrize(
    ("name", "content", "line", "expected"),
    [
        ("x.csv", b"a,b\n1,2\n3\n4,5\n", 3, "expected 2 cells, got 1"),
        ("x.csv", b"a,b\n1,2,3\n", 2, "expected 2 cells, got 3"),
        ("x.csv", b"a,b\n1,2\n\n4,5\n", 3, "is blank"),
        ("x.csv", b"a,a\n1,2\n", 1, "two columns"),
        ("x.csv", b",\n1,2\n", 1, "expected a header"),
        ("x.csv", b"a|b\n1|2\n", 1, "separated by |"),
        ("x.csv", b'a,b\n1,"open\n2,3\n', 2, "never ends"),
        ("x.csv", b'a,b\n1,"x"y\n', 2, "write it twice"),
        ("x.csv", b"a,b\n1,\x00\n", 2, "NUL"),
        ("x.csv", b"a,b\n1,caf\xe9\n", 2, "not UTF-8"),
        ("x.csv", b"a\n\xed\xa0\x80\n", 2, "not UTF-8"),
        ("x.csv", b"a\n" + b"x" * 200_000 + b"\n", 2, "at most 131,072 characters"),
        ("x.csv", b"a\n" + b"x" * 1_100_000 + b"\n", 2, "lines of at most"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16")[:-1], None, "broken UTF-16"),
        ("x.csv", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], None, "damaged gzip"),
        ("x.csv", b"BZh91AY", None, "bzip2"),
        ("x.csv", b"\xd0\xcf\x11\xe0", None, "old Excel workbook"),
        ("x.csv", b"", None, "is empty"),
        ("x.csv", b"\n", 1, "expected a header"),
        ("x.doc", b"PK\x03\x04", None, "expected a file ending in"),
        ("x.xlsx", b"PK\x03\x04", None, "not a readable Excel workbook"),
        ("x.xlsx", b"a,b\n1,2\n", None, "not an Excel workbook"),
        ("x.jsonl", b'{"a": 1}\n{"a": \n', 2, "is not JSON"),
        ("x.jsonl", b'[{"a": 1}]\n', 1, "one JSON object per line"),
        ("x.jsonl", b'{"a": 1, "a": 2}\n', 1, "occurs twice"),
        ("x.jsonl", b'{"b": {"a": 1, "a": 2}}\n', 1, "occurs twice"),
        ("x.jsonl", b'{"a": NaN}\n', 1, "not JSON"),
        ("x.jsonl", b'{"a": 1e999}\n', 1, "too large"),
        ("x.jsonl", b'{"a": ' + b"9" * 5000 + b"}\n", 1, "too large"),
        ("x.jsonl", b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", 1, "nested too deeply"),
        ("x.jsonl", b'{"a": "\\ud800"}\n', 1, "lone surrogate"),
        ("x.jsonl", b'{"a": ["\\udc00"]}\n', 1, "lone surrogate"),
        ("x.jsonl", b'{"a": "\\u0000"}\n', 1, "NUL character"),
        ("x.jsonl", b'{"a": 1}\n\n{"a": 2}\n', 2, "is blank"),
        ("x.jsonl", b'{"a": "\xff"}\n', 1, "not UTF-8"),
        ("x.parquet", b"PAR1 not really", None, "Parquet"),
        ("x.parquet", b"a,b\n1,2\n", None, "Parquet"),
    ],
)
def test_every_format_error_is_reported_with_its_line(
    name: str, content: bytes, line: int | None, expected: str
) -> None:
    _, faults = read(content, name)
    assert len(faults) == 1, faults
    assert faults[0][0] == line
    assert expected in faults[0][1]


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    rows, faults = read(b'{"a": "\\ud83e\\udd89", "b": "\\\\u0000"}\n', "x.jsonl")
    assert (rows, faults) == ([(1, {"a": "🦉", "b": "\\u0000"})], [])


def test_reading_continues_after_a_broken_line() -> None:
    rows, faults = read(b"a,b\n1\n\x00,2\n3,4\n5,6,7\n", "x.csv")
    assert [line for line, _ in rows] == [4]
    assert [line for line, _ in faults] == [2, 3, 5]


def test_a_zip_archive_is_refused_unopened() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("x.csv", b"0" * 1_000_000)
    rows, faults = read(packed.getvalue(), "x.csv")
    assert rows == []
    assert "archive" in faults[0][1]


def test_an_archive_that_unpacks_to_more_than_is_read_is_refused(settings: Any) -> None:
    settings.IMPORT_MAX_BYTES = 100_000
    for content, name in (
        (gzip.compress(b"a\n" + b"0\n" * 100_000, mtime=0), "x.csv.gz"),
        (workbook([["a"], ["0" * 150_000]]), "x.xlsx"),
    ):
        assert len(content) < 100_000
        rows, faults = read(content, name)
        assert rows == []
        assert "unpacks to more than 0 MB" in faults[0][1]


PLAIN = "rater,unit,label\nann,caf\u00e9,yes\nbob,caf\u00e9,no\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", PLAIN.encode()),
        ("x.csv", PLAIN.replace(",", ";").encode()),
        ("x.csv", PLAIN.replace(",", "\t").encode()),
        ("x.tsv", PLAIN.replace(",", "\t").encode()),
        ("x.txt", PLAIN.replace(",", "\t").encode()),
        ("x.csv", PLAIN.replace("\n", "\r").encode()),
        ("x.csv", PLAIN.replace("\n", "\r\n").encode("utf-8-sig")),
        ("x.csv", PLAIN.encode("utf-16")),
        ("x.csv", b"\xfe\xff" + PLAIN.encode("utf-16-be")),
        ("x.csv.gz", gzip.compress(PLAIN.encode())),
        ("x.csv", gzip.compress(PLAIN.encode("utf-16"))),
    ],
    ids=[
        "comma",
        "semicolon",
        "tab",
        "tsv",
        "txt",
        "CR",
        "CRLF and BOM",
        "UTF-16",
        "UTF-16 BE",
        "gz",
        "gz of UTF-16",
    ],
)
def test_the_same_table_is_read_in_every_format(name: str, content: bytes) -> None:
    rows, faults = read(content, name)
    assert faults == []
    assert rows == [
        (2, {"rater": "ann", "unit": "caf\u00e9", "label": "yes"}),
        (3, {"rater": "bob", "unit": "caf\u00e9", "label": "no"}),
    ]


def test_a_comma_inside_quotes_is_part_of_the_cell() -> None:
    rows, _ = read(b'"a, b";c\n1;"x;y"\n', "x.csv")
    assert rows == [(2, {"a, b": "1", "c": "x;y"})]


def test_the_first_sheet_of_a_workbook_is_a_table() -> None:
    content = workbook(
        [["key", "n", "share", "ok", "note"], ["a", 3, 0.5, True, "=own"], ["b", None, 1e-3, False, None]]
    )
    rows, faults = read(content, "x.xlsx")
    assert faults == []
    assert rows == [
        (2, {"key": "a", "n": "3", "share": "0.5", "ok": "true", "note": "own"}),
        (3, {"key": "b", "n": "", "share": "0.001", "ok": "false", "note": ""}),
    ]


def changed_workbook(content: bytes, changes: dict[str, Callable[[str], str]]) -> bytes:
    """The workbook with some of its files changed; missing ones are added."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        files = {name: book.read(name).decode() for name in book.namelist()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        for name in files | changes:
            text = files.get(name, "")
            book.writestr(name, changes[name](text) if name in changes else text)
    return out.getvalue()


STYLES = (
    '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts>'
    '<numFmt numFmtId="164" formatCode="yyyy-mm-dd hh:mm"/><numFmt numFmtId="165" formatCode="0.0 &quot;days&quot;"/>'
    '<numFmt numFmtId="166" formatCode="[Red]0"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/>'
    '<xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="9"/><xf numFmtId="166"/></cellXfs></styleSheet>'
)


def with_styles(content: bytes, *styles: int) -> bytes:
    """The workbook with a style for each column of its second row."""

    def styled(text: str) -> str:
        for column, style in enumerate(styles):
            place = f'r="{chr(65 + column)}2"'
            text = text.replace(place, f'{place} s="{style}"')
        return text

    return changed_workbook(content, {"xl/worksheets/sheet1.xml": styled, "xl/styles.xml": lambda _: STYLES})


def test_dates_of_a_workbook_are_read_as_dates() -> None:
    content = with_styles(workbook([list("abcdef"), [45322, 45322.75, 2, 0.5, 3, 45322]]), 1, 2, 3, 4, 5, 0)
    [(_, row)], faults = read(content, "x.xlsx")
    assert faults == []
    assert list(row.values()) == ["2024-01-31", "2024-01-31 18:00:00", "2", "0.5", "3", "45322"]


def test_dates_of_a_workbook_that_count_from_1904() -> None:
    content = with_styles(workbook([["a"], [43860]]), 1)
    content = changed_workbook(
        content,
        {"xl/workbook.xml": lambda text: text.replace("<sheets>", '<workbookPr date1904="1"/><sheets>')},
    )
    assert read(content, "x.xlsx")[0] == [(2, {"a": "2024-01-31"})]


def test_merged_cells_are_refused() -> None:
    """Only the first of them has the value; the others would be read as blank."""
    merge = '</sheetData><mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>'
    content = changed_workbook(
        workbook([["a", "b"], ["yes", 1], [None, 2]]),
        {"xl/worksheets/sheet1.xml": lambda text: text.replace("</sheetData>", merge)},
    )
    rows, [(_, fault)] = read(content, "x.xlsx")
    assert rows == []
    assert "has merged cells (A2:A3)" in fault


def test_true_or_false_without_a_value_is_blank() -> None:
    content = changed_workbook(
        workbook([["a", "b"], [True, 1]]),
        {"xl/worksheets/sheet1.xml": lambda text: text.replace('t="b"><v>1</v>', 't="b">')},
    )
    assert read(content, "x.xlsx")[0] == [(2, {"a": "", "b": "1"})]


def test_a_blank_row_inside_a_sheet_is_reported_and_trailing_ones_ignored() -> None:
    rows, faults = read(workbook([["a", "b"], [1, 2], [], [3, 4], ["", ""], []]), "x.xlsx")
    assert [line for line, _ in rows] == [2, 4]
    assert faults == [(3, "is blank; expected 2 cells")]


def test_a_workbook_without_a_sheet_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr("xl/workbook.xml", "<workbook><sheets/></workbook>")
    assert read(out.getvalue(), "x.xlsx") == ([], [(None, "has no sheet")])


def test_a_damaged_workbook_is_refused_wherever_the_damage_is() -> None:
    content = workbook([["a", "b"], *([f"text {n}", n] for n in range(50))])
    rng, refused = Random(1), 0
    for _ in range(20):
        damaged = bytearray(content)
        for _ in range(3):
            damaged[rng.randrange(4, len(damaged))] = rng.randrange(256)
        _, faults = read(bytes(damaged), "x.xlsx")
        refused += (None, "is not a readable Excel workbook") in faults
    assert refused > 10


def test_a_workbook_with_entities_is_refused() -> None:
    content = workbook([["a"], ["b"]])
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            start = b'<!DOCTYPE x [<!ENTITY e "ha">]>' if name.endswith("sheet1.xml") else b""
            new.writestr(name, start + old.read(name))
    _, faults = read(out.getvalue(), "x.xlsx")
    assert "document type declaration" in faults[0][1]


def test_a_file_that_is_too_large_is_not_read(settings: Any) -> None:
    settings.IMPORT_MAX_BYTES = 500_000_000

    class Huge(io.BytesIO):
        def tell(self) -> int:
            return 10**9

        def read(self, size: int | None = -1) -> bytes:
            raise AssertionError("was read")

        readline = read  # type: ignore[assignment]

    log = FaultLog("x.csv")
    with pytest.raises(FileRefused):
        table_open(Huge(), name="x.csv", log=log)
    assert "is 1,000 MB; expected at most 500 MB" in log.faults[0].expected


def test_too_many_rows_are_refused(settings: Any) -> None:
    settings.IMPORT_MAX_ROWS = 2
    rows, faults = read(b"a\n1\n2\n3\n", "x.csv")
    assert len(rows) == 2
    assert faults == [(4, "expected at most 2 rows")]


def parquet(table: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(table), out)
    return out.getvalue()


def test_parquet_rows_are_read_like_json() -> None:
    rows, faults = read(parquet({"a": ["x", None], "n": [1, 2], "l": [["p", "q"], []]}), "x.parquet")
    assert faults == []
    assert rows == [(1, {"a": "x", "n": 1, "l": ["p", "q"]}), (2, {"a": None, "n": 2, "l": []})]


def test_a_parquet_file_that_expands_too_much_is_refused() -> None:
    """50,000 rows of one text of 5 MB take a few kilobytes in the file and 250 GB in memory."""
    once = pa.array(["x" * 5_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 50_000, pa.int32()), once)
    content = parquet({"a": column})
    assert len(content) < 1_000_000
    rows, faults = read(content, "x.parquet")
    assert rows == []
    assert faults == [(1, "expected cells of at most 131,072 characters")]


def test_unusable_parquet_values_are_refused() -> None:
    _, faults = read(parquet({"a": [float("nan"), 1.0]}), "x.parquet")
    assert faults == [(1, "holds a number that is not finite")]


def test_bytes_of_parquet_that_are_no_text_are_blank_cells() -> None:
    """Columns that nobody uses may hold anything; one that is needed is then reported as blank."""
    assert read(parquet({"a": [b"\xff", b"yes"]}), "x.parquet") == ([(1, {"a": None}), (2, {"a": "yes"})], [])


def test_dates_and_decimals_of_parquet_are_read_as_text() -> None:
    """Also in columns that the import doesn't use."""
    moment = datetime(2024, 1, 31, 12, tzinfo=UTC)
    content = parquet({"a": ["x"], "made": [moment], "on": [moment.date()], "n": [Decimal("1.50")]})
    rows, faults = read(content, "x.parquet")
    assert faults == []
    assert rows == [(1, {"a": "x", "made": "2024-01-31 12:00:00+00:00", "on": "2024-01-31", "n": "1.50"})]


def test_stored_faults_are_limited_but_all_are_counted() -> None:
    log = FaultLog("x.csv")
    for line in range(1000):
        log.add("is wrong", line=line)
    with pytest.raises(FileRefused) as refused:
        log.check()
    assert len(refused.value.faults) == 100
    assert refused.value.total == 1000
    assert str(refused.value).endswith("... and 900 more")


def test_values_in_messages_are_short_and_printable() -> None:
    log = FaultLog("x.csv")
    log.add("is wrong", value="\x1b[31m" + "y" * 500)
    assert "\x1b" not in log.faults[0].value
    assert len(log.faults[0].value) <= 81
    json.dumps(log.faults[0].as_json())
