"""The demo material can be imported, has a known quality, and is large enough for the demo."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean

import pytest

import annotator.demo
from annotator.hit_types.base import ItemDraft
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.registry import hit_type_get, hit_types

FOLDER = Path(annotator.demo.__path__[0])


def drafts(name: str) -> list[ItemDraft]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [hit_type_get(name).parse_item(json.loads(line)) for line in lines]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, kind in hit_types().items()
        if not kind.external and not isinstance(kind, DeclaredHitType)
    ],
)
def test_every_type_in_python_has_demo_items_with_a_known_right_answer(name: str) -> None:
    items = drafts(name)
    kind = hit_type_get(name)
    assert len(items) >= 12
    assert len({item.key for item in items}) == len(items)
    for item in items:
        assert item.gold is not None, item.key
        assert kind.parse_whole(item.payload, item.gold) == item.gold, "rehearsal raters answer whole items"
    assert {kind.variant(item.payload) for item in items} == set(kind.variants or ("",))


def test_simulation_has_two_systems_of_different_precision() -> None:
    items = drafts("simulation")
    assert len({item.material.instance_key for item in items}) >= 40
    follow_ups = Counter((item.material.instance_key, item.material.system) for item in items)
    assert min(follow_ups.values()) >= 4
    hits: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        assert item.material.real_output
        assert item.gold
        if item.gold["helpful"] == "yes":
            right = item.gold["answer"] == item.material.real_output
            hits[item.material.system][item.material.instance_key].append(right)
    precision = {name: mean(mean(found) for found in each.values()) for name, each in hits.items()}
    assert precision["robot-a · chain of thought"] == pytest.approx(0.85, abs=0.03)
    assert precision["robot-b · post-hoc"] == pytest.approx(0.65, abs=0.03)
    assert any(item.gold == {"helpful": "no"} for item in items)
