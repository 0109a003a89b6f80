"""The kinds of question that compare, weigh or mark: how they are checked, answered, measured, graded and put to models."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from annotator.hit_types.base import JSON, FieldErrors, Unparsable
from annotator.hit_types.declaration.document import document_read
from annotator.hit_types.declaration.making import case_of
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.services.rehearsal.answers import rehearsal_answer
from annotator.web.task_form import task_form
from evaluation.runs.structured import stage_response, stage_schema
from tests.annotator.hit_types.declaration.files import MORE_FILE, more_kinds

CASE = document_read(MORE_FILE.read_bytes()).value["examples"][0]
PAYLOAD, GOLD = case_of(more_kinds(), CASE)
TEXT = MORE_FILE.read_text(encoding="utf-8")


def answered(stage: int, **changes: Any) -> JSON:
    return more_kinds().parse_response(PAYLOAD, GOLD | changes, stage)


def fault(stage: int, name: str, value: Any) -> str:
    with pytest.raises(FieldErrors) as error:
        answered(stage, **{name: value})
    return error.value.errors[name]


def values(**changes: Any) -> dict[tuple[str, str], str]:
    kind = more_kinds()
    response = kind.parse_whole(PAYLOAD, GOLD | changes)
    return {(one.variable, one.unit): one.value for one in kind.to_ratings(PAYLOAD, response)}


def test_each_value_has_its_form() -> None:
    assert values() == {
        ("rubric_facts", ""): "4", ("rubric_tone", ""): "2", ("rubric_score", ""): "3.5",
        ("checks_short", ""): "yes", ("checks_kind", ""): "no", ("sure", ""): "80",
        ("errors", ""): '[{"start":13,"end":20,"category":"spelling","severity":"minor"},'
                        '{"start":17,"end":25,"category":"fact","severity":"major"}]',
        ("errors_count", ""): "2", ("errors_score", ""): "6",
        ("names", ""): '[{"start":4,"end":9,"category":"name","severity":""}]', ("names_count", ""): "1",
        ("polite", "turn2"): "3", ("polite", "turn5"): "1",
        ("better", ""): "second", ("better_degree", ""): "2", ("better_pair", ""): '{"choice":"b","strength":2}',
        ("extremes_best", ""): "second", ("extremes_worst", ""): "third",
        ("order", "first"): "2", ("order", "second"): "1", ("order", "third"): "2",
        ("order_order", ""): '["second",["first","third"]]', ("traits_best", ""): "wit", ("traits_worst", ""): "force",
    }  # fmt: skip
    levels = {one.name: one.level for one in more_kinds().variables}
    assert [levels[name] for name in ("rubric_facts", "rubric_score", "errors", "better_pair", "order_order")] == [
        "ordinal", "interval", "span", "pairwise", "ranking",
    ]  # fmt: skip
    assert {unit for _, unit in values()} <= set(more_kinds().units(PAYLOAD))


def test_preferences_are_signed_and_equal_is_in_the_middle() -> None:
    weak = values(better="first", better_strength="1")
    assert (weak["better_degree", ""], weak["better_pair", ""]) == ("-1", '{"choice":"a","strength":1}')
    equal = values(better="equal", better_strength="")
    assert (equal["better_degree", ""], equal["better_pair", ""]) == ("0", '{"choice":"equal","strength":0}')
    assert fault(1, "better_strength", "") == "choose an answer"
    degree = next(one for one in more_kinds().variables if one.name == "better_degree")
    assert degree.labels == ("-2", "-1", "0", "1", "2")


def test_a_grid_without_all_rows_has_no_score() -> None:
    assert "rubric_tone" in fault_names(0, rubric_tone="")
    kind = hit_type_read(TEXT.replace("        to: 4\n", "        to: 4\n        required: false\n"))
    response = kind.parse_whole(PAYLOAD, GOLD | {"rubric_tone": ""})
    assert not [one for one in kind.to_ratings(PAYLOAD, response) if one.variable == "rubric_score"]


def fault_names(stage: int, **changes: Any) -> set[str]:
    with pytest.raises(FieldErrors) as error:
        answered(stage, **changes)
    return set(error.value.errors)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("hm", "passage 1: 'hm' can't be read; expected category/severity: \"the exact words\""),
        ('fact: "mat"', "passage 1: severity is missing; expected one of: minor, major"),
        ('style/minor: "mat"', "passage 1: category 'style' is none of: spelling, fact"),
        ('fact/minor: "dog"', "passage 1: 'dog' isn't in the text; copy its exact words"),
        ('fact/minor: "mat"', "'mat' is in the text 2 times; add more words, or #1 for the first"),
        ('fact/minor: "mat" #3', "'mat' has no occurrence #3; it has 2"),
        ("fact/minor @50-99", "50-99 isn't in the text, which has 52 characters"),
        ("fact/minor @9-9", "9-9 isn't in the text"),
        ('fact/minor @0-3: "mat"', "the text has 'Zoë' at 0-3, not 'mat'"),
        ('fact/minor: "sat"\nfact/minor: "dog"', "passage 2: 'dog' isn't in the text"),
    ],
)
def test_passages_that_are_not_in_the_text_are_refused(written: str, said: str) -> None:
    assert said in fault(0, "errors", written)


def test_passages_keep_the_exact_words_wherever_they_come_from() -> None:
    stored = 'spelling/minor @13-16: "teh"\nfact/major @17-20: "mat"'
    by_hand = 'Wrong fact/Major: "mat" #1\r\n- spelling/minor @13-16'
    assert answered(0, errors=by_hand)["errors"] == stored
    objects = [
        {"start": 13, "end": 16, "category": "spelling", "severity": "minor"},
        {"words": "MAT", "nth": 1, "category": "fact", "severity": "major"},
        {"words": "MAT", "nth": 1, "category": "fact", "severity": "major"},
    ]
    assert answered(0, errors=objects)["errors"] == stored
    assert answered(0, errors="None.")["errors"] == "none"
    assert values(errors="none")["errors", ""] == "[]"
    assert fault(0, "errors", "") == "write an answer"
    assert values(names="")["names", ""] == "[]"


def test_other_answers_are_checked_by_their_kind() -> None:
    assert "expected a whole number from 0 to 100, in steps of 5, in %" in fault(0, "sure", "52")
    assert answered(0, sure="55 %")["sure"] == "55"
    assert fault(1, "extremes_worst", "second") == "is also chosen as the best; choose another one"


def test_grading_accepts_what_is_near() -> None:
    kind = more_kinds()

    def right(name: str, value: str) -> bool:
        return kind.grade(GOLD | {name: value}, {name: GOLD[name]}).passed

    near = 'spelling/major @13-19: "teh ma"\nfact/major @17-25: "mat. Teh"'
    assert right("errors", near), "most of the passage, another severity"
    assert not right("errors", near.replace("spelling", "fact"))
    assert not right("errors", 'spelling/minor @13-20: "teh mat"')
    assert [right("sure", value) for value in ("70", "90", "65", "95")] == [True, True, False, False]


def test_models_reply_with_words_or_with_json() -> None:
    kind = more_kinds()
    end = "ANSWER: 1=4; 2=2; 3=YES; 4=NO; 5=3; 6=1"
    words = 'SURE: 80\nERRORS: spelling/minor: "teh mat"; fact/major: “mat.  Teh”\nNAMES: NONE\n'
    raw = kind.parse_reply(words + end, PAYLOAD, 0)
    assert kind.parse_response(PAYLOAD, raw, 0) == answered(0, names="")
    with pytest.raises(Unparsable, match="different lines"):
        kind.parse_reply(words + 'ERRORS: fact/minor: "best"\n' + end, PAYLOAD, 0)
    stage = kind.stages(PAYLOAD)[0]
    schema = stage_schema(stage)["properties"]
    assert schema["errors"]["items"]["properties"]["severity"]["enum"] == ["minor", "major"]
    assert "severity" not in schema["names"]["items"]["properties"]
    held = {name: GOLD[name] for name in schema if name in GOLD}
    held["errors"] = [{"words": "teh mat", "nth": None, "category": "spelling", "severity": "minor"}]
    said = kind.parse_response(PAYLOAD, stage_response({"thoughts": "Hm.", **held}), 0)
    assert said["errors"] == 'spelling/minor @13-20: "teh mat"'
    assert kind.parse_response(PAYLOAD, stage_response({**held, "errors": []}), 0)["errors"] == "none"


def test_made_up_raters_and_replies_keep_to_the_rules_whatever_the_order() -> None:
    kind = more_kinds()
    for seed in range(20):
        drawn = kind.present(PAYLOAD, Random(seed))
        for number, stage in enumerate(kind.stages(PAYLOAD, drawn)):
            raw = rehearsal_answer(stage, gold=None, item_key=str(seed), accuracy=0.5, rng=Random(seed))
            response = kind.parse_response(PAYLOAD, raw, number, drawn)
            reply = kind.write_reply(PAYLOAD, response, number, drawn)
            again = kind.parse_reply(reply, PAYLOAD, number, drawn)
            assert kind.parse_response(PAYLOAD, again, number, drawn) == response
            assert "second" not in reply.lower(), "columns are named as raters see them"


def test_a_model_may_leave_out_what_is_optional() -> None:
    kind = more_kinds()
    response = answered(0, checks_kind="", names="")
    reply = kind.write_reply(PAYLOAD, response, 0)
    assert "NAMES: none" in reply
    assert "4=NONE" in reply
    assert kind.parse_response(PAYLOAD, kind.parse_reply(reply, PAYLOAD, 0), 0) == response


def test_the_turns_of_a_role_are_judged_with_what_was_said_before() -> None:
    stage = more_kinds().stages(PAYLOAD)[0]
    shown = {block.name: block.items for block in stage.blocks if block.name.startswith("chat")}
    assert shown == {
        "chat_turn2": ("Ann: Hello.", "Bot: Hi Ann."),
        "chat_turn5": ("Ann: Well?", "Ann: Hm?", "Bot: Go."),
        "chat_end": ("Ann: Bye.",),
    }
    assert [one.target for one in stage.fields if one.target] == ["chat_turn2", "chat_turn5"]


def test_a_grid_is_headed_once_and_its_rows_have_keys() -> None:
    form = task_form(more_kinds().stages(PAYLOAD)[0])
    assert [one.field.row for one in form.asked if one.heads] == ["Facts", "Short"]
    assert [choice.key for choice in form.asked[0].choices] == ["0", "1", "2", "3", "4"]
    errors = next(one for one in form.asked if one.field.name == "errors")
    assert json.loads(errors.passages)["categories"] == [["spelling", "Spelling"], ["fact", "Wrong fact"]]


#: (what is replaced, with what, the place, what is said) in the file with more kinds.
FAULTS = [
    ("facts: {label: Facts,", "score: {label: Facts,", "rubric.rows.score", "is the name of the weighted mean"),
    ("weight: 3", "weight: 0", "rubric.rows.facts.weight", "expected more than 0"),
    ("        to: 4\n", "", "rubric.to", "is missing; a scale has from, to and anchors"),
    ("step: 5", "step: 7", "sure.step", "expected a number that divides 100"),
    ("most: 100, step", "most: 0, step", "sure.most", "is 0; expected more than least, 0"),
    ("        in: story", "        in: chat", "errors.in", "a column of kind turns; expected one of kind text"),
    ("        in: story", "        in: second", "errors.in", "isn't shown at this stage"),
    ("in: request,", "in: story,", "names.in", 'is "story", in which errors marks passages already'),
    ("categories: {name: Name}", "categories: {none: None}", "names.categories.none", "choose another"),
    ("roles: [Bot]", "roles: Bot", "polite.roles", "expected a list"),
    ("strength: {1: A little, 2: Much}", "strength: {1: A little, 3: Much}", "better.strength", "expected 1, 2"),
    ("between: [first, second], equal", "between: [first, second, third], equal", "better.strength", "of two columns"),
    ("options: {wit: Wit, care: Care, force: Force}", "help: x", "traits", "needs either options or between"),
    ("words: teh mat,", "words: the dog,", "examples[1].answers.errors", "'the dog' isn't in the text"),
    ("sure: 80", "sure: 81", "examples[1].answers.sure", "in steps of 5"),
    ("strength: 2}", "much: 2}", "examples[1].answers.better", "strength: a number"),
    ("rubric: {facts: 4,", "rubric: {fact: 4,", "examples[1].answers.rubric", "rows, which are: facts, tone"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "place", "said"), FAULTS, ids=[fault[2] for fault in FAULTS])
def test_a_fault_is_said_at_its_place(old: str, new: str, place: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(DeclarationRefused) as error:
        hit_type_read(TEXT.replace(old, new, 1))
    found = [str(one) for one in error.value.problems]
    assert any(place in one and said in one for one in found), found
