"""What the contract tests run on: every HIT type with its own examples, exam, practice and instructions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from annotator.hit_types.base import (
    JSON,
    Example,
    HitType,
    Question,
    Stage,
)
from annotator.hit_types.declaration.examples import examples_made
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.registry import hit_types
from annotator.services.rehearsal.answers import marked_passage

every_type = pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=name) for name, kind in hit_types().items()]
)

#: The types whose questions people and models answer here; the labels of the others come from elsewhere.
every_asked_type = pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=name) for name, kind in hit_types().items() if not kind.external]
)


def examples(kind: HitType, name: str) -> Any:
    """The cases of a type: from its folder, or made from its file."""
    if isinstance(kind, DeclaredHitType):
        return examples_made(kind)[name]
    return json.loads((kind.folder / "examples" / f"{name}.json").read_text(encoding="utf-8"))


def questions(kind: HitType) -> list[Question]:
    return [*kind.exam, *kind.practice]


def worked(kind: HitType) -> list[Example]:
    return [part for part in kind.read_instructions() if isinstance(part, Example)]


def payloads(kind: HitType) -> list[JSON]:
    rows = [kind.parse_item(case["row"]).payload for case in examples(kind, "valid")]
    return [*rows, *(question.payload for question in questions(kind)), *(e.payload for e in worked(kind))]


def presentations(kind: HitType, payload: JSON) -> Iterator[JSON | None]:
    yield None
    for seed in range(5):
        yield kind.present(payload, Random(seed))


def first_answers(stage: Stage) -> JSON:
    """The first option of each question of a stage (the next one where answers must differ), and a word where one writes."""
    found: JSON = {}
    for asked in stage.fields:
        if asked.passages:
            found[asked.name] = marked_passage(asked.passages, stage, Random(1))
        elif asked.kind == "text":
            found[asked.name] = str(asked.bounds[0]) if asked.bounds else "text"
        else:
            taken = [
                found.get(one.name)
                for one in stage.fields
                if asked.distinct and one.distinct == asked.distinct
            ]
            first = next(option.value for option in asked.options if option.value not in taken)
            found[asked.name] = [first] if asked.kind == "multi" else first
    return found


def seen(stage: Stage) -> str:
    """Everything that a stage sends."""
    texts = [stage.name, stage.title, stage.lead]
    for block in stage.blocks:
        texts += [block.label, block.text, *block.items]
    for asked in stage.fields:
        texts += [asked.name, asked.label, asked.help]
        texts += [text for option in asked.options for text in (option.value, option.label, option.detail)]
    return "\n".join(texts)
