"""Screens of tasks: every stage of a type's demo items, with short or long material."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from annotator.hit_types.base import JSON, Stage
from annotator.hit_types.registry import hit_type_get
from annotator.web.style_gallery.samples import Screen, task
from tests.annotator.demo_studies import demo_lines

SENTENCE = "The harbour of the old town was closed again for the third time this year, as nobody had paid the lamps. "
#: Payload key -> how many sentences of 20 words are added to make the material long.
LONGER = {
    "input": 100, "output": 8, "rationale": 6, "explanation": 6, "context": 6, "response_1": 5, "response_2": 5,
    "follow_up_response_1": 5, "follow_up_response_2": 5, "question": 1, "follow_up": 1, "follow_up_context": 1,
}  # fmt: skip


def longer(payload: JSON) -> JSON:
    """The item with long texts, if its type allows them."""
    made = {k: f"{v} {SENTENCE * LONGER[k]}".strip() if k in LONGER else v for k, v in payload.items()}
    if "explanations" in made:
        made["explanations"] = [one | {"text": one["text"] + SENTENCE * 3} for one in made["explanations"]]
    if "units" in made:
        made["units"] = [unit | {"text": f"{unit['text']} ({n})"} for n in range(3) for unit in made["units"]]
    return made


def stages_of(name: str, length: str) -> Iterator[tuple[tuple[Stage, ...], int, JSON]]:
    """Each stage of the type's first demo item, with the answers before it."""
    kind = hit_type_get(name)
    payload = kind.parse_item(json.loads(demo_lines(name)[0])).payload
    stages = kind.stages(longer(payload) if length == "long" else payload, {})
    response: JSON = {}
    for number, stage in enumerate(stages):
        yield stages, number, dict(response)
        response |= {field.name: field.options[-1].value for field in stage.fields if field.options}


def show(style: str, page: Page, monkeypatch: pytest.MonkeyPatch, stage: Stage, **changes: Any) -> None:
    """Open a stage in the style gallery. ``changes`` are added to the context of its template."""
    screen = Screen("in-view", "In view", "annotator/task.html", task(stage, **changes))
    monkeypatch.setattr("annotator.web.style_gallery.views.screens", lambda: [screen])
    open_screen(style, page)


def open_screen(style: str, page: Page) -> None:
    page.goto(style + "in-view/")
    page.wait_for_selector("[data-current]")
    page.evaluate("document.fonts.ready")
    settle(page)


def settle(page: Page) -> None:
    """Wait two frames: one for the layout, one for its observers."""
    page.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"
    )
