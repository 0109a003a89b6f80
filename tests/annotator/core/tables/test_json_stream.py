"""Large JSON lists and objects are read one element at a time."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.tables import json_stream
from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.core.tables.json_stream import UnreadableElement, json_elements, json_members
from annotator.core.tables.plain_file import Limits
from annotator.core.tables.rows import table_open

MB = 2**20
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("aß王", max_size=3), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@pytest.fixture
def small_pieces() -> Iterator[None]:
    whole = json_stream._PIECE
    json_stream._PIECE = 3
    yield
    json_stream._PIECE = whole


def elements(text: str | bytes, most: int = 1_000) -> list[Any]:
    return list(json_elements(io.BytesIO(text.encode() if isinstance(text, str) else text), most=most))


@given(st.lists(VALUES, max_size=6), st.sampled_from([None, 1]), st.booleans())
@pytest.mark.usefixtures("small_pieces")
def test_elements_are_those_of_the_whole(values: list[Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    assert elements(f" {text}\n ", most=10_000) == values
    pairs = {str(number): value for number, value in enumerate(values)}
    file = io.BytesIO(json.dumps(pairs, indent=indent, ensure_ascii=ascii_only).encode())
    assert dict(json_members(file, most=10_000)) == pairs


@pytest.mark.usefixtures("small_pieces")
def test_a_number_that_is_read_in_two_pieces_is_one() -> None:
    assert elements("[1234567, 1.5e10, -12, 0.001]") == [1234567, 1.5e10, -12, 0.001]


@pytest.mark.parametrize(
    ("text", "number", "said"),
    [
        ("[1, 2", 2, "ends before ']'"),
        ("[1, 2,", 3, "Expecting value"),
        ("[1 2]", 1, "expected ']', got '2'"),
        ("[1, 2] 3", 2, "'3' follows after the end"),
        ("[1, 2]]", 2, "follows after the end"),
        ('[{"a": 1}, {"a": 1, "a": 2}]', 2, "'a' occurs twice"),
        ("[NaN]", 1, "NaN is not JSON"),
        ("[1e999]", 1, "too large"),
        ("[" * 100_000, 1, "nested too deeply|at most"),
        ('["' + "x" * 2_000 + '"]', 1, "at most 1,000 characters"),
        ('["' + "x" * 2_000, 1, "at most 1,000 characters"),
        (b'["a", "\xff"]', 0, "is not UTF-8"),
        (b'["a", "\xc3', 2, "is not UTF-8"),
        ('{"a": 1}', 0, r"expected '\[', got '\{'"),
        ("", 0, r"ends before '\['"),
        ("[,]", 1, "Expecting value"),
        ("[1,]", 2, "Expecting value"),
        ('["a\x00b"]', 1, "Invalid control character"),
    ],
)
def test_what_is_no_list_is_refused_with_the_element(text: str | bytes, number: int, said: str) -> None:
    with pytest.raises(UnreadableElement, match=said) as error:
        elements(text)
    assert error.value.number == number


@pytest.mark.parametrize("text", ['{"a" 1}', "{1: 2}", '{"a": 1, }', '{"a": 1', "[]", '{"a": }'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(UnreadableElement):
        list(json_members(io.BytesIO(text.encode()), most=1_000))


def read(file: io.BytesIO, limits: Limits) -> int:
    log = FaultLog("x.json")
    table = table_open(file, name="x.json", log=log, limits=limits, lists=True)
    number = sum(1 for _ in table.rows)
    log.check()
    return number


def peak(file: io.BytesIO, limits: Limits) -> tuple[int | str, float]:
    """The number of rows, or why there is none; and the memory that reading took, in MB."""
    tracemalloc.start()
    try:
        found: int | str = read(file, limits)
    except FileRefused as error:
        found = str(error)
    used = tracemalloc.get_traced_memory()[1] / MB
    tracemalloc.stop()
    return found, used


def test_memory_holds_one_object_of_a_list() -> None:
    rows = 20_000
    body = (
        b"[" + b",".join(b'{"question": "%d?", "notes": "%s"}' % (n, b"x" * 400) for n in range(rows)) + b"]"
    )
    assert len(body) > 8 * MB
    found, used = peak(io.BytesIO(body), Limits(size=100 * MB, rows=rows))
    assert found == rows
    assert used < 3, used


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'[{"a": "' + b"x" * 20 * MB + b'"}]', "at most 1,000,000 characters"),
        (b'[{"a": [' + b"1," * 10 * MB, "at most 1,000,000 characters"),
        (b"[" + b"[" * 20 * MB, "nested too deeply|at most 1,000,000 characters"),
        (b"[" + b" " * 20 * MB, "Expecting value"),
        (b"[" + b"{}," * 5 * MB, "at most 1,000 rows"),
    ],
)
def test_a_hostile_list_takes_little_memory(body: bytes, said: str) -> None:
    found, used = peak(io.BytesIO(body), Limits(size=100 * MB, rows=1_000))
    assert isinstance(found, str)
    assert any(one in found for one in said.split("|")), found
    assert used < 40, used
