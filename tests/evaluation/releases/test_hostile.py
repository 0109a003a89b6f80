"""Archives that are made to break whoever checks them: each is refused with a sentence, quickly, and in little memory."""

from __future__ import annotations

import io
import json
import re
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evaluation.releases.archive import ArchiveError
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from tests.evaluation.releases.releases import built, files_of, packed, rebuilt
from tests.evaluation.reports.studies import small_study, stored

pytestmark = pytest.mark.django_db
Change = Callable[[dict[str, bytes]], None]
MB = 2**20


_RELEASE: list[bytes] = []


@pytest.fixture
def release() -> io.BytesIO:
    """Built once: checking it needs none of the rows that it was made from."""
    if not _RELEASE:
        _RELEASE.append(built(stored(small_study()))[1].getvalue())
    return io.BytesIO(_RELEASE[0])


def refused(file: io.BytesIO) -> str:
    """What is said about an archive."""
    try:
        said = "\n".join(release_reproduce(release_open(file)).problems)
    except ArchiveError as error:
        said = str(error)
    assert said, "it was approved"
    assert said.replace("\n", "").isprintable()
    return said


def with_row(table: str, **values: Any) -> Change:
    """The first row of a table with other values."""

    def change(files: dict[str, bytes]) -> None:
        name = f"tables/{table}.jsonl"
        first, rest = files[name].split(b"\n", 1)
        files[name] = json.dumps(json.loads(first) | values).encode() + b"\n" + rest

    return change


def with_line(table: str, line: bytes) -> Change:
    def change(files: dict[str, bytes]) -> None:
        name = f"tables/{table}.jsonl"
        files[name] = line + b"\n" + files[name].split(b"\n", 1)[1]

    return change


def in_json(name: str, **values: Any) -> Change:
    def change(files: dict[str, bytes]) -> None:
        files[name] = (
            json.dumps(json.loads(files[name]) | values, indent=2, ensure_ascii=False) + "\n"
        ).encode()

    return change


def choice(**values: Any) -> Change:
    def change(files: dict[str, bytes]) -> None:
        found = json.loads(files["manifest.json"])
        in_json("manifest.json", choices=found["choices"] | values)(files)

    return change


DEEP = b'{"id":1,"payload":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
CASES: list[tuple[Change, str]] = [
    (with_line("judgment", b"[]"), r"judgment.jsonl, line 1: expected an object, got list"),
    (with_line("judgment", b"null"), "judgment.jsonl, line 1"),
    (with_line("judgment", b""), "judgment.jsonl, line 1"),
    (with_line("judgment", b"{"), "judgment.jsonl, line 1"),
    (with_line("judgment", b'{"id":1}'), "line 1: .* is missing"),
    (with_line("judgment", b"\xff\xfe"), "judgment.jsonl, line 1: 'utf-8' codec"),
    (with_line("item", DEEP), "item.jsonl, line 1: nested"),
    (with_line("item", b'{"id":1,"payload":' + b"[" * 200 + b"]" * 200 + b"}"), "nested more than 60"),
    (with_line("item", b'{"id": NaN}'), "NaN is not a number of JSON"),
    (with_line("item", b'{"id": -Infinity}'), "-Infinity is not a number"),
    (with_line("item", b'{"id": 1e999}'), "too large a number"),
    (with_line("item", b'{"id": 1' + b"0" * 5_000 + b"}"), "too large a number"),
    (with_row("item", id=0), "id is 0; rows are numbered from 1"),
    (with_row("item", id=2**62), "rows are numbered from 1"),
    (with_row("item", id=-1), "rows are numbered from 1"),
    (with_row("item", id="1"), "rows are numbered from 1"),
    (with_row("item", id=True), "rows are numbered from 1"),
    (with_row("item", id=None), "rows are numbered from 1"),
    (with_row("item", study_id=2**61), "study_id is .*, which is no row of the table"),
    (with_row("item", study_id=0), "no row of the table"),
    (with_row("item", study_id="1"), "no row of the table"),
    (with_row("item", study_id={}), "no row of the table"),
    (with_row("item", study_id=None), "study_id is empty"),
    (with_row("item", payload=[]), "payload is list; expected an object"),
    (with_row("item", payload="x"), "payload is x; expected an object"),
    (with_row("item", payload={"question": "a\0b"}), "contains the character NUL"),
    (with_row("item", payload={"a\0": 1}), "contains the character NUL"),
    (with_row("item", payload={"question": "\ud800"}), "half a character"),
    (with_row("item", key=7), "key is 7; expected a text"),
    (with_row("item", key="x" * 10_000), "expected a text of at most"),
    (with_row("item", version=3.5), "version is 3.5; expected a whole number"),
    (with_row("item", version=10**12), "expected a whole number"),
    (with_row("item", parts={"a": 99}), "parts"),
    (with_row("item", parts={"a": "x"}), "parts"),
    (with_row("item", withdrawn_at="yesterday"), "expected a date and time"),
    (with_row("item", owner="me"), "owner is no column of this table"),
    (with_row("judgment", seconds="ten"), "seconds is ten; expected a number"),
    (with_row("judgment", seconds=True), "expected a number"),
    (with_row("judgment", response=None), "response is empty"),
    (with_row("judgment", response={"helpful": {"deep": []}}), "."),
    (with_row("study", pay_per_item="NaN"), "expected a decimal number as text"),
    (with_row("study", pay_per_item="1e999999"), "expected a decimal number as text"),
    (with_row("study", hit_type="no_such_type"), "can't be computed"),
    (with_row("study", practice_required="yes"), "expected true or false"),
    (with_row("rater", kind="robot\x1b[2J"), "."),
    (choice(rule="dice"), "choices: rule"),
    (choice(replicates=10**9), "choices: replicates"),
    (choice(seed="x"), "choices: seed"),
    (choice(encoder="../../evil/model"), "asks for the model ../../evil/model .* pass --encoder"),
    (choice(encoder="endpoint:lab"), "asks for the model endpoint:lab"),
    (in_json("manifest.json", choices=[]), "choices should be an object"),
    (in_json("manifest.json", title=7), "title should be a str"),
    (in_json("manifest.json", removed={"x": "y"}), "removed should be numbers"),
    (in_json("manifest.json", attributes=[1]), "attributes should be names"),
    (in_json("manifest.json", libraries=None), "libraries should be a str"),
    (in_json("manifest.json", software="\x1b]0;owned\x07"), "."),
    (in_json("manifest.json", format={}), "the release has format"),
    (in_json("report.json", sections=None), "."),
    (in_json("report.json", sections=[{"id": 1}]), "."),
    (in_json("report.json", facts=7), "."),
    (lambda files: files.update({"report.json": b"[]"}), "report.json: expected an object"),
    (lambda files: files.update({"report.json": b"[" * 50_000}), "report.json: nested too deeply|Expecting"),
    (lambda files: files.update({"manifest.json": b'{"files": 3}'}), "."),
    (lambda files: files.update({"../../etc/passwd": b"x"}), "no file of a release"),
    (lambda files: files.update({"tables/\x1b[31m.jsonl": b"x"}), r"\\x1b\[31m.jsonl is no file of a release"),
    (lambda files: files.update({"signing-key.pem": b"no key"}), "expected a public key"),
    (lambda files: files.update({"SHA256SUMS.sig": b""}), "signature isn't valid"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_each_is_refused_with_a_sentence(release: io.BytesIO, number: int) -> None:
    change, words = CASES[number]
    said = refused(rebuilt(release, change, manifest=_lists_files(release, change)))
    assert re.search(words, said), said
    assert "Traceback" not in said
    assert len(said) < 20_000


def _lists_files(release: io.BytesIO, change: Change) -> bool:
    files = files_of(release)
    change(files)
    return isinstance(json.loads(files["manifest.json"]).get("files"), dict)


def measured(check: Callable[[], Any]) -> tuple[float, float]:
    """Seconds and the most memory, in MB, that a refusal takes."""
    tracemalloc.start()
    start = time.monotonic()
    try:
        with pytest.raises(ArchiveError):
            check()
        return time.monotonic() - start, tracemalloc.get_traced_memory()[1] / MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["report.json", "manifest.json", "README.md", "tables/item.jsonl", "ratings.csv", "SHA256SUMS"])  # fmt: skip
def test_a_zip_bomb_is_refused_before_it_is_unpacked(release: io.BytesIO, name: str) -> None:
    bomb = packed(files_of(release) | {name: b" " * (300 * MB)})
    seconds, memory = measured(lambda: release_open(bomb))
    assert seconds < 10
    assert memory < 100


def test_one_line_without_an_end_is_refused(release: io.BytesIO) -> None:
    """31 MB of one line: more would be refused by its size alone."""

    def change(files: dict[str, bytes]) -> None:
        files["tables/item.jsonl"] = b'{"id": "' + b"x" * (31 * MB)

    file = rebuilt(release, change, manifest=True)
    archive = release_open(file)
    seconds, memory = measured(lambda: list(archive.rows()["item"]))
    assert seconds < 10
    assert memory < 100


def test_encrypted_and_unknown_compression_are_refused(release: io.BytesIO) -> None:
    whole = bytearray(release.getvalue())
    with pytest.raises(ArchiveError, match="encrypted"):
        release_open(io.BytesIO(_patched(whole, 8, 1)))
    with pytest.raises(ArchiveError, match="compressed with method 99"):
        release_open(io.BytesIO(_patched(whole, 10, 99)))
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(ArchiveError, match=f"compressed with method {method}"):
            release_open(packed(files_of(release), method=method))


def _patched(whole: bytearray, offset: int, value: int) -> bytes:
    """The archive with a field of the first entry of its list changed."""
    at = whole.index(b"PK\x01\x02")
    return bytes(whole[: at + offset] + bytes([value]) + whole[at + offset + 1 :])


def test_many_files_are_refused_before_they_are_listed(release: io.BytesIO) -> None:
    many = packed({f"f{number}": b"" for number in range(5_000)})
    with pytest.raises(ArchiveError, match="too many files"):
        release_open(many)


def test_a_file_that_is_there_twice_is_refused(release: io.BytesIO) -> None:
    with zipfile.ZipFile(release, "a") as more, pytest.warns(UserWarning, match="Duplicate"):
        more.writestr("report.json", b"{}")
    release.seek(0)
    assert refused(release)


def test_the_command_prints_nothing_that_steers_a_terminal(release: io.BytesIO, tmp_path: Path) -> None:
    def change(files: dict[str, bytes]) -> None:
        in_json("manifest.json", title="\x1b]0;owned\x07\u202e", software="\x1b[2J")(files)

    file = tmp_path / "\x1b[31mowls.zip"
    file.write_bytes(rebuilt(release, change, manifest=True).getvalue())
    with pytest.raises(CommandError) as error:
        call_command("reproduce", str(file))
    assert str(error.value).replace("\n", "").isprintable()
    assert "\\x1b[31mowls.zip" in str(error.value) or "\\x1b" in str(error.value)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (("--minutes", "0"), "longer than 0 minutes; --minutes allows more"),
        (("--memory", "-1000"), "more than -1,000 MB of memory; --memory allows more"),
    ],
)
def test_time_and_memory_have_limits(
    release: io.BytesIO, tmp_path: Path, limit: tuple[str, str], words: str
) -> None:
    file = tmp_path / "owls.zip"
    file.write_bytes(release.getvalue())
    with pytest.raises(CommandError, match=words):
        call_command("reproduce", str(file), *limit)


def test_a_model_that_was_named_on_the_command_line_may_be_asked_for(release: io.BytesIO) -> None:
    file = rebuilt(release, choice(encoder="lab/own-model"), manifest=True)
    assert "asks for the model" in refused(file)
    with pytest.raises(ArchiveError, match=r"optional extra|not a (local folder|valid model)|connect"):
        release_reproduce(release_open(file), encoders=["lab/own-model"])
