"""Instructions: Markdown with worked examples; a study's own wording uses the same blocks."""

from __future__ import annotations

import json

import pytest

from annotator.hit_types.base import Example, Text, for_variant, instruction_parts
from annotator.hit_types.registry import hit_type_get

EXAMPLE = {"payload": {"a": 1}, "response": {"b": "yes"}, "reasoning": ["One.", "Two."], "title": "T"}


def block(content: str, name: str = "example", fence: str = "```") -> str:
    return f"{fence}{name}\n{content}\n{fence}"


def test_text_and_examples_keep_their_order() -> None:
    markdown = f"## Your task\n\nRead.\n\n{block(json.dumps(EXAMPLE))}\nThen:\n{block(json.dumps(EXAMPLE), fence='~~~~')}"
    parts = instruction_parts(markdown.replace("\n", "\r\n"))
    assert parts == [
        Text("## Your task\n\nRead."),
        Example({"a": 1}, {"b": "yes"}, "One.\n\nTwo.", "Example 1: T"),
        Text("Then:"),
        Example({"a": 1}, {"b": "yes"}, "One.\n\nTwo.", "Example 2: T"),
    ]


def test_other_fenced_blocks_stay_text_even_around_an_example() -> None:
    inner = block("{not json", name="example")
    markdown = f"````text\n{inner}\n````"
    assert instruction_parts(markdown) == [Text(markdown)]
    assert instruction_parts("```python\nprint(1)\n```") == [Text("```python\nprint(1)\n```")]
    assert instruction_parts("") == []


@pytest.mark.parametrize(
    ("markdown", "says"),
    [
        ("Hi\n```example\n{}", "line 2: the example is not closed"),
        ("Hi\n```example\n{\n'a'}\n```", "line 4: the example is not valid JSON"),
        ("```example\n[]\n```", "line 1: an example has to be a JSON object"),
        ('```example\n{"payload": {}, "response": {}}\n```', "line 1: the example needs 'reasoning'"),
        ('```example\n{"payload": 1, "response": {}, "reasoning": ""}\n```', "needs 'payload'"),
        ("```example\n" + "[" * 100_000 + "\n```", "not valid JSON"),
    ],
)
def test_a_faulty_example_names_its_line(markdown: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        instruction_parts(markdown)


def test_a_studys_own_examples_are_checked_against_the_type() -> None:
    kind = hit_type_get("simulation")
    payload = {"question": "Q?", "explanation": "E.", "answer": "yes", "follow_up": "F?"}
    good = {"payload": payload, "response": {"helpful": "no"}, "reasoning": "So."}
    parts = kind.read_instructions("Own words.\n" + block(json.dumps(good)))
    assert [type(part) for part in parts] == [Text, Example]
    for bad in (
        {**good, "response": {"helpful": "perhaps"}},
        {**good, "response": {"helpful": "no", "answer": "yes"}},
        {**good, "payload": {"question": "Q?"}},
        {**good, "payload": {**payload, "answer": 5}},
    ):
        with pytest.raises(ValueError, match="worked example 1"):
            kind.read_instructions(block(json.dumps(bad)))


def test_instructions_are_cut_to_one_variant() -> None:
    markdown = "A\n<!-- only: news, sport -->\nB\n<!-- end -->\nC\n<!-- only: medical -->\nD\n<!-- end -->\n"
    assert for_variant(markdown, "sport") == "A\nB\nC\n"
    assert for_variant(markdown, "medical") == "A\nC\nD\n"
    spaced = "A\n\n<!-- only: x -->\nB\n<!-- end -->\n\nC"
    assert for_variant(spaced, "x") == "A\n\nB\n\nC", "paragraphs stay apart"
    assert for_variant(markdown, "") == "A\nB\nC\nD\n"


def test_an_example_without_a_title_has_its_number() -> None:
    bare = {name: value for name, value in EXAMPLE.items() if name != "title"}
    (part,) = instruction_parts(block(json.dumps(bare)))
    assert isinstance(part, Example)
    assert part.title == "Example 1"


def test_instructions_are_cut_to_parts_of_a_variant() -> None:
    markdown = "".join(
        f"<!-- only: {name} -->\n{name}\n<!-- end -->\n"
        for name in ("news", "news/input", "news/output", "medical")
    )
    assert for_variant(markdown, "news") == "news\nnews/input\nnews/output\n", "a variant has all its parts"
    assert for_variant(markdown, "news/input") == "news\nnews/input\n", "a part has what its variant reads"
    assert for_variant(markdown, "news/output", "medical") == "news\nnews/output\nmedical\n"


def test_instructions_cover_only_the_steps_that_items_ask() -> None:
    kind = hit_type_get("generalization_utility")
    figure_11 = kind.for_items([{"arms": [["question", "question_again", "follow_up_again"]]}]).instructions
    assert "the answer to the question, from what you know yourself" in figure_11
    assert "the answer to the follow-up question, from what you know yourself" not in figure_11
    assert "with the help of the explanation" in figure_11
    arms = [{"arms": [["follow_up", "follow_up_again"]]}]
    follow_up_only = kind.for_items(arms, exam=False, practice=False).instructions
    assert "the answer to the question," not in follow_up_only
    with_exam = kind.for_items(arms).instructions
    assert "the answer to the question, from the **explanation alone**" in with_exam, "the exam asks it"
    assert "the answer to the question, from what you know yourself" not in with_exam, "nothing asks it"
    both = kind.for_items(
        [{"arms": [["question", "follow_up"]]}, {"arms": [["question_again"]]}]
    ).instructions
    assert "the answer to the follow-up question, from what you know yourself" in both
    assert "from the **explanation alone**" in both
    assert kind.for_items([]) is kind


def test_instructions_cover_only_the_parts_that_items_ask() -> None:
    kind = hit_type_get("atomic_units")
    asked = [{"domain": "news", "ask": ["input", "output"]}]
    text = kind.for_items(asked, exam=False, practice=False).instructions
    assert "Looking in the article" in text
    assert "Looking in the summary" in text
    assert "Checking the list" not in text
    assert "patient" not in text
    with_exam = kind.for_items(asked).instructions
    assert "Checking the list" in with_exam, "the exam asks it"
    assert "patient" not in with_exam


def test_instructions_for_several_variants_leave_out_the_others() -> None:
    kind = hit_type_get("rationale_properties").for_items([{"group": "support"}, {"group": "style"}])
    assert "Non-ambiguity" in kind.instructions
    assert "No repetition" in kind.instructions
    assert "Giveaway" not in kind.instructions
    assert kind.instructions.count("lower case") == 1, "a line that holds for several groups is there once"
    assert {q.pool.partition("/")[0] for q in (*kind.exam, *kind.practice)} == {"support", "style"}
