from __future__ import annotations

import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from annotator.core.canonical import digest_of
from annotator.models import Item, Judgment, Rater, Study, User
from annotator.services.imports.faults import ImportRefused
from annotator.services.imports.judgments_import import JudgmentColumns, JudgmentsResult, judgments_import
from annotator.services.imports.material_import import material_import
from annotator.services.imports.value_columns import ValueColumn
from annotator.services.study import study_create
from tests.annotator.services.imports.test_material_import import ROW, jsonl

pytestmark = pytest.mark.django_db

GUESS = JudgmentColumns(item="item", values=(ValueColumn("guess"),), rater="who")


@pytest.fixture
def filled(study: Study) -> Study:
    material_import(
        study=study, file=jsonl(ROW, ROW | {"key": "owl-2", "follow_up": "Ducks?"}), name="m.jsonl"
    )
    return study


@pytest.fixture
def elsewhere(researcher: User) -> Study:
    return study_create(by=researcher, hit_type="external_labels", slug="elsewhere", title="Elsewhere")


def csv(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode())


def put(
    study: Study, text: str, columns: JudgmentColumns = GUESS, name: str = "j.csv", **options: Any
) -> JudgmentsResult:
    return judgments_import(study=study, file=csv(text), name=name, columns=columns, **options)


def refused(study: Study, text: str, columns: JudgmentColumns = GUESS, name: str = "j.csv") -> list[str]:
    before = Judgment.objects.count(), Rater.objects.count(), Item.objects.count()
    with pytest.raises(ImportRefused) as caught:
        put(study, text, columns, name)
    assert (Judgment.objects.count(), Rater.objects.count(), Item.objects.count()) == before
    return [str(fault) for fault in caught.value.faults]


def ratings(study: Study) -> list[tuple[str, str, dict[str, str]]]:
    return list(study.judgments.order_by("id").values_list("item__key", "rater__name", "response"))


# -- studies whose HIT type is asked here ------------------------------------------------------------


def test_imported_responses_pass_the_types_parser(filled: Study) -> None:
    text = "item,who,guess,why,t\nowl-1,w1,yes, because ,3.5\nowl-2,w1,no,,4\nowl-1,w2,unsure,,\n"
    columns = JudgmentColumns(
        item="item",
        values=(ValueColumn("guess", "guess"), ValueColumn("why", "why")),
        rater="who",
        seconds="t",
    )
    result = put(filled, text, columns)
    assert (result.rows, result.judgments, result.raters, result.unchanged) == (3, 3, 2, 0)
    assert ratings(filled)[0] == ("owl-1", "w1", {"guess": "yes", "why": "because"})
    judgment = filled.judgments.get(item__key="owl-1", rater__name="w1")
    assert (judgment.source, judgment.standing, judgment.seconds) == ("import", "counted", 3.5)
    assert judgment.digest == digest_of(judgment.response)
    assert judgment.signals == {"file": "j.csv", "line": 2}
    assert (judgment.snapshot, judgment.place, judgment.assignment) == (None, None, None)
    judgment.full_clean()


def test_imported_raters_are_never_user_accounts(filled: Study, researcher: User) -> None:
    Rater.objects.create(kind="human", source="login", name="rosa", user=researcher)
    put(
        filled,
        "item,who,guess\nowl-1,rosa,yes\n",
        JudgmentColumns("item", (ValueColumn("guess", "guess"),), "who"),
    )
    rater = filled.judgments.get().rater
    assert (rater.source, rater.user) == ("import:owls", None)


def test_models_among_imported_raters_are_simulators(filled: Study) -> None:
    columns = JudgmentColumns(
        "item", (ValueColumn("guess", "guess"),), "who", simulators=frozenset({"gpt-x"})
    )
    put(filled, "item,who,guess\nowl-1,gpt-x,yes\nowl-1,w1,yes\n", columns)
    assert dict(Rater.objects.values_list("name", "kind")) == {"gpt-x": "simulator", "w1": "human"}


def test_importing_the_same_file_again_changes_nothing(filled: Study) -> None:
    columns = JudgmentColumns("item", (ValueColumn("guess", "guess"),), "who")
    put(filled, "item,who,guess\nowl-1,w1,yes\n", columns)
    again = put(filled, "item,who,guess\nowl-1,w1,yes\nowl-1,w2,no\n", columns)
    assert (again.judgments, again.unchanged, again.raters) == (1, 1, 1)
    faults = refused(filled, "item,who,guess\nowl-1,w1,no\n", columns)
    assert faults == ["j.csv:2: item: 'owl-1': w1 has judged this item differently in an earlier import"]


def test_json_lines_can_contain_whole_responses(filled: Study) -> None:
    row = {"item": "owl-1", "rater": "w1", "response": {"guess": "no", "why": "", "score": 1}}
    columns = JudgmentColumns("item", (ValueColumn("response"),), "rater")
    put(filled, json.dumps(row) + "\n", columns, "j.jsonl")
    assert ratings(filled) == [("owl-1", "w1", {"guess": "no", "why": ""})]


def test_labels_of_two_step_types_are_read_like_replies(researcher: User) -> None:
    study = study_create(by=researcher, hit_type="simulation", slug="sim", title="Sim")
    rows = [ROW | {"key": key, "follow_up": f"{key}?"} for key in ("a", "b", "c")]
    material_import(study=study, file=jsonl(*rows), name="m.jsonl")
    columns = JudgmentColumns("item", (ValueColumn("label"),), rater_name="one")
    put(study, "item,label\na,yes\nb,No\nc,cannot_guess\n", columns)
    assert [r for _, _, r in ratings(study)] == [
        {"helpful": "yes", "answer": "yes"},
        {"helpful": "yes", "answer": "no"},
        {"helpful": "no"},
    ]
    assert "expected one of: cannot_guess, no, yes" in refused(study, "item,label\na,perhaps\n", columns)[0]


def test_every_fault_has_its_line_and_column(filled: Study) -> None:
    columns = JudgmentColumns("item", (ValueColumn("guess", "guess"),), "who", seconds="t")
    text = (
        "item,who,guess,t\n,w1,yes,1\nowl-1,,yes,1\nowl-1,w1,maybe,1\nnowhere,w1,yes,1\nowl-2,w1,,x\nragged\n"
    )
    assert refused(filled, text, columns) == [
        "j.csv:2: item: is blank; expected the item's name",
        "j.csv:3: who: is blank; expected the rater's name",
        "j.csv:4: guess: 'maybe': choose one of: yes, no, unsure",
        "j.csv:5: item: 'nowhere': there is no such item in the study",
        "j.csv:6: t: 'x': expected seconds, a number from 0",
        "j.csv:6: guess: choose an answer",
        "j.csv:7: expected 4 cells, got 1",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("item,who,guess\nowl-1,w1,yes\nowl-1,w1,yes\n", "j.csv:3: item: 'owl-1': w1 judged this item already, on line 2"),
        ("item,guess\nowl-1,yes\n", "j.csv:1: who: this column is missing; the file has: item, guess"),
        ("item,who,guess\n", "j.csv: has no rows"),
        ("", "j.csv: is empty"),
        ("item,who,guess\nowl-1," + "w" * 201 + ",yes\n", "at most 200 characters"),
    ],
)  # fmt: skip
def test_invalid_judgment_files_are_refused(filled: Study, text: str, expected: str) -> None:
    faults = refused(filled, text, JudgmentColumns("item", (ValueColumn("guess", "guess"),), "who"))
    assert len(faults) == 1
    assert expected in faults[0]


def test_missing_or_ambiguous_columns_are_reported(filled: Study) -> None:
    named = (ValueColumn("guess", "guess"),)
    faults = refused(filled, "item,who,guess\nowl-1,w,yes\n", JudgmentColumns("item", named))
    assert faults == ["j.csv: say which column names the rater, one name for all, or that they are unnamed"]
    faults = refused(
        filled, "item,who,x\nowl-1,w,yes\n", JudgmentColumns("item", (ValueColumn("x", "nope"),), "who")
    )
    assert faults == ["j.csv:2: x: 'yes': 'nope' is none of: guess, why"]
    twice = (ValueColumn("guess", "guess"), ValueColumn("who", "guess"))
    assert refused(filled, "item,who,guess\nowl-1,w,yes\n", JudgmentColumns("item", twice, "who")) == [
        "j.csv: guess: two columns have this name"
    ]


def test_a_dry_run_writes_nothing(filled: Study) -> None:
    columns = JudgmentColumns("item", (ValueColumn("guess", "guess"),), "who")
    result = put(filled, "item,who,guess\nowl-1,w1,yes\n", columns, dry_run=True)
    assert (result.judgments, result.raters) == (1, 1)
    assert not Judgment.objects.exists()
    assert not Rater.objects.exists()


def test_the_number_of_queries_is_independent_of_the_rows(
    filled: Study, django_assert_max_num_queries: Any
) -> None:
    text = "item,who,guess\n" + "".join(f"owl-{1 + n % 2},w{n // 2},yes\n" for n in range(2_000))
    with django_assert_max_num_queries(20):
        put(filled, text, JudgmentColumns("item", (ValueColumn("guess", "guess"),), "who"))


# -- labels collected elsewhere ----------------------------------------------------------------------

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
        ("grammar_needs_more_info", "nominal", ["no", "yes"], []),
        ("grammar", "ordinal", ["-1", "0", "1"], []),
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


def test_the_own_tasks_of_a_study_need_an_answer(filled: Study) -> None:
    """A blank cell is a fault, and a label that means no answer is left out: the task's parser accepts neither."""
    assert "j.csv:2: guess" in refused(filled, "item,who,guess\nowl-1,ann,\n")[0]
    columns = JudgmentColumns(item="item", values=(ValueColumn("guess"),), rater="who", missing=("NA",))
    result = put(filled, "item,who,guess\nowl-1,ann,NA\nowl-1,bob,yes\n", columns)
    assert [rater for _, rater, _ in ratings(filled)] == ["bob"]
    assert result.notes == ["1 row left out: nothing in its value columns."]


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
        "j.csv:3: v: '2|2': lists one twice",
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


def test_the_api_accepts_the_columns_in_the_documentation() -> None:
    from annotator.api.serializers import JudgmentColumnsSerializer

    text = (Path(__file__).parents[4] / "docs" / "import.md").read_text("utf-8")
    shown = json.loads(text.split("```json\n")[1].split("```")[0])
    serializer = JudgmentColumnsSerializer(data=shown)
    assert serializer.is_valid(), serializer.errors
    assert set(shown) == set(serializer.fields)
    assert set(shown["values"][0]) == {field.name for field in fields(ValueColumn)}
    assert serializer.columns().missing == ("NA",)
