"""How a file says that blocks look: whose words they are, and whether they can be folded away."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string
from lxml import html

from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.reading import hit_type_read
from tests.annotator.hit_types.declaration.files import ARMS_FILE, RULES_FILE, own_rules

TEXT = RULES_FILE.read_text(encoding="utf-8")
WALK = own_rules().parse_item(
    {"walk": "They met an owl.", "rule": "**Long** from 10 km on.", "weather": "It rained.", "notes": ["Wet.", "Cold."]}
).payload  # fmt: skip


def test_blocks_have_the_voice_and_the_fold_of_the_file() -> None:
    blocks = {one.name: (one.voice, one.fold) for one in own_rules().stages(WALK)[0].blocks}
    assert blocks == {
        "walk": ("material", ""),
        "rule": ("study", "closed"),
        "weather": ("material", "open"),
        "notes": ("material", "closed"),
    }


@pytest.mark.parametrize("name", ["walk", "rule", "weather", "notes"])
def test_a_folded_block_is_a_disclosure_that_needs_no_script(name: str) -> None:
    block = next(one for one in own_rules().stages(WALK)[0].blocks if one.name == name)
    page = html.fromstring(
        render_to_string("components/block.html", {"block": block, "level": 2, "prefix": ""})
    )
    assert page.tag == ("details" if block.fold else "div")
    assert (page.get("open") is not None) == (block.fold == "open")
    assert ("block--study" in page.get("class")) == (name == "rule")
    (heading,) = page.xpath("./summary/h2" if block.fold else "./h2")
    assert heading.text == block.label
    assert page.xpath(".//*[contains(@class, 'block__text') or contains(@class, 'block__list')]")


def test_an_arm_that_labels_a_block_otherwise_keeps_its_look() -> None:
    text = ARMS_FILE.read_text(encoding="utf-8")
    kind = hit_type_read(
        text.replace("said: It said,", "said: {label: It said, voice: study, collapsible: open},", 1)
    )
    payload = kind.control(kind.exam[0].payload, "answer_only")
    (said,) = [one for one in kind.stages(payload)[0].blocks if one.name == "said"]
    assert (said.label, said.voice, said.fold) == ("The robot said", "study", "open")


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("voice: study", "voice: ours", "stages.walk.show.rule.voice", 'is "ours"; expected one of: material, study'),
        ("collapsible: open", "collapsible: yes", "stages.walk.show.weather.collapsible", 'is "yes"; expected one of: open, closed'),
        ("ask: Was it pleasant?", "ask: Was it pleasant?\n        about: [walk, rule]", "stages.walk.questions.pleasant.about",
         'has "rule", which is closed at first; write `collapsible: open` there'),
        ("kind: yes_no\n        ask: Were they tired?", "kind: yes_no\n        for_each: notes\n        ask: Were they tired?",
         "stages.walk.questions.tired.for_each", 'has "notes", which is closed at first'),
    ],
)  # fmt: skip
def test_wrong_looks_are_refused_at_their_place(old: str, new: str, place: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(DeclarationRefused) as error:
        hit_type_read(TEXT.replace(old, new, 1))
    found = [str(one) for one in error.value.problems]
    assert any(f": {place} " in one and said in one for one in found), found
