"""Declared formats of material: checked when imported, shown safely, in its own direction."""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string
from lxml import html

from annotator.hit_types.base import FieldErrors
from annotator.hit_types.formats import table_rows
from annotator.hit_types.questions import questions_of_text
from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.hit_types.shapes import Block, Field, Option, Stage
from annotator.web.task_form import task_form

ROW = {
    "question": "Can owls swim?",
    "explanation": "They float.",
    "answer": "yes",
    "follow_up": "Can ducks swim?",
}


def item(**more: Any) -> dict[str, Any]:
    return hit_type_get("simulation").parse_item(ROW | more).payload


def block_of(payload: dict[str, Any], name: str) -> Block:
    [stage] = hit_type_get("simulation").stages(payload)
    return next(block for block in stage.blocks if block.name == name)


def shown(block: Block) -> Any:
    return html.fromstring(render_to_string("components/block.html", {"block": block, "prefix": ""}))


def test_material_without_a_format_is_plain_text() -> None:
    assert "formats" not in item()
    assert "formats" not in item(formats={"question": "text"})
    assert shown(Block("b", "B", "<b>x</b> *y*")).xpath("string(.//p)") == "<b>x</b> *y*"


def test_code_keeps_the_indentation_of_every_line() -> None:
    code = "\n    if owl:\n        swim()\n"
    block = block_of(item(explanation=code, formats='{"explanation": "code"}'), "explanation")
    assert block.format == "code"
    assert shown(block).xpath("string(.//pre/code)") == "    if owl:\n        swim()"


def test_tables_are_read_and_shown_as_tables() -> None:
    block = block_of(
        item(explanation="bird | swims\n--- | ---\nowl | <no>", formats={"explanation": "table"}),
        "explanation",
    )
    page = shown(block)
    assert page.xpath("//th[@scope='col']/text()") == ["bird", "swims"]
    assert page.xpath("//td/text()") == ["owl", "<no>"]
    [row] = table_rows("owl\u2028bird | no")
    assert row == ["owl\u2028bird", "no"], "only a line end ends a row"


def test_questions_may_contain_the_separators_that_json_allows() -> None:
    line = '{"key": "a", "reason": "So\u2028it\u0085is."}'
    with pytest.raises(FieldErrors) as refused:
        questions_of_text(hit_type_get("simulation"), line)
    assert "JSON" not in str(refused.value.errors)


def test_markdown_has_lists_but_no_scripts_and_links() -> None:
    text = "# Owls\n\n- one\n- two\n\n<script>x</script> [a](https://example.org) [b](javascript:x) ![c](https://e.org/c.png)"
    page = shown(block_of(item(explanation=text, formats={"explanation": "markdown"}), "explanation"))
    assert page.xpath("//li/text()") == ["one", "two"]
    assert page.xpath("//strong/text()") == ["Owls"]
    assert not page.xpath("//script | //img | //h1")
    assert [(a.get("href"), a.get("target")) for a in page.xpath("//a[@href]")] == [
        ("https://example.org", "_blank")
    ]


@pytest.mark.parametrize(
    ("more", "column", "words"),
    [
        ({"formats": "code"}, "formats", "expected a JSON object"),
        ({"formats": {"question": "html"}}, "formats", "'html' is not one of: text, markdown, code, table"),
        ({"formats": {"answer": "code"}}, "formats", "'answer' is not a text that is shown"),
        ({"formats": {"system": "code"}}, "formats", "'system' is not a text that is shown"),
        ({"formats": {"question": "table"}}, "question", "is not a table: expected a head and rows"),
        (
            {"formats": {"question": "table"}, "question": "a|b\n1|2\n1|2|3"},
            "question",
            "row 3 of the table has 3 cells; its head has 2",
        ),
    ],
)
def test_an_import_refuses_unknown_formats_and_columns(more: dict[str, Any], column: str, words: str) -> None:
    with pytest.raises(FieldErrors) as refused:
        item(**more)
    assert words in refused.value.errors[column]


@pytest.mark.parametrize("name", [name for name, kind in hit_types().items() if not kind.external])
def test_every_type_shows_texts_in_their_declared_format(name: str) -> None:
    kind = hit_type_get(name)
    payload = kind.exam[0].payload
    texts = {
        column.name
        for column in kind.columns
        if column.kind == "text" and isinstance(payload.get(column.name), str) and payload[column.name]
    }
    wanted = {payload[column]: column for column in texts if len(payload[column]) > 12}
    blocks = [
        block
        for stage in kind.stages(payload | {"formats": dict.fromkeys(texts, "code")})
        for block in stage.blocks
    ]
    found = {wanted[block.text]: block.format for block in blocks if block.text in wanted}
    assert found or not wanted
    assert set(found.values()) <= {"code"}, found


def test_labels_and_options_follow_the_direction_of_right_to_left_material() -> None:
    arabic = "\u0647\u0644 \u0627\u0644\u0633\u0624\u0627\u0644"
    field = Field("q", "Which?", options=(Option("A", f"A. {arabic}"), Option("B", "B. owl")))
    stage = Stage("s", "S", (Block("b", "Question", arabic), Block("c", "Answer", "owl")), (field,))
    assert [shown(block).get("dir") for block in stage.blocks] == ["rtl", "ltr"]
    asked = html.fromstring(render_to_string("components/asked.html", {"one": task_form(stage).asked[0]}))
    assert [label.get("dir") for label in asked.xpath("//label")] == ["rtl", "ltr"]
