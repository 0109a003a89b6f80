"""Models' replies: what counts as an answer, what doesn't, and for which reason."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.hit_types.base import (
    YES_NO_LABELS,
    Unparsable,
    label_of,
    read_answer,
    read_answers,
    read_line,
    read_object,
    write_answer,
    write_answers,
)

LABELS = {"yes": ("yes",), "no": ("no",), "cannot_guess": ("cannot guess", "can't guess", "not helpful")}


def kind_of_failure(text: str) -> str:
    with pytest.raises(Unparsable) as refused:
        read_answer(text, LABELS)
    return refused.value.kind


@pytest.mark.parametrize(
    "value",
    [
        "yes",
        "Yes.",
        "**YES**",
        "“yes”",
        "'yes'",
        "`Yes`",
        "(yes)",
        "YES!",
        "yes, because",
        "Yes - it does",
        "Yes\n",
    ],
)
def test_a_label_is_read_in_all_its_spellings(value: str) -> None:
    assert label_of(value.replace("“", '"').replace("”", '"'), LABELS) == "yes"


@pytest.mark.parametrize("value", ["", "yesterday", "no idea", "not yes", "eyes", "perhaps", "y"])
def test_text_that_resembles_a_label_is_not_one(value: str) -> None:
    assert label_of(value, LABELS) is None


@pytest.mark.parametrize("value", ["yes or no", "Yes/No", "YES, not NO", "no (not helpful)"])
def test_two_labels_are_ambiguous(value: str) -> None:
    with pytest.raises(Unparsable) as refused:
        label_of(value, LABELS)
    assert refused.value.kind == "ambiguous"


def test_a_label_contained_in_another_is_not_counted_twice() -> None:
    labels = {"helpful": ("helpful",), "not_helpful": ("not helpful",)}
    assert label_of("Not helpful, since it repeats", labels) == "not_helpful"


def test_the_marked_line_takes_precedence_over_earlier_text() -> None:
    assert read_answer("So the answer is no.\nNo\nANSWER: YES", LABELS) == "yes"


def test_a_quotation_of_the_material_is_not_an_answer() -> None:
    assert kind_of_failure("The robot's answer: yes. The follow-up is about ants.") == "no_answer"
    assert kind_of_failure("Starter question: Can ants fly?\nThe robot answered: Yes.") == "no_answer"


def test_text_after_the_marked_line_is_ignored() -> None:
    assert read_answer("ANSWER: NO\n\nLet me know if you need more!", LABELS) == "no"


def test_the_models_thinking_is_ignored() -> None:
    assert read_answer("<think>ANSWER: NO</think>ANSWER: YES", LABELS) == "yes"
    assert kind_of_failure("<think>I would say ANSWER: NO") == "cut_off"


def test_full_width_letters_and_invisible_characters_are_normalised() -> None:
    assert read_answer("\ufeffＡＮＳＷＥＲ：\u200b ＹＥＳ", LABELS) == "yes"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "no_answer"),
        ("...", "no_answer"),
        ("I cannot help with this.", "refusal"),
        ("I’m sorry, but that is not possible.", "refusal"),
        ("As an AI, I have no view.", "refusal"),
        ("I cannot see how ants could fly.", "no_answer"),
        ("All birds can fly, and by this reasoning a penguin should", "cut_off"),
        ("All birds can fly.\nANSWER:", "cut_off"),
        ("All birds can fly.\nANSWER: CAN", "cut_off"),
        ("ANSWER: 42", "no_answer"),
        ('{"answer": ["yes"]}', "no_answer"),
        ('{"answer": "yes", "answer2": "no"', "no_answer"),
        ("ANSWER: YES\nANSWER: NO", "ambiguous"),
        ('{"answer": "yes"} {"answer": "no"}', "ambiguous"),
    ],
)
def test_the_reason_for_an_unusable_reply_is_named(text: str, kind: str) -> None:
    assert kind_of_failure(text) == kind


def test_deeply_nested_json_is_an_unusable_reply() -> None:
    assert kind_of_failure("[" * 5_000 + "{" * 5_000) in ("no_answer", "cut_off")


def outcome(text: str) -> str:
    try:
        return read_answer(text, LABELS)
    except Unparsable as error:
        return error.kind


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_a_label_or_a_reason(text: str) -> None:
    assert outcome(text) in {*LABELS, "refusal", "cut_off", "ambiguous", "no_answer"}


@settings(max_examples=50, deadline=None)
@given(
    st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=80).filter(
        lambda t: "answer" not in t.lower() and "<" not in t
    ),
    st.sampled_from(sorted(LABELS)),
)
def test_the_last_line_decides_whatever_the_reasoning_says(thought: str, label: str) -> None:
    assert read_answer(f"{thought}\n{write_answer(LABELS[label][0])}", LABELS) == label


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["yes", "no"]), min_size=1, max_size=12))
def test_numbered_answers_can_be_written_and_read(values: list[str]) -> None:
    names = [str(number) for number in range(1, len(values) + 1)]
    answers = dict(zip(names, values, strict=True))
    assert read_answers("Well.\n" + write_answers(answers), names, YES_NO_LABELS) == answers


def test_numbered_answers_must_be_complete() -> None:
    with pytest.raises(Unparsable, match="no answer for 2, 3"):
        read_answers("ANSWER: 1=YES", ["1", "2", "3"], YES_NO_LABELS)
    with pytest.raises(Unparsable, match="the reply gives different answers for 1"):
        read_answers("ANSWER: 1=YES; 1=NO; 2=NO", ["1", "2"], YES_NO_LABELS)


def test_the_number_ten_is_not_read_as_one() -> None:
    names = [str(number) for number in range(1, 12)]
    reply = "ANSWER: " + "; ".join(f"{name}={'YES' if name in ('1', '11') else 'NO'}" for name in names)
    answers = read_answers(reply, names, YES_NO_LABELS)
    assert [name for name in names if answers[name] == "yes"] == ["1", "11"]


def test_unknown_numbers_are_ignored() -> None:
    assert read_answers("1. Yes\n2. No\n3. Yes", ["1", "2"], YES_NO_LABELS) == {"1": "yes", "2": "no"}


def test_a_named_line_and_a_json_object_are_read() -> None:
    assert read_line("**MISSING:** the year.\nANSWER: 1=YES", "MISSING") == "the year."
    assert read_line("Nothing is missing.", "MISSING") == ""
    assert read_object('{"a": 1} and {"b": 2}') is None
    assert read_object("none here") is None
