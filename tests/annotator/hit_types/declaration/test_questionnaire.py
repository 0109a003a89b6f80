"""Files of questionnaires: those that come with Foretell, their scores, and what is wrong with others."""

from __future__ import annotations

import re

import pytest

from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.questionnaire import (
    questionnaires_answers,
    questionnaires_read,
    questionnaires_text,
    questionnaires_version,
)
from annotator.hit_types.declaration.questionnaire_files import questionnaire_names
from annotator.hit_types.shapes import FieldErrors
from foretell.env import ROOT

START = "foretell_questionnaire: 1\nname: mine\ntitle: Mine\nsource: Our lab\nlicence: CC0 1.0\n"


@pytest.mark.parametrize("name", questionnaire_names())
def test_those_that_come_with_foretell_can_be_read_and_left_blank(name: str) -> None:
    (one,) = questionnaires_read(questionnaires_text(name))
    assert one.name == name
    assert len(str(one.spec["source"])) > 20 or "Foretell" in one.spec["source"]
    assert one.spec["licence"]
    assert one.values(one.read({})) == {}
    assert not any(field.required for field in one.stage.fields)


def test_the_system_usability_scale_is_scored_as_its_author_says() -> None:
    """Odd items count from 1, even ones from 5, and the sum times 2.5 (Brooke, 1996)."""
    (one,) = questionnaires_read(questionnaires_text("system_usability"))
    given = [4, 2, 5, 1, 3, 2, 4, 4, 5, 2]
    raw = {field.name: str(value) for field, value in zip(one.stage.fields, given, strict=True)}
    expected = 2.5 * sum(value - 1 if place % 2 == 0 else 5 - value for place, value in enumerate(given))
    assert float(one.values(one.read(raw))["score"]) == expected
    raw.popitem()
    assert "score" not in one.values(one.read(raw))


def test_raw_task_load_is_the_mean_of_six_ratings() -> None:
    (one,) = questionnaires_read(questionnaires_text("nasa_tlx"))
    raw = {
        field.name: value
        for field, value in zip(one.stage.fields, ["5", "10", "15", "20", "25", "100"], strict=True)
    }
    assert one.values(one.read(raw))["load"] == "29.17"


def test_several_files_are_parts_of_one_page() -> None:
    text = questionnaires_text("trust, nasa_tlx")
    parts = questionnaires_read(text)
    assert [one.name for one in parts] == ["trust", "nasa_tlx"]
    _, values = questionnaires_answers(parts, {"q1-trust_wary": "5", "q2-mental": "30", "mental": "99"})
    assert values == {"trust.trust_wary": "5", "nasa_tlx.mental": "30"}
    with pytest.raises(FieldErrors) as wrong:
        questionnaires_answers(parts, {"q1-trust_wary": "9", "q2-mental": "31"})
    assert set(wrong.value.errors) == {"q1-trust_wary", "q2-mental"}
    assert questionnaires_version(text) == questionnaires_version(f"# a comment\n{text}")


@pytest.mark.parametrize(
    ("text", "line", "place", "expected"),
    [
        ("trus", 1, (), "expected one of: demographics"),
        (f"{START}questions: {{}}", 6, ("questions",), "at least 1"),
        (f"{START}questions:\n  a: {{kind: spans, ask: x}}", 7, ("questions", "a", "kind"), "expected one of: choice"),
        (f"{START}questions:\n  a: {{kind: text, ask: x, required: true}}", 7, ("questions", "a", "required"), "not a key"),
        (f"{START}questions:\n  a: {{kind: text, ask: x, when: {{b: y}}}}", 7, ("questions", "a", "when", "b"), "no question"),
        (f"{START}questions:\n  a: {{kind: text, ask: x}}\nscores:\n  s: {{title: S, mean_of: [a], onto: [0, 1]}}", 9,
         ("scores", "s", "mean_of", 0), "scale or slider"),
        (f"{START}questions:\n  a: {{kind: text, ask: x}}\ntranslations:\n  de: {{y: z}}", 9, ("translations", "de", "y"), "no text"),
        (f"{START}questions:\n  a: {{kind: text, ask: x}}\n---\n{START}questions:\n  a: {{kind: text}}", 15,
         ("questions", "a", "ask"), "missing"),
        (f"{START}questions:\n  a: {{kind: text, ask: x}}\n---\n{START}questions:\n  a: {{kind: text, ask: x}}", 1, ("name",), "twice"
         ""),
        ("foretell_questionnaire: 1\na: &b c\n", 2, ("a",), "anchor"),
    ],
)  # fmt: skip
def test_every_problem_names_its_place(
    text: str, line: int, place: tuple[object, ...], expected: str
) -> None:
    with pytest.raises(DeclarationRefused) as refused:
        questionnaires_text(text)
    found = [(one.line, one.path) for one in refused.value.problems if expected in one.message]
    assert (line, place) in found, str(refused.value)


def test_the_guides_questionnaire_is_right() -> None:
    guide = (ROOT / "docs/declare-a-hit-type.md").read_text(encoding="utf-8")
    (written,) = re.findall(r"```text\n(foretell_questionnaire: 1.*?)```", guide, re.DOTALL)
    (one,) = questionnaires_read(questionnaires_text(written))
    assert one.values(one.read({"often": "5", "slowly": "2"}))["practice"] == "87.5"
    assert all(f"`{name}`" in guide for name in questionnaire_names())
