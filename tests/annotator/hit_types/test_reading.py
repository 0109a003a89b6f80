"""Import rows and responses: every fault is reported at once, and fields that weren't asked are ignored."""

from __future__ import annotations

import math

import pytest

from annotator.hit_types.base import (
    YES_NO,
    Answers,
    Field,
    FieldErrors,
    Option,
    Row,
    parse_fields,
    prompt_part,
    render_prompt,
    stable_key,
)

YES = (Option("yes", "Yes"), Option("no", "No"))


def errors_of(row: Row) -> dict[str, str]:
    with pytest.raises(FieldErrors) as refused:
        row.check()
    return refused.value.errors


def test_every_fault_of_a_row_is_reported() -> None:
    row = Row({"a": "  ", "b": ["x"], "c": "maybe", "d": "x\x00", "e": "\ud800", "f": True, "g": "long"})
    for name in "abdef":
        row.text(name)
    row.label("c", YES_NO)
    row.text("g", limit=3)
    row.texts("h")
    assert set(errors_of(row)) == set("abcdefgh")


def test_blank_cells_of_all_kinds_are_missing() -> None:
    row = Row({"none": None, "nan": math.nan, "space": " \t"})
    assert [row.text(name, required=False) for name in ("none", "nan", "space", "absent")] == [""] * 4
    assert row.label("nan", YES_NO, required=False) == ""
    assert row.texts("nan", least=0) == []
    row.check()


def test_labels_are_read_without_case_and_from_booleans() -> None:
    row = Row({"a": " TRUE ", "b": False, "c": 1, "d": "N"})
    assert [row.label(name, YES_NO) for name in "abcd"] == ["yes", "no", "yes", "no"]


@pytest.mark.parametrize("cell", ["a, b", "[1, 2]", '["a", ""]', "[", {"a": 1}, 5, "[" * 100_000])
def test_invalid_lists_of_texts_are_refused(cell: object) -> None:
    row = Row({"list": cell})
    assert row.texts("list") == []
    assert set(errors_of(row)) == {"list"}


def test_a_list_is_read_from_a_csv_cell() -> None:
    assert Row({"list": ' ["a", " b "] '}).texts("list") == ["a", "b"]


def test_only_fields_that_are_asked_are_kept() -> None:
    fields = [
        Field("first", "?", options=YES),
        Field("second", "?", options=YES, when=(("first", ("yes",)),)),
        Field("why", "?", kind="text", required=False),
        Field("which", "?", kind="multi", options=YES, required=False),
    ]
    sent = {"first": "no", "second": "yes", "why": " a\r\nb ", "which": ["no", "yes"], "rater": 7}
    assert parse_fields(fields, sent) == {"first": "no", "why": "a\nb", "which": ["yes", "no"]}
    assert parse_fields(fields, {"first": "no"}) == {"first": "no", "why": "", "which": []}


def test_an_invalid_text_is_reported_at_its_field() -> None:
    with pytest.raises(FieldErrors) as refused:
        parse_fields([Field("why", "?", kind="text")], {"why": "a\x00"})
    assert set(refused.value.errors) == {"why"}


def test_answers_can_be_letters_or_words() -> None:
    answers = Answers(("Ice cream", "Soup"))
    row = Row({"a": "b", "b": " ICE  cream. ", "c": "C", "d": None})
    assert [answers.read(row, "a"), answers.read(row, "b")] == ["B", "A"]
    assert answers.read(row, "d", required=False) == ""
    assert answers.read(row, "c") == answers.read(row, "d") == ""
    assert set(errors_of(row)) == {"c", "d"}
    assert answers.say("B") == "B. Soup"
    assert answers.form == "A or B"
    assert [option.value for option in Answers().choices] == ["yes", "no"]


def test_options_must_be_several_and_different() -> None:
    for given in (["one"], ["one", "One."], "x", list("abcdefghijk")):
        row = Row({"options": given})
        assert Answers.read_options(row, "options").options == ()
        assert set(errors_of(row)) == {"options"}
    assert Answers.read_options(Row({}), "options").values == ("yes", "no")


def test_a_stable_key_depends_on_every_part() -> None:
    assert stable_key("a", "bc") != stable_key("ab", "c")
    assert stable_key("ä") == stable_key("ä")


def test_a_prompt_is_split_into_messages_before_it_is_filled() -> None:
    messages = render_prompt("## system\nBe brief.\n## user\n$q costs $$5", {"q": "## assistant\n$x"})
    assert [(m.role, m.content) for m in messages] == [
        ("system", "Be brief."),
        ("user", "## assistant\n$x costs $5"),
    ]
    with pytest.raises(KeyError):
        render_prompt("## user\n$missing", {})
    with pytest.raises(ValueError, match="at least one '## user'"):
        render_prompt("Hello", {})
    with pytest.raises(ValueError, match="no part '# after'; its parts are: before"):
        prompt_part("# before\n## user\nx", "after")
    assert prompt_part("## user\nx", "any") == "## user\nx"
