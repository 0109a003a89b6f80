"""The texts of HIT types in the language of the page. HIT types mark them; see ``annotator.hit_types.wording``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from django.conf import settings
from django.utils.translation import get_language, gettext

from annotator.hit_types.base import Stage, translated


def wording_shown(text: str) -> str:
    """A text of a HIT type in the language of the page. Material, which isn't marked, stays as it is."""
    return translated(text, gettext)


def stage_shown(stage: Stage) -> Stage:
    """A stage with its title, labels, questions and options in the language of the page."""
    if get_language() == settings.LANGUAGE_CODE:
        return stage
    say = wording_shown
    return replace(
        stage,
        title=say(stage.title),
        lead=say(stage.lead),
        blocks=tuple(
            replace(block, label=say(block.label), text=say(block.text), items=tuple(map(say, block.items)))
            for block in stage.blocks
        ),
        fields=tuple(
            replace(
                field,
                label=say(field.label),
                help=say(field.help),
                options=tuple(
                    replace(option, label=say(option.label), detail=say(option.detail))
                    for option in field.options
                ),
            )
            for field in stage.fields
        ),
    )


def stages_shown(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    return tuple(map(stage_shown, stages))
