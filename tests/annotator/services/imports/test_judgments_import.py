from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from annotator.core.canonical import digest_of
from annotator.models import Judgment, Rater, Study, User
from annotator.services.imports.judgments_import import JudgmentColumns
from annotator.services.imports.material_import import material_import
from annotator.services.imports.value_columns import ValueColumn
from annotator.services.study import study_create
from tests.annotator.services.imports.judgments_files import put, ratings, refused
from tests.annotator.services.imports.material_rows import ROW, jsonl

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(study: Study) -> Study:
    material_import(
        study=study, file=jsonl(ROW, ROW | {"key": "owl-2", "follow_up": "Ducks?"}), name="m.jsonl"
    )
    return study


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


def test_the_own_tasks_of_a_study_need_an_answer(filled: Study) -> None:
    """A blank cell is a fault, and a label that means no answer is left out: the task's parser accepts neither."""
    assert "j.csv:2: guess" in refused(filled, "item,who,guess\nowl-1,ann,\n")[0]
    columns = JudgmentColumns(item="item", values=(ValueColumn("guess"),), rater="who", missing=("NA",))
    result = put(filled, "item,who,guess\nowl-1,ann,NA\nowl-1,bob,yes\n", columns)
    assert [rater for _, rater, _ in ratings(filled)] == ["bob"]
    assert result.notes == ["1 row left out: nothing in its value columns."]


def test_the_api_accepts_the_columns_in_the_documentation() -> None:
    from annotator.api.import_serializers import JudgmentColumnsSerializer

    text = (Path(__file__).parents[4] / "docs" / "import.md").read_text("utf-8")
    shown = json.loads(text.split("```json\n")[1].split("```")[0])
    serializer = JudgmentColumnsSerializer(data=shown)
    assert serializer.is_valid(), serializer.errors
    assert set(shown) == set(serializer.fields)
    assert set(shown["values"][0]) == {field.name for field in fields(ValueColumn)}
    assert serializer.columns().missing == ("NA",)
