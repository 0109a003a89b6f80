"""The texts of HIT types in the language of the page. HIT types mark them; see ``annotator.hit_types.wording``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from django.conf import settings
from django.utils.translation import get_language, gettext

from annotator.hit_types.base import Option, Stage, translated
from annotator.hit_types.shapes import Passages
from annotator.hit_types.wording import FileText, Wording


def wording_shown(text: str) -> str:
    """A text of a HIT type in the language of the page. Material, which isn't marked, stays as it is."""
    return translated(text, say)


def say(text: str) -> str:
    """A text in the language of the page: from the catalogue, or from the file of a declared HIT type."""
    if isinstance(text, FileText):
        return text.others.get(get_language() or "", str(text))
    return gettext(text)


def other_language(code: str) -> str:
    """The code of a text's language if it isn't that of the page; otherwise empty."""
    return "" if code == get_language() else code


def stage_shown(stage: Stage, language: str = "") -> Stage:
    """A stage with its title, labels, questions and options in the language of the page.

    ``language`` is that of the material: blocks and options in another language than the page's say so.
    """
    language = other_language(language)
    if get_language() == settings.LANGUAGE_CODE and not language and not _translated_by_file(stage):
        return stage
    say = wording_shown

    def of(*texts: str) -> str:
        return "" if all(_in_page_language(text) for text in texts if text) else language

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
                heading=say(field.heading),
                heading_help=say(field.heading_help),
                row=say(field.row),
                missing=say(field.missing),
                only_if=say(field.only_if),
                ends=(say(field.ends[0]), say(field.ends[1])) if field.ends else None,
                passages=_passages_shown(field.passages),
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


def _translated_by_file(stage: Stage) -> bool:
    """Whether the file of its type has translations: then a title, a question or an answer has them."""
    options = (option.label for field in stage.fields for option in field.options)
    asked = (text for field in stage.fields for text in (field.label, field.missing))
    texts = (stage.title, stage.lead, *asked, *options)
    return any(isinstance(text, FileText) for text in texts)


def _in_page_language(text: str) -> bool:
    if isinstance(text, FileText):
        return (get_language() or "") in text.others
    return isinstance(text, Wording)


def _passages_shown(passages: Passages | None) -> Passages | None:
    if passages is None:
        return None

    def of(options: tuple[Option, ...]) -> tuple[Option, ...]:
        return tuple(
            replace(option, label=wording_shown(option.label), detail=wording_shown(option.detail))
            for option in options
        )

    return replace(
        passages,
        categories=of(passages.categories),
        severities=of(passages.severities),
        none=wording_shown(passages.none),
    )


def stages_shown(stages: Iterable[Stage], language: str = "") -> tuple[Stage, ...]:
    return tuple(stage_shown(stage, language) for stage in stages)
