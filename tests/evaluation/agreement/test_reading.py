"""Reading a CSV of ratings: what is accepted, and every fault with its line and column."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.core.labels import Spelling
from annotator.core.tables import columns as reading_module
from annotator.core.tables.faults import FileRefused
from evaluation.agreement import read_ratings
from tests.annotator.services.imports.workbooks import workbook
from tests.evaluation.agreement.tables import rows_of

GOOD = "who,what,says\nann,q1,yes\nbob,q1,no\nann,q2,yes\n"


def read(text: str | bytes, **more):
    data = text if isinstance(text, bytes) else text.encode()
    columns = {"rater": "who", "unit": "what", "value": "says", "name": "r.csv"}
    return read_ratings(io.BytesIO(data), **{**columns, **more})


def refused(text: str | bytes, **more) -> str:
    with pytest.raises(FileRefused) as caught:
        read(text, **more)
    return str(caught.value)


def test_a_simple_file_is_read():
    table = read(GOOD).ratings
    assert (table.raters, table.units, table.labels) == (("ann", "bob"), ("q1", "q2"), ("no", "yes"))
    assert sorted(rows_of(table)) == [("ann", "q1", "yes"), ("ann", "q2", "yes"), ("bob", "q1", "no")]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        GOOD.rstrip("\n"),
        GOOD.replace("\n", "\n\n"),
        GOOD.replace("yes", " yes "),
        GOOD.replace("ann", '"ann"'),
        "extra,says,what,who\n"
        + "".join(f"1,{s},{w},{r}\n" for r, w, s in (line.split(",") for line in GOOD.split()[1:])),
    ],
    ids=["BOM", "CRLF", "CR", "no last line end", "blank lines", "spaces", "quotes", "other columns"],
)
def test_equivalent_files_give_the_same_table(text):
    assert rows_of(read(text).ratings) == rows_of(read(GOOD).ratings)


def test_from_a_path(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(GOOD)
    assert len(read_ratings(path, rater="who", unit="what", value="says").ratings) == 3


def test_blank_values_are_missing_ratings():
    found = read(GOOD + "bob,q2,\nbob,q3,  \n")
    assert found.blank == 2
    assert len(found.ratings) == 3
    assert found.ratings.units == ("q1", "q2", "q3")  # asked of somebody, rated by nobody


def test_labels_and_their_order():
    text = "who,what,says\na,1,low\nb,1,high\na,2,mid\n"
    assert read(text, level="ordinal", order=["low", "mid", "high"]).ratings.labels == ("low", "mid", "high")
    assert read(text, order=["low", "mid", "high", "never"]).ratings.labels[-1] == "never"
    numbers = "who,what,says\na,1,10\nb,1,9.50\na,2,9.5\nb,2,1e1\nc,2,-3\n"
    for level in ("ordinal", "interval"):
        table = read(numbers, level=level).ratings
        assert table.labels == ("-3", "9.5", "10")
        assert table.numbers.tolist() == ([0, 1, 2] if level == "ordinal" else [-3, 9.5, 10])


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("", {}, "r.csv: is empty"),
        (b"\xef\xbb\xbf\n", {}, "r.csv:1: is blank; expected a header"),
        ("who,what,says\n", {}, "r.csv: has a header and no rows"),
        ("who,what,says\n\n\n", {}, "has a header and no rows"),
        (
            GOOD,
            {"rater": "name"},
            "r.csv:1: there is no column 'name'; the columns are 'who', 'what', 'says'",
        ),
        (GOOD, {"rater": "what"}, "each column can have one meaning only"),
        (
            GOOD.replace("what", "who"),
            {"unit": "says", "value": "who"},
            "each column can have one meaning|2 columns are named 'who'",
        ),
        (GOOD + "ann,,yes\n", {}, "r.csv:5: what: blank; expected a unit"),
        (GOOD + " ,q3,yes\n", {}, "r.csv:5: who: blank; expected a rater"),
        (
            GOOD + "bob,q1,yes\n",
            {},
            "r.csv:5: what: 'bob' has rated 'q1' twice, first in line 3",
        ),
        (GOOD + "bob,q2\n", {}, "r.csv:5: expected 3 cells, got 2"),
        (GOOD + "bob,q2,yes,4\n", {}, "r.csv:5: expected 3 cells, got 4"),
        (
            GOOD + "bob,q2,maybe\n",
            {"order": ["yes", "no"]},
            "r.csv:5: says: 'maybe': expected one of the order",
        ),
        (GOOD, {"level": "interval"}, "r.csv:2: says: 'yes': expected a number"),
        (
            "who,what,says\na,1,1e308\n",
            {"level": "interval"},
            "'1e308': expected a number from -1e100 to 1e100",
        ),
        ("who,what,says\na,1,inf\nb,1,NA\n", {"level": "interval"}, "'inf': expected a number\n"),
        (
            "who,what,says\na,1,-2\n",
            {"level": "ratio"},
            "r.csv:2: says: '-2': expected a number, 0 or more",
        ),
        ("who,what,says\na,1,nan\n", {"level": "interval"}, "'nan': expected a number"),
        ("who,what,says\na,1,1e999\n", {"level": "interval"}, "'1e999': expected a number"),
        ("who,what,says\na,1,1_000\n", {"level": "interval"}, "'1_000': expected a number"),
        (
            GOOD,
            {"level": "ordinal"},
            "r.csv: says: ordinal labels that are not numbers need their order.*'no', 'yes'",
        ),
        (GOOD, {"level": "interval", "order": ["yes", "no"]}, "order: not needed at interval level"),
        (GOOD, {"order": ["yes", "no", "yes"]}, "order: a label occurs twice"),
        (
            GOOD,
            {"simulators": ["gpt"]},
            "r.csv: who: no rater is called 'gpt'; the raters are 'ann', 'bob'",
        ),
        (GOOD.encode() + b"bob,q\xe9,yes\n", {}, "r.csv:5: .*is not UTF-8 at byte 6 of the line"),
        (GOOD.encode("utf-16-le"), {}, "r.csv:1: has a NUL byte"),
        (GOOD + "b\0b,q2,yes\n", {}, "r.csv:5: has a NUL byte"),
        (GOOD + 'bob,"q2,yes\n', {}, "r.csv:5: a quoted cell begins here and never ends"),
        (GOOD + 'bob,"q"2,yes\n', {}, "r.csv:5: a quote inside a quoted cell"),
    ],
)
@pytest.mark.parametrize("large", [0, 10**9], ids=["for large files", "for any file"])
def test_faults(text, more, message, large, monkeypatch):
    monkeypatch.setattr(reading_module, "LARGE", large)
    assert re.search(message, refused(text, **more), re.DOTALL)


def test_every_fault_is_reported_and_many_are_counted():
    text = GOOD + "".join(f",q{n},yes\n" for n in range(30))
    message = refused(text)
    assert message.count("blank; expected a rater") == 20
    assert message.startswith("r.csv:5: ")
    assert message.endswith("and 10 more")


def test_lines_are_counted_through_cells_with_line_ends():
    text = 'who,what,says\nann,"a\nb\r\nc",yes\n\nbob,q1,yes\nbob,q1,no\n'
    assert refused(text).startswith("r.csv:7: what: 'bob' has rated 'q1' twice, first in line 6")


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_ratings(tmp_path / "none.csv", rater="a", unit="b", value="c")


def outcome(text: str, large: int, **more):
    """The table, or the message of the refusal."""
    before, reading_module.LARGE = reading_module.LARGE, large
    try:
        found = read(text, **more)
        return rows_of(found.ratings), found.blank, found.ratings.labels
    except FileRefused as error:
        return str(error)
    finally:
        reading_module.LARGE = before


cells = st.text(alphabet='ab1,." \n\r\té', max_size=4)


@given(st.lists(st.lists(cells, min_size=2, max_size=4), max_size=8), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=300, deadline=None)
def test_both_readers_agree(rows, end):
    text = "who,what,says" + end + "".join(",".join(row) + end for row in rows)
    assert outcome(text, 0) == outcome(text, 10**9)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.sampled_from(["x", " y", ""])), max_size=30
    )
)
@settings(max_examples=100, deadline=None)
def test_both_readers_agree_on_valid_files(rows):
    text = "who,what,says\n" + "".join(f"{r},{u},{v}\n" for r, u, v in rows)
    assert outcome(text, 0) == outcome(text, 10**9)


def test_order_of_rows_does_not_matter():
    lines = [f"r{r},u{u},{(r * u) % 3}\n" for r in range(4) for u in range(9)]
    base = rows_of(read("who,what,says\n" + "".join(lines)).ratings)
    np.random.default_rng(0).shuffle(lines)
    assert sorted(rows_of(read("who,what,says\n" + "".join(lines)).ratings)) == sorted(base)


def test_spellings_of_one_label_are_remarked_on_and_read_as_one_when_asked():
    text = "who,what,says\n" + "".join(
        f"r{n},q,{label}\n" for n, label in enumerate(["yes", "Yes", " yes", "NA", "cafe\u0301", "caf\u00e9"])
    )
    found = read(text)
    assert found.ratings.labels == ("NA", "Yes", "caf\u00e9", "yes")
    assert found.notes == (
        "says: 'yes' (2) and 'Yes' (1) differ in case or form only; --fold-case reads them as one",
        "says: 'NA' (1) is kept as a label; --missing NA reads it as no answer",
    )
    found = read(text, spelling=Spelling(missing=["NA"], recode={"caf\u00e9": "bar"}, fold_case=True))
    assert found.ratings.labels == ("bar", "yes")
    assert (found.notes, found.blank) == ((), 1)


def test_units_of_one_name_in_two_forms_are_one():
    table = read("who,what,says\na,caf\u00e9,x\nb,cafe\u0301,x\n").ratings
    assert table.units == ("caf\u00e9",)


RIGHT = "who,what,says,right\na,1,no,yes\nb,1,yes,yes\na,2,no,{0}\n"


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (RIGHT.format("Yes"), {"order": ["no", "yes"]}, "r.csv:4: right: 'Yes': expected one of the order"),
        ("who,what,says,right\na,1,1,1\na,2,2,x\n", {"level": "interval"}, "r.csv:3: right: 'x': expected a number"),
        ("who,what,says,right\na,1,1,1\na,2,2,x\n", {"level": "ordinal"}, "r.csv:3: right: 'x': expected a number"),
        ("who,what,says,right\na,1,1,1\na,2,2,-1\n", {"level": "ratio"}, "right: '-1': expected a number, 0 or more"),
    ],
)  # fmt: skip
def test_a_correct_label_that_is_none_of_the_labels_is_an_error(text, more, message):
    assert message in refused(text, gold="right", **more)


def test_correct_labels_that_nobody_gave_are_mentioned():
    found = read(RIGHT.format("Yes"), gold="right")
    assert found.ratings.labels == ("Yes", "no", "yes")
    assert found.notes == (
        "says: 'Yes' (1) and 'yes' (1) differ in case or form only; --fold-case reads them as one",
        "right: nobody gave 'Yes'; as a correct label it counts as one of the labels, whose number AC1 and AC2 depend on",
    )
    assert read(RIGHT.format("no"), gold="right").notes == ()
    assert read(RIGHT.format("no"), gold="right", order=["no", "yes", "maybe"]).notes == ()


def test_invisible_characters_at_the_ends_of_cells_and_headings_are_dropped():
    text = "who\u200b,what,says\na,1,yes\nb\ufeff,1,yes\u200b\nb,2,\u00ad\n"
    found = read(text)
    assert (found.ratings.raters, found.ratings.labels, found.blank) == (("a", "b"), ("yes",), 1)


def test_labels_that_differ_within_in_what_nobody_sees_get_a_remark():
    text = "who,what,says\na,1,very  good\nb,1,very good\nc,1,very good\na,2,so\u200bso\nb,2,soso\n"
    found = read(text)
    assert {note.split(" differ ")[0] for note in found.notes} == {
        "says: 'very good' (2) and 'very  good' (1)",
        "says: 'soso' (1) and 'so\\u200bso' (1)",
    }
    assert read(text, spelling=Spelling(fold_case=True)).ratings.labels == ("soso", "very good")


def test_labels_that_look_like_one_number_get_a_remark():
    text = 'who,what,says\na,1,2.5\nb,1,"2,5"\na,2,1000\nb,2,1 000\na,3,1\nb,3,\uff11\nc,3,one\n'
    notes = [note for note in read(text).notes if "number" in note]
    assert sorted(notes, reverse=True) == [
        "says: '2.5' (1) and '2,5' (1) may be one number; --recode 2,5=2.5 reads them as one",
        "says: '1000' (1) and '1 000' (1) may be one number; --recode '1 000=1000' reads them as one",
        "says: '1' (1) and '\uff11' (1) may be one number; --recode '\uff11=1' reads them as one",
    ]
    message = refused('who,what,says\na,1,"2,5"\n', level="interval")
    assert "'2,5': expected a number with a decimal point" in message


@pytest.mark.parametrize("word", ["-", "?", "#DIV/0!", "k.A.", "keine Angabe", "manquant", "\u6b20\u640d"])
def test_words_for_missing_of_other_programs_and_languages_get_a_remark(word):
    [note] = read(f"who,what,says\na,1,yes\nb,1,{word}\n").notes
    assert f"{word!r} (1) is kept as a label; --missing" in note


def test_missing_and_recoded_labels_are_found_however_their_numbers_are_written():
    text = "who,what,says\na,1,-9.0\nb,1,1.0\na,2,yes\n"
    found = read(text, spelling=Spelling(missing=["-9"], recode={"1": "yes"}))
    assert (found.ratings.labels, found.blank) == (("yes",), 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"who": "a", "what": "1", "says": NaN}', "NaN is not JSON; write null"),
        ('{"who": "a", "what": "1", "says": "x", "says": "y"}', "the key 'says' occurs twice"),
        ('{"who": "a", "what": "1", "says": "\\ud800"}', "lone surrogate"),
        ('{"who": "a", "what": "1", "says": ["x"]}', "r.jsonl:1: says: \"['x']\": expected text, a number"),
        ('[{"who": "a", "what": "1", "says": "x"}]', "is a JSON list; expected one JSON object per line"),
    ],
)
def test_json_is_read_as_strictly_as_in_imports(line, message):
    assert message in refused(line, name="r.jsonl")


def test_errors_about_labels_say_what_to_do():
    text = "who,what,says\na,1,NA\nb,1,2\n"
    assert "'NA': expected a number; --missing NA reads it as no answer" in refused(text, level="interval")
    assert "--recode OLD=NEW" in refused(text, order=["1", "2"])


def test_a_column_of_clusters():
    text = "who,what,says,of\nb,2,x,d1\na,1,x,d2\nb,1,y,d2\na,2,x,d1\na,0,x,d1\n"
    table = read(text, cluster="of").ratings
    assert table.units == ("0", "1", "2")
    clusters = table.clusters.tolist()
    assert clusters[0] == clusters[2] != clusters[1]
    message = refused(text + "c,1,x,d1\n", cluster="of")
    assert message == "r.csv:7: of: 'd1': '1' belongs to 'd2' in line 3"
    assert "r.csv:7: of: blank; expected a cluster" in refused(text + "c,1,x,\n", cluster="of")


def parquet_of(rows: list[dict]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


ROWS = [dict(zip(("who", "what", "says"), line.split(","), strict=True)) for line in GOOD.split()[1:]]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.tsv", GOOD.replace(",", "\t").encode()),
        ("r.csv", GOOD.replace(",", ";").encode()),
        ("r.dat", GOOD.encode("utf-16")),
        ("r.csv.gz", gzip.compress(GOOD.encode())),
        ("r.jsonl", "\n".join(map(json.dumps, ROWS)).encode()),
        ("r.parquet", parquet_of(ROWS)),
        ("r.xlsx", workbook([list(ROWS[0]), *(list(row.values()) for row in ROWS)])),
    ],
    ids=["tsv", "semicolons", "UTF-16", "gz", "JSON lines", "Parquet", "Excel"],
)
def test_the_same_table_from_every_format(name, content):
    assert rows_of(read(content, name=name).ratings) == rows_of(read(GOOD).ratings)


def test_numbers_and_blanks_of_parquet_and_json():
    rows = [
        {"who": 1, "what": "a", "says": 3.0},
        {"who": 2, "what": "a", "says": None},
        {"who": 2, "what": "b", "says": 1.0},
    ]
    for name, content in (
        ("r.parquet", parquet_of(rows)),
        ("r.jsonl", "\n".join(map(json.dumps, rows)).encode()),
    ):
        found = read(content, name=name)
        assert (found.ratings.raters, found.ratings.labels, found.blank) == (("1", "2"), ("1", "3"), 1)
    assert "r.jsonl: there is no column 'who'" in refused(b'{"a": 1}', name="r.jsonl")
    assert "r.jsonl:2: '{': is not JSON" in refused(b'{"who": 1}\n{', name="r.jsonl")
    assert "r.csv: is a PDF; expected plain text" in refused(b"%PDF-1.7")


def test_large_files_with_semicolons_are_read_the_same(monkeypatch):
    monkeypatch.setattr(reading_module, "LARGE", 1)
    assert rows_of(read(GOOD.replace(",", ";")).ratings) == rows_of(read(GOOD).ratings)


def test_reading_a_large_file_does_not_import_pandas(tmp_path):
    """Some of pyarrow's methods import it, and with it 40 MB."""
    file = tmp_path / "ratings.csv"
    rows = [f"rater-{rater},unit-{unit:06},yes" for unit in range(20_000) for rater in range(3)]
    file.write_text("\n".join(["who,what,says", *rows]))
    code = (
        "import sys\n"
        "from evaluation.agreement.reading import read_ratings\n"
        "read = read_ratings(sys.argv[1], rater='who', unit='what', value='says')\n"
        "print(len(read.ratings), 'pyarrow' in sys.modules, 'pandas' in sys.modules)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["60000", "True", "False"]


@pytest.mark.parametrize("value", [["yes"], {"said": "yes"}, b"yes"], ids=["list", "object", "bytes"])
def test_a_column_of_parquet_that_holds_no_labels_is_an_error(value):
    rows = [{"who": "a", "what": "1", "says": value}]
    message = refused(parquet_of(rows), name="r.parquet")
    assert message.startswith("r.parquet: says: is a column of type ")
    assert message.endswith("expected text, numbers, true or false")
