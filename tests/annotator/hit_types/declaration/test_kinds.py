"""Every kind of column and question that a file can have: how items are read, shown, answered, measured and put to models."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from annotator.hit_types.base import JSON, FieldErrors, Unparsable
from annotator.hit_types.declaration.document import document_read
from annotator.hit_types.declaration.making import case_of
from annotator.hit_types.questions import payload_fault
from annotator.hit_types.registry import hit_type_get
from annotator.services.rehearsal.answers import rehearsal_answer
from tests.annotator.hit_types.declaration.files import GALLERY_FILES, KINDS_FILE, every_kind

CASE = document_read(KINDS_FILE.read_bytes()).value["examples"][0]
ROW = CASE["item"]
PAYLOAD, GOLD = case_of(every_kind(), CASE)


def refused(row: JSON) -> dict[str, str]:
    with pytest.raises(FieldErrors) as error:
        every_kind().parse_item(row)
    return error.value.errors


def answered(stage: int, **changes: Any) -> JSON:
    return every_kind().parse_response(PAYLOAD, GOLD | changes, stage)


def faults(stage: int, **changes: Any) -> dict[str, str]:
    with pytest.raises(FieldErrors) as error:
        answered(stage, **changes)
    return error.value.errors


def test_an_item_keeps_what_is_shown_and_hides_the_rest() -> None:
    draft = every_kind().parse_item(ROW | {"system": "robot-a"})
    assert "truth" not in draft.payload
    assert (draft.material.gold_label, draft.material.system) == ("yes", "robot-a")
    assert draft.payload["topic"] == "air", "a spelling is its label"
    assert draft.payload["program"] == "  if x:\n    y", "code keeps its indentation"
    assert draft.payload["formats"] == {"program": "code", "sizes": "table", "picture": "image"}
    assert [one["text"] for one in draft.payload["points"]] == ["Cork is light.", "Stone is light."]
    assert payload_fault(every_kind(), draft.payload) == ""


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("topic", "fire", "not one of: water, air"),
        ("sizes", "a", "is not a table"),
        ("picture", "a cork", "is not an image"),
        ("talk", [{"text": "Hello."}], "entry 1: role is missing"),
        ("weight", "light", "is not a number"),
        ("points", [], "is missing; expected a list of texts"),
        ("points", ["It floats."] * 2, "entry 2: the same text is given twice"),
        ("points", [str(number) for number in range(7)], "expected 1 to 6 entries, got 7"),
        ("points", "It floats.", "expected a list of texts"),
    ],
)
def test_rows_are_refused_with_their_column(column: str, value: Any, said: str) -> None:
    assert said in refused(ROW | {column: value})[column]


def test_units_that_name_their_system_are_kept_as_material_only() -> None:
    points = [{"system": "robot-a", "text": "It floats."}, {"system": "robot-b", "text": "It sinks."}]
    draft = every_kind().parse_item(ROW | {"points": points})
    assert [(system, text) for _, system, text in draft.material.parts] == [
        ("robot-a", "It floats."),
        ("robot-b", "It sinks."),
    ]
    assert [key for key, _, _ in draft.material.parts] == [one["key"] for one in draft.payload["points"]]
    assert "robot" not in str(draft.payload)


def test_a_later_stage_shows_more() -> None:
    before, after = every_kind().stages(PAYLOAD)
    assert "The cork floated." not in str(before)
    assert [block.name for block in after.blocks][-1] == "verdict"
    assert after.blocks[: len(before.blocks)] == before.blocks
    shown = {block.name: block for block in before.blocks}
    assert shown["weight"].text == "0.5 kg"
    assert shown["talk"].items == ("Ann: Does it float?", "Bob: Yes.")
    assert shown["options"].items == ("A. A stone", "B. A cork")


def test_each_rater_has_an_order_of_their_own_and_answers_mean_the_same() -> None:
    kind = every_kind()
    orders = {str(kind.present(PAYLOAD, Random(seed))) for seed in range(20)}
    assert len(orders) == 4, "two texts and two points"
    for seed in range(6):
        drawn = kind.present(PAYLOAD, Random(seed))
        stage = kind.stages(PAYLOAD, drawn)[0]
        first, second = (block for block in stage.blocks if block.name in ("first", "second"))
        assert (first.label, second.label) == ("Text 1", "Text 2")
        better = next(field for field in stage.fields if field.name == "better")
        assert [option.value for option in better.options] == [first.name, second.name, "equal"]
        label = {first.name: "TEXT 1", second.name: "TEXT 2"}["first"]
        assert f"={label}" in kind.write_reply(PAYLOAD, GOLD, 0, drawn)
        raw = kind.parse_reply(kind.write_reply(PAYLOAD, GOLD, 0, drawn), PAYLOAD, 0, drawn)
        assert kind.parse_response(PAYLOAD, raw, 0, drawn) == answered(0)
    with pytest.raises(FieldErrors, match="order"):
        kind.stages(PAYLOAD, {"order": {"columns": ["first", "first"]}})


def test_answers_are_checked_by_their_kind() -> None:
    assert "alone" in faults(0, tags=["none", "odd"])["tags"]
    assert "tags_other" in faults(0, tags=["other"])
    assert answered(0, tags=["other"], tags_other="Small")["tags_other"] == "Small"
    assert "tags_other" not in answered(0, tags=["odd"], tags_other="Small")
    assert set(faults(0, rank_tone="1")) == {"rank_tone", "rank_facts"}
    for written, stored in (("2,50", "2.5"), ("7 min", "7"), ("+3", "3"), ("007", "7"), ("0", "0")):
        assert answered(1, minutes=written)["minutes"] == stored
    for written in ("-1", "91", "two", "1e1", "NaN", "1.2.3"):
        assert "expected a number from 0 to 90.5, in min" in faults(1, minutes=written)["minutes"]
    assert faults(1, sure="0") == {"why": "write an answer"}
    assert "why" not in answered(1, sure="2", why="Because.")


def test_ratings_have_a_row_for_each_thing_that_was_judged() -> None:
    kind = every_kind()
    response = kind.parse_whole(PAYLOAD, GOLD)
    rows = {(one.variable, one.unit): one.value for one in kind.to_ratings(PAYLOAD, response)}
    light, stone = (one["key"] for one in PAYLOAD["points"])
    assert rows == {
        ("which", ""): "B", ("clear", ""): "yes", ("tags_long", ""): "no", ("tags_odd", ""): "yes",
        ("tags_other", ""): "no", ("effort", ""): "2", ("present", light): "yes", ("present", stone): "no",
        ("better", ""): "first", ("rank", "tone"): "2", ("rank", "facts"): "1", ("rank", "length"): "3",
        ("tags_set", ""): '["odd"]', ("better_pair", ""): '{"choice":"a","strength":null}',
        ("rank_order", ""): '["facts","tone","length"]', ("minutes", ""): "2.5", ("sure", ""): "2",
    }  # fmt: skip
    assert {unit for _, unit in rows} <= set(kind.units(PAYLOAD))
    levels = {one.name: one.level for one in kind.variables}
    assert (levels["effort"], levels["minutes"], levels["better"]) == ("ordinal", "interval", "nominal")


def test_replies_of_both_stages_are_read_as_they_are_written() -> None:
    kind = every_kind()
    for stage in (0, 1):
        reply = "Let me see.\n" + kind.write_reply(PAYLOAD, GOLD, stage)
        assert kind.parse_response(PAYLOAD, kind.parse_reply(reply, PAYLOAD, stage), stage) == answered(stage)
    none = GOLD | {"tags": ["none"]}
    assert kind.parse_reply(kind.write_reply(PAYLOAD, none, 0), PAYLOAD, 0)["tags"] == ["none"]
    with pytest.raises(Unparsable, match="no line MINUTES"):
        kind.parse_reply("ANSWER: 2", PAYLOAD, 1)
    with pytest.raises(Unparsable, match="no answer for 3"):
        kind.parse_reply("ANSWER: 1=B; 2=YES", PAYLOAD, 0)


def test_the_prompt_shows_all_that_people_see_and_nothing_of_a_later_stage() -> None:
    kind = every_kind()
    first, second = (kind.prompt(PAYLOAD, stage, GOLD if stage else {}) for stage in (0, 1))
    assert "The cork floated." not in first[-1].content
    assert "The cork floated." in second[-1].content
    assert "How hard was it? 2" in second[-1].content, "its own earlier answers"
    for text in ("Weight: 0.5 kg", "Point 2: Stone is light.", "1: easy; 5: hard."):
        assert text in first[-1].content
    assert [message.role for message in first] == ["system", "user", "assistant", "user", "assistant", "user"]


def test_raters_that_are_made_up_keep_to_the_rules_of_each_kind() -> None:
    kind = every_kind()
    for seed in range(20):
        response: JSON = {}
        for number, stage in enumerate(kind.stages(PAYLOAD, kind.present(PAYLOAD, Random(seed)))):
            raw = rehearsal_answer(stage, gold=GOLD, item_key=str(seed), accuracy=0.4, rng=Random(seed))
            response |= kind.parse_response(PAYLOAD, raw, number)
        assert kind.to_ratings(PAYLOAD, response)


def test_a_type_has_rows_to_try_it_with() -> None:
    for kind in (every_kind(), *(hit_type_get(file.stem) for file in GALLERY_FILES)):
        assert kind.samples
        for row in kind.samples:
            draft = kind.parse_item(row)
            assert draft.gold is not None or "gold" not in row
    assert hit_type_get("pairwise_preference").samples[0]["gold"]["better"] == "response_a"
