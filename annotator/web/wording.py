"""The texts of HIT types in the language of the page. HIT types mark them; see ``annotator.hit_types.wording``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from django.conf import settings
from django.utils.translation import get_language, gettext

from annotator.hit_types.base import Stage, translated
from annotator.hit_types.wording import Wording


def wording_shown(text: str) -> str:
    """A text of a HIT type in the language of the page. Material, which isn't marked, stays as it is."""
    return translated(text, gettext)


def other_language(code: str) -> str:
    """The code of a text's language if it isn't that of the page; otherwise empty."""
    return "" if code == get_language() else code


def stage_shown(stage: Stage, language: str = "") -> Stage:
    """A stage with its title, labels, questions and options in the language of the page.

    ``language`` is that of the material: blocks and options in another language than the page's say so.
    """
    language = other_language(language)
    if get_language() == settings.LANGUAGE_CODE and not language:
        return stage
    say = wording_shown

    def of(*texts: str) -> str:
        return "" if all(isinstance(text, Wording) for text in texts if text) else language

    return replace(
        stage,
        title=say(stage.title),
        lead=say(stage.lead),
        blocks=tuple(
            replace(
                block,
                label=say(block.label),
                text=say(block.text),
                items=tuple(map(say, block.items)),
                language=of(block.text, *block.items),
            )
            for block in stage.blocks
        ),
        fields=tuple(
            replace(
                field,
                label=say(field.label),
                help=say(field.help),
                options=tuple(
                    replace(
                        option,
                        label=say(option.label),
                        detail=say(option.detail),
                        language=of(option.label),
                    )
                    for option in field.options
                ),
            )
            for field in stage.fields
        ),
    )


def stages_shown(stages: Iterable[Stage], language: str = "") -> tuple[Stage, ...]:
    return tuple(stage_shown(stage, language) for stage in stages)
