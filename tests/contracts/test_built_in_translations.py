"""The German and Arabic texts that come with HIT types correspond to the English ones, passage by passage."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from annotator.hit_types.base import Example, HitType, Question
from annotator.hit_types.built_in import instructions_in, passages, question_in
from annotator.hit_types.contract import Text
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.registry import hit_types
from annotator.hit_types.translations import question_texts, read_translations

LANGUAGES = ("de", "ar")
every_translation = pytest.mark.parametrize(
    ("kind", "code"),
    [
        pytest.param(kind, code, id=f"{name}-{code}")
        for name, kind in hit_types().items()
        for code in LANGUAGES
        if not kind.external and not isinstance(kind, DeclaredHitType)
    ],
)
ARABIC = re.compile(r"[\u0600-\u06ff]")


def whole(kind: HitType) -> HitType:
    """The type with the texts of all its control arms."""
    return kind.with_arms(kind.control_arms)


def shape_of(passage: str) -> str:
    """What a passage is: a heading of its level, an item of a list with its number, an example, or a paragraph."""
    found = re.match(r"#+ |[-*+] |\d+\. |```\w*", passage)
    return found.group() if found else ""


def answers_of(parts: Sequence[Text | Example]) -> list[object]:
    """The correct answers of worked examples, in their order."""
    return [part.response for part in parts if isinstance(part, Example)]


@every_translation
def test_instructions_correspond_passage_by_passage(kind: HitType, code: str) -> None:
    english = whole(kind).instructions
    other = instructions_in(kind.name, code, english)
    assert other, "a passage has no translation"
    ours, theirs = passages(english), passages(other)
    assert [shape_of(one) for one in ours] == [shape_of(one) for one in theirs]
    assert [one for one, two in zip(ours, theirs, strict=True) if one == two] == [], "left in English"
    assert answers_of(kind.read_instructions(english)) == answers_of(kind.read_instructions(other))


@every_translation
def test_each_selection_of_the_instructions_is_translated(kind: HitType, code: str) -> None:
    for one in (*whole(kind).exam, *whole(kind).practice):
        for exam in (True, False):
            adapted = kind.for_items([one.payload], exam=exam, practice=exam).for_item(one.payload)
            assert instructions_in(kind.name, code, adapted.instructions), one.key


@every_translation
def test_questions_ask_the_same_and_have_the_same_answer(kind: HitType, code: str) -> None:
    type_ = whole(kind)
    for which, questions in (("exam", type_.exam), ("practice", type_.practice)):
        found = [question_in(kind.name, code, which, one) for one in questions]
        assert None not in found, [one.key for one, two in zip(questions, found, strict=True) if not two]
        read = read_translations(
            type_, {code: {which: found}}, languages=LANGUAGES, exam=type_.exam, practice=type_.practice
        )
        assert read[code][which] == found
        for question, other in zip(questions, found, strict=True):
            assert other is not None
            assert type_.parse_gold(other["payload"], question.gold) == question.gold, question.key
            assert other["reason"] != question.reason, question.key


@every_translation
def test_each_text_of_a_question_is_in_the_language(kind: HitType, code: str) -> None:
    """Sentences differ from the English ones; in Arabic, sentences have Arabic letters and no stray English words."""
    type_ = whole(kind)
    for which, questions in (("exam", type_.exam), ("practice", type_.practice)):
        for question in questions:
            other = question_in(kind.name, code, which, question)
            assert other is not None
            translated = Question(
                question.key, other["payload"], question.gold, other["reason"], question.pool
            )
            ours, theirs = question_texts(type_, question), question_texts(type_, translated)
            assert {place[0] for place in ours} == {place[0] for place in theirs}, question.key
            for place, text in ours.items():
                if place in theirs and len(text.split()) > 3:
                    assert theirs[place] != text, (question.key, text)
                    assert code != "ar" or ARABIC.search(theirs[place]), (question.key, theirs[place])
