"""Sketches of tasks for researchers: what a task of a HIT type looks like, in a few boxes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from django import template

from annotator.hit_types.registry import hit_types

register = template.Library()
#: The most blocks and options that fit into a sketch.
MOST = 4


@dataclass(frozen=True)
class Box:
    """A rectangle of a sketch, in its own units: 96 wide and 60 high. ``kind``: label, text, answer, option."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@register.simple_tag
def task_sketch(hit_type: str, variant: str = "") -> tuple[Box, ...]:
    """``{% task_sketch "utility" as boxes %}``: material on the left, the first question's options on the right.

    Drawn from the type's first question of the exam; empty for types without any.

    >>> [box.kind for box in task_sketch("simulation")][:4]
    ['label', 'text', 'label', 'text']
    """
    return _sketch(hit_type, variant)


@lru_cache(maxsize=100)
def _sketch(hit_type: str, variant: str) -> tuple[Box, ...]:
    kind = hit_types().get(hit_type)
    if kind is None or kind.external:
        return ()
    questions = [one for one in kind.exam if not variant or kind.variant(one.payload) == variant]
    if not questions:
        return ()
    question = max(questions[:8], key=lambda one: len(kind.every_stage(one.payload)[-1].blocks))
    stage = kind.every_stage(question.payload)[-1]
    blocks = stage.blocks[:MOST]
    boxes = []
    each = 54 / len(blocks) if blocks else 54
    for number, block in enumerate(blocks):
        top = 3 + number * each
        boxes.append(Box("label", 4, round(top, 1), 18, 2))
        size = "answer" if block.kind == "answer" else "text"
        width = 20 if block.kind == "answer" else 50
        boxes.append(Box(size, 4, round(top + 4, 1), width, round(max(each - 7, 3), 1)))
    options = next((field.options for field in stage.fields if field.options), ())[:MOST]
    boxes.append(Box("label", 62, 12, 26, 2))
    boxes += [Box("option", 62, 17 + 9 * number, 30, 7) for number in range(len(options))]
    return tuple(boxes)
