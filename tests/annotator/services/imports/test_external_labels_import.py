"""Import labels that were collected elsewhere, with the variables that the file declares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from annotator.models import Rater, Study, User
from annotator.services.exports import judgments_export
from annotator.services.imports.judgments_import import JudgmentColumns
from annotator.services.imports.value_columns import ValueColumn
from annotator.services.study import study_create
from tests.annotator.services.imports.judgments_files import put, ratings, refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def elsewhere(researcher: User) -> Study:
    return study_create(by=researcher, hit_type="external_labels", slug="elsewhere", title="Elsewhere")


BATCH = """\
Input.id,Input.question,AssignmentStatus,WorkTimeInSeconds,Answer.acceptable,Answer.grammar
q1,Owls?,Approved,12,1|2,1
q1,Owls?,Approved,13,,-1
q2,Ducks?,Rejected,1,1,1
q2,Ducks?,Approved,14,2,-9
"""


def test_a_batch_file_without_worker_names_is_imported(elsewhere: Study) -> None:
    columns = JudgmentColumns(
        item="Input.id",
        values=(
            ValueColumn("Answer.acceptable", listed=("1", "2")),
            ValueColumn("Answer.grammar", level="ordinal", labels=("-1", "0", "1")),
        ),
        aside={"-9": "needs_more_info"},
    )
    result = put(elsewhere, BATCH, columns)
    assert (result.items, result.judgments, result.raters) == (2, 3, 2)
    assert ratings(elsewhere) == [
        (
            "q1",
            "unnamed 1",
            {"acceptable.1": "yes", "acceptable.2": "yes", "grammar": "1", "grammar_needs_more_info": "no"},
        ),
        (
            "q1",
            "unnamed 2",
            {"acceptable.1": "no", "acceptable.2": "no", "grammar": "-1", "grammar_needs_more_info": "no"},
        ),
        ("q2", "unnamed 1", {"acceptable.1": "no", "acceptable.2": "yes", "grammar_needs_more_info": "yes"}),
    ]
    assert [n.split(":")[0] for n in result.notes] == ["No column names the raters", "1 row left out"]
    assert elsewhere.judgments.order_by("id").first().seconds == 12.0
    item = elsewhere.items.get(key="q1")
    assert item.payload["text"] == "question: Owls?"
    assert [(v["name"], v["level"], v["labels"], v["units"]) for v in item.payload["variables"]] == [
        ("acceptable", "nominal", ["no", "yes"], ["1", "2"]),
        ("grammar", "ordinal", ["-1", "0", "1"], []),
        ("grammar_needs_more_info", "nominal", ["no", "yes"], []),
    ]


def test_variables_are_in_the_order_of_their_columns_whatever_the_first_rows_contain(
    elsewhere: Study,
) -> None:
    """The first variable is the study's headline, which a value set aside must not become."""
    text = "q,r,good,clear\nq1,a,-9,\nq1,b,1,2\n"
    columns = JudgmentColumns("q", (ValueColumn("good"), ValueColumn("clear")), "r", aside={"-9": "unsure"})
    result = put(elsewhere, text, columns)
    assert [v["name"] for v in result.variables] == ["good", "good_unsure", "clear"]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_a_value_set_aside_is_found_however_its_number_is_written(elsewhere: Study, level: str) -> None:
    text = "q,r,v\nq1,a,-9.0\nq1,b,1.0\nq2,a,2.0\n"  # pandas, in a column with blank cells
    put(elsewhere, text, JudgmentColumns("q", (ValueColumn("v", level=level),), "r", aside={"-9": "unsure"}))
    assert [response for _, _, response in ratings(elsewhere)] == [
        {"v_unsure": "yes"},
        {"v": "1", "v_unsure": "no"},
        {"v": "2", "v_unsure": "no"},
    ]


def test_missing_labels_and_recoded_ones_are_found_however_their_numbers_are_written(
    elsewhere: Study,
) -> None:
    text = "q,r,v\nq1,a,-9.0\nq1,b,1.0\n"
    columns = JudgmentColumns("q", (ValueColumn("v"),), "r", missing=("-9",), recode={"1": "yes"})
    put(elsewhere, text, columns)
    assert [response for _, _, response in ratings(elsewhere)] == [{}, {"v": "yes"}]


def test_lists_in_json_name_units_and_nothing_else(elsewhere: Study) -> None:
    text = '{"q": "q1", "r": "a", "v": ["1", 3], "w": "x"}\n{"q": "q1", "r": "b", "v": [], "w": "x"}\n'
    columns = JudgmentColumns("q", (ValueColumn("v", listed=("1", "2", "3")), ValueColumn("w")), "r")
    put(elsewhere, text, columns, "j.jsonl")
    assert [(r["v.1"], r["v.2"], r["v.3"]) for _, _, r in ratings(elsewhere)] == [
        ("yes", "no", "yes"),
        ("no", "no", "no"),
    ]


def test_a_list_is_no_label(elsewhere: Study) -> None:
    text = '{"q": "q1", "r": "a", "v": ["yes"]}\n{"q": "q1", "r": "b", "v": "no"}\n'
    [fault] = refused(elsewhere, text, JudgmentColumns("q", (ValueColumn("v"),), "r"), "j.jsonl")
    assert fault.endswith("expected one label: text, a number, true or false")


def test_correct_labels_that_nobody_gave_are_mentioned(elsewhere: Study) -> None:
    text = "q,r,v,right\nq1,a,yes,Yes\nq1,b,no,Yes\nq2,a,no,no\n"
    result = put(elsewhere, text, JudgmentColumns("q", (ValueColumn("v", gold="right"),), "r"))
    assert result.notes == [
        "v: 'Yes' (2) and 'yes' (1) differ in case or form only; --fold-case reads them as one",
        "v: nobody gave 'Yes'; as a correct label it counts as one of the labels, whose number AC1 and AC2 depend on",
    ]


def test_worker_ids_are_used_if_there_are_any(elsewhere: Study) -> None:
    text = "WorkerId,Input.id,Answer.label\nA1,q1,yes\nA2,q1,no\n"
    result = put(elsewhere, text, JudgmentColumns("Input.id", (ValueColumn("Answer.label"),)))
    assert result.notes == []
    assert [(rater, r) for _, rater, r in ratings(elsewhere)] == [
        ("A1", {"label": "yes"}),
        ("A2", {"label": "no"}),
    ]


def test_numbers_and_recoded_labels_are_read_from_a_long_table(elsewhere: Study) -> None:
    text = '{"u": 1, "r": "a", "v": true}\n{"u": 1, "r": "b", "v": false}\n{"u": 2.0, "r": "a", "v": null}\n'
    columns = JudgmentColumns("u", (ValueColumn("v"),), "r", recode={"true": "yes"}, skip_blank=True)
    result = put(elsewhere, text, columns, "j.jsonl")
    assert [(i, r, v) for i, r, v in ratings(elsewhere)] == [
        ("1", "a", {"v": "yes"}),
        ("1", "b", {"v": "false"}),
    ]
    assert result.notes == ["1 row left out: nothing in its value columns."]


def test_a_row_without_a_label_is_a_judgment_without_an_answer(elsewhere: Study) -> None:
    columns = JudgmentColumns("u", (ValueColumn("v"), ValueColumn("w")), "r", missing=("NA",))
    text = "u,r,v,w\n1,a,yes,\n1,b,,\n2,a,NA,\n2,b,NA,no\n"
    result = put(elsewhere, text, columns)
    assert ratings(elsewhere) == [
        ("1", "a", {"v": "yes"}),
        ("1", "b", {}),
        ("2", "a", {}),
        ("2", "b", {"w": "no"}),
    ]
    assert result.notes == [
        "2 rows without a label: stored as judgments without an answer, which reports leave out and count, or count as "
        "wrong if you choose that."
    ]
    again = put(elsewhere, text, columns)
    assert (again.judgments, again.unchanged) == (0, 4)
    assert refused(elsewhere, "u,r,v,w\n1,b,yes,\n", columns) == [
        "j.csv:2: u: '1': b has judged this item differently in an earlier import"
    ]


def test_a_missing_label_lists_no_units_but_a_blank_cell_lists_none_of_them(elsewhere: Study) -> None:
    columns = JudgmentColumns(
        "u", (ValueColumn("v", listed=("1", "2")), ValueColumn("w")), "r", missing=("NA",)
    )
    put(elsewhere, "u,r,v,w\n1,a,1,x\n1,b,,\n1,c,NA,\n1,d,NA,x\n", columns)
    assert [response for _, _, response in ratings(elsewhere)] == [
        {"v.1": "yes", "v.2": "no", "w": "x"},
        {"v.1": "no", "v.2": "no"},
        {},
        {"w": "x"},
    ]


def test_a_file_without_any_label_is_refused(elsewhere: Study) -> None:
    faults = refused(elsewhere, "u,r,v\n1,a,\n2,a,\n", JudgmentColumns("u", (ValueColumn("v"),), "r"))
    assert faults == ["j.csv: v: no row has a label; expected one in at least one row"]


def test_undeclared_labels_are_refused(elsewhere: Study) -> None:
    columns = JudgmentColumns("u", (ValueColumn("v", labels=("low", "high"), level="ordinal"),), "r")
    assert refused(elsewhere, "u,r,v\n1,a,low\n1,b,middle\n", columns) == [
        "j.csv:3: v: 'middle': choose one of: low, high"
    ]
    put(elsewhere, "u,r,v\n1,a,low\n", columns)
    assert "choose one of: low, high" in refused(elsewhere, "u,r,v\n2,a,other\n", columns)[0]


def test_unknown_and_repeated_units_are_refused(elsewhere: Study) -> None:
    columns = JudgmentColumns("u", (ValueColumn("v", listed=("1", "2")),), "r")
    faults = refused(elsewhere, "u,r,v\n1,a,1|3\n1,b,2|2\n", columns)
    assert faults == [
        "j.csv:2: v: '1|3': '3' is not among 1, 2; listed with '|' between them",
        "j.csv:3: v: '2|2': lists the same entry twice",
    ]


def test_faults_are_reported_once_although_the_file_is_read_several_times(elsewhere: Study) -> None:
    columns = JudgmentColumns("u", (ValueColumn("v"),), "r")
    assert refused(elsewhere, "u,r,v\nragged\n1,,x\n\x00\n", columns) == [
        "j.csv:2: expected 3 cells, got 1",
        "j.csv:3: r: is blank; expected the rater's name",
        "j.csv:4: has a NUL byte at byte 1 of the line",
    ]
    assert refused(elsewhere, 'nonsense\n{"u": 1, "v": "a"}\n', columns, "j.jsonl") == [
        "j.jsonl:1: 'nonsense': is not JSON: Expecting value at character 1",
        "j.jsonl:2: r: is blank; expected the rater's name",
    ]
    assert refused(elsewhere, "u,r,v\n1,a," + "x" * 1_000_001 + "\n", columns) == [
        "j.csv:2: expected lines of at most 1,000,000 bytes"
    ]


def test_a_second_file_adds_items_while_the_study_is_a_draft(elsewhere: Study) -> None:
    columns = JudgmentColumns("u", (ValueColumn("v", labels=("x", "y")),), "r")
    put(elsewhere, "u,r,v\n1,a,x\n", columns)
    assert put(elsewhere, "u,r,v\n1,b,y\n2,a,x\n", columns).items == 1
    assert elsewhere.judgments.count() == 3


def test_a_variable_with_many_labels_is_free_text(elsewhere: Study) -> None:
    text = "u,r,v\n" + "".join(f"1,r{n},label {n}\n" for n in range(300))
    result = put(elsewhere, text, JudgmentColumns("u", (ValueColumn("v"),), "r"))
    assert result.variables[0]["labels"] == []
    assert result.judgments == 300


# -- one label, several spellings -----------------------------------------------------------------------


def variable_of(study: Study) -> dict[str, Any]:
    payload = study.items.values_list("payload", flat=True)[0]
    return dict(payload["variables"][0])


@pytest.mark.parametrize(
    ("labels", "order"), [("9 2 10", ["2", "9", "10"]), ("0.5 -1 10", ["-1", "0.5", "10"])]
)
def test_undeclared_ordinal_numbers_are_ordered_by_size(
    elsewhere: Study, labels: str, order: list[str]
) -> None:
    rows = "".join(f"{n},a,{label}\n" for n, label in enumerate(labels.split()))
    put(elsewhere, f"u,r,v\n{rows}", JudgmentColumns("u", (ValueColumn("v", level="ordinal"),), "r"))
    assert variable_of(elsewhere)["labels"] == order


def test_undeclared_ordinal_words_are_refused(elsewhere: Study) -> None:
    """Sorted by name they would give another alpha, and nobody would know."""
    columns = JudgmentColumns("u", (ValueColumn("v", level="ordinal"),), "r")
    assert refused(elsewhere, "u,r,v\n1,a,low\n1,b,high\n2,a,mid\n", columns) == [
        "j.csv: v: ordinal labels that are not numbers need their order, from low to high, as in --labels"
        " v=low,mid,high; the file has: 'high', 'low', 'mid'"
    ]


@pytest.mark.parametrize("level", ["interval", "ratio"])
def test_numbers_are_parsed_at_interval_and_ratio_level(elsewhere: Study, level: str) -> None:
    columns = JudgmentColumns("u", (ValueColumn("v", level=level),), "r")
    put(elsewhere, "u,r,v\n1,a,0\n1,b,0.0\n2,a,1.50\n2,b,1.5\n3,a,1e1\n", columns)
    assert [response["v"] for _, _, response in ratings(elsewhere)] == ["0", "0", "1.5", "1.5", "10"]


def test_a_word_among_numbers_is_reported_with_advice(elsewhere: Study) -> None:
    columns = JudgmentColumns("u", (ValueColumn("v", level="interval"),), "r")
    text = "u,r,v\n1,a,1\n1,b,NA\n"
    assert refused(elsewhere, text, columns) == [
        "j.csv:3: v: 'NA': expected a number, as interval labels are; --missing NA reads it as no answer"
    ]
    columns = JudgmentColumns("u", (ValueColumn("v", level="interval"),), "r", missing=("NA",))
    assert put(elsewhere, text, columns).judgments == 2
    assert [response for _, _, response in ratings(elsewhere)] == [{"v": "1"}, {}]


def test_whole_numbers_written_by_pandas_lose_their_fraction(elsewhere: Study) -> None:
    columns = JudgmentColumns("u", (ValueColumn("v", labels=("1", "2", "3"), level="ordinal"),), "r")
    put(elsewhere, "u,r,v\n1,a,3.0\n1,b,3\n2,a,1.0\n", columns)
    assert [response["v"] for _, _, response in ratings(elsewhere)] == ["3", "3", "1"]


def test_many_numbers_lose_their_fraction_too(elsewhere: Study) -> None:
    """With more labels than are declared, 3.0 and 3 are one label just as with few."""
    rows = "".join(f"{n},a,{n}.0,{n}\n{n},b,{n},{n}\n" for n in range(300))
    columns = JudgmentColumns("u", (ValueColumn("v", gold="right"),), "r")
    result = put(elsewhere, f"u,r,v,right\n{rows}", columns)
    assert (result.variables[0]["labels"], result.notes) == ([], [])
    assert [response["v"] for _, _, response in ratings(elsewhere)] == [
        str(n) for n in range(300) for _ in "ab"
    ]


def test_labels_are_counted_after_their_spellings_are_merged(elsewhere: Study) -> None:
    rows = "".join(f"{n},a,{n}.0\n{n},b,{n}\n" for n in range(150))
    put(elsewhere, f"u,r,v\n{rows}", JudgmentColumns("u", (ValueColumn("v"),), "r"))
    assert variable_of(elsewhere)["labels"] == [str(n) for n in range(150)]


def test_many_labels_are_folded_and_get_remarks(elsewhere: Study) -> None:
    rows = "".join(f"{n},a,Word {n}\n{n},b,word {n}\n" for n in range(250)) + "0,c,NA\n"
    columns = JudgmentColumns("u", (ValueColumn("v"),), "r")
    result = put(elsewhere, f"u,r,v\n{rows}", columns, dry_run=True)
    assert result.notes[0].startswith("v: 'Word 0' (1) and 'word 0' (1) differ in case or form only")
    assert result.notes[-2:] == [
        "v: 240 more groups of labels differ in case or form only",
        "v: 'NA' (1) is kept as a label; --missing NA reads it as no answer",
    ]
    put(elsewhere, f"u,r,v\n{rows}", replace(columns, fold_case=True))
    assert len({response["v"] for _, _, response in ratings(elsewhere)}) == 251


def test_equal_numbers_are_one_step_of_an_ordinal_scale(elsewhere: Study) -> None:
    text = "u,r,v\n1,a,2.50\n1,b,2.5\n2,a,10\n2,b,1e1\n"
    put(elsewhere, text, JudgmentColumns("u", (ValueColumn("v", level="ordinal"),), "r"))
    assert variable_of(elsewhere)["labels"] == ["2.5", "10"]


def test_an_ordinal_scale_with_too_many_labels_is_refused(elsewhere: Study) -> None:
    rows = "".join(f"{n},a,{n}\n" for n in range(201))
    columns = JudgmentColumns("u", (ValueColumn("v", level="ordinal"),), "r")
    assert refused(elsewhere, f"u,r,v\n{rows}", columns) == [
        "j.csv: v: 201 different labels; an ordinal variable has at most 200. Import numbers at interval or ratio level, or"
        " read several labels as one with --recode"
    ]


def test_identifiers_of_many_digits_stay_apart(elsewhere: Study) -> None:
    """As floating-point numbers these two are equal."""
    text = "u,r,v\n1,a,9007199254740993\n1,b,9007199254740992.0\n2,a,9007199254740992\n"
    columns = JudgmentColumns("u", (ValueColumn("v"),), "r")
    result = put(elsewhere, text, columns)
    assert (variable_of(elsewhere)["labels"], result.notes) == (["9007199254740992", "9007199254740993"], [])


def test_spellings_of_one_label_are_reported_and_merged_on_request(
    elsewhere: Study, researcher: User
) -> None:
    text = "u,r,v\n1,a,yes\n1,b,Yes\n2,a, yes\n2,b,nan\n3,a,caf\u00e9\n3,b,cafe\u0301\n"
    columns = JudgmentColumns("u", (ValueColumn("v"),), "r")
    result = put(elsewhere, text, columns)
    assert result.notes == [
        "v: 'yes' (2) and 'Yes' (1) differ in case or form only; --fold-case reads them as one",
        "v: 'nan' (1) is kept as a label; --missing nan reads it as no answer",
    ]
    assert variable_of(elsewhere)["labels"] == ["Yes", "caf\u00e9", "nan", "yes"]
    folded = study_create(by=researcher, hit_type="external_labels", slug="folded", title="Folded")
    columns = JudgmentColumns(
        "u", (ValueColumn("v"),), "r", missing=("nan",), fold_case=True, skip_blank=True
    )
    result = put(folded, text, columns)
    assert result.notes == ["1 row left out: nothing in its value columns."]
    assert variable_of(folded)["labels"] == ["caf\u00e9", "yes"]
    # A second file is read by the study's own labels.
    assert put(folded, "u,r,v\n1,c,YES\n", columns).judgments == 1
    assert ratings(folded)[-1] == ("1", "c", {"v": "yes"})


@pytest.mark.parametrize("form", ["judgments", "ratings"])
def test_exported_labels_can_be_imported_again(elsewhere: Study, researcher: User, form: str) -> None:
    """Numbers stay as they are; what a spreadsheet would run gets an apostrophe, which the import drops."""
    labels = ["-1", "+", "=x", "@y", "1", "'tis", "-"]
    text = "q,r,v\n" + "".join(f"q{n},-ann,{label}\n" for n, label in enumerate(labels))
    put(elsewhere, text, JudgmentColumns("q", (ValueColumn("v"),), "r"))
    exported = b"".join(judgments_export(study=elsewhere, form=form)).decode()
    assert "'=x" in exported
    again = study_create(by=researcher, hit_type="external_labels", slug="again", title="Again")
    column = "response.v" if form == "judgments" else "value"
    put(again, exported, JudgmentColumns("item", (ValueColumn(column, "v"),), "rater"))
    assert ratings(again) == ratings(elsewhere)
    assert {rater for _, rater, _ in ratings(again)} == {"-ann"}


def test_a_simulator_that_no_rater_is_called_is_mentioned(elsewhere: Study) -> None:
    """Misspelled, the model counts as a person."""
    text = "q,r,v\nq1,gpt,yes\nq1,ann,no\n"
    columns = JudgmentColumns("q", (ValueColumn("v"),), "r", simulators=frozenset({"gtp"}))
    [note] = put(elsewhere, text, columns, dry_run=True).notes
    assert note.startswith("simulators: no rater is called 'gtp'")
    assert note.endswith("the file's raters are 'ann', 'gpt'")
    assert put(elsewhere, text, replace(columns, simulators=frozenset({" gpt "}))).notes == []
    assert [rater.name for rater in Rater.objects.filter(kind="simulator")] == ["gpt"]
    # A later file of the same study may have judgments of other raters only.
    assert put(elsewhere, "q,r,v\nq1,bob,no\n", replace(columns, simulators=frozenset({"gpt"}))).notes == []
