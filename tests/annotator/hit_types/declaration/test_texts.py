"""The translations that a file carries are shown in the language of the page, whatever is put together from its texts."""

from __future__ import annotations

import pytest
from django.utils.translation import override

from annotator.hit_types.declaration.gallery import GALLERY
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.web.wording import say, stage_shown, wording_shown

FILE = (GALLERY / "rubric_grading.yaml").read_text(encoding="utf-8")


def translated_file(texts: dict[str, str]) -> str:
    lines = [f'    "{text}": "{translation}"' for text, translation in texts.items()]
    return "\n".join([FILE, "translations:", "  de:", *lines, ""])


def test_every_text_is_shown_in_the_language_of_the_page() -> None:
    plain = hit_type_read(FILE)
    payload = plain.exam[0].payload
    fields = plain.stages(payload)[0].fields
    heading, row = fields[0].heading, fields[0].row
    kind = hit_type_read(
        translated_file({heading: "Trifft es zu?", row: "Erstes", plain.task_title: "Bewerten"})
    )
    stage = kind.stages(payload)[0]
    assert (stage.fields, stage.title) == (fields, plain.stages(payload)[0].title), (
        "without a page it is English"
    )
    with override("de"):
        shown = stage_shown(stage, "en").fields
        assert (shown[0].heading, shown[0].row, shown[0].label) == (
            "Trifft es zu?",
            "Erstes",
            "Trifft es zu? Erstes",
        )
        assert shown[1].row == fields[1].row, "what has no translation stays as it is"
        assert shown[1].label.startswith("Trifft es zu? ")
        assert wording_shown(kind.task_title) == "Bewerten"
        answers = kind.describe(payload, {fields[0].name: fields[0].options[0].value}, translate=say)
        assert answers[0][0] == "Trifft es zu? Erstes"
    with override("ar"):
        assert stage_shown(stage).fields[0].row == row
    assert kind.version != plain.version


def test_a_translation_of_no_text_is_refused_at_its_line() -> None:
    with pytest.raises(
        DeclarationRefused, match=r"line \d+: translations.de.Nonsense translates .*no text of this file"
    ):
        hit_type_read(translated_file({"Nonsense": "Unsinn"}))
