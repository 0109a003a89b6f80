"""Template tags and filters: a bound stage, the task menu, error messages, geometry of small plots."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django import template
from django.template.defaultfilters import capfirst
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, gettext_noop

from annotator.core.language import Language, languages
from annotator.hit_types.base import Block, Stage
from annotator.hit_types.images import ImageText, read_image
from annotator.hit_types.wording import FileText, Wording
from annotator.models import Study
from annotator.selectors.images import image_url
from annotator.selectors.study_texts import study_text, study_text_language
from annotator.web.language import ENGLISH_PATHS
from annotator.web.markdown import markdown_html, material_markdown_html, material_table_html
from annotator.web.task_form import Asked, TaskForm
from annotator.web.task_form import task_form as bind
from annotator.web.wording import other_language, say, wording_shown

register = template.Library()


@register.simple_tag
def task_form(
    stage: Stage,
    response: Mapping[str, Any] | None = None,
    errors: Mapping[str, str] | None = None,
    prefix: str = "",
) -> TaskForm:
    """``{% task_form stage response errors as asked %}``: the stage as its form shows it."""
    return bind(stage, response or None, errors or None, prefix or "")


@register.simple_tag
def question(one: Asked) -> SafeString:
    """``{% question one %}``: one field of the form. The same field in the same state is rendered once per language.
    Typed text and its errors are never cached.
    """
    return question_rendered(one) if one.text or one.error else _asked_cached(one, get_language())


def question_rendered(one: Asked) -> SafeString:
    return render_to_string("components/asked.html", {"one": one})


@lru_cache(maxsize=500)
def _asked_cached(one: Asked, language: str | None) -> SafeString:
    return question_rendered(one)


@register.simple_tag(takes_context=True)
def material(context: template.Context, block: Block, level: int = 2, prefix: str = "") -> SafeString:
    """``{% material block level prefix %}``: one labelled piece of material, rendered once per language: the tasks about an
    explanation share most of their material. Images have an address for each reader and are never cached.
    """
    if block.format == "image":
        shared = {name: context.get(name) for name in ("request", "study")}
        return _material(block, level, prefix, **shared)
    return _material_cached(block, level, prefix, get_language())


def _material(block: Block, level: int, prefix: str, **context: Any) -> SafeString:
    return render_to_string(
        "components/block.html", {"block": block, "level": level, "prefix": prefix, **context}
    )


@lru_cache(maxsize=500)
def _material_cached(block: Block, level: int, prefix: str, language: str | None) -> SafeString:
    return _material(block, level, prefix)


#: Errors of HIT types that annotators can see. HIT types don't import Django, so the errors are translated here.
ANSWER_ERRORS = (
    gettext_noop("choose an answer"),
    gettext_noop("choose at least one"),
    gettext_noop("choose one of"),
    gettext_noop("choose only from"),
    gettext_noop("write an answer"),
    gettext_noop("contains a NUL byte or an invalid character"),
)


@register.filter
def translated_errors(text: str) -> str:
    """The errors of an answer ("; " between several) in the reader's language.

    >>> translated_errors("choose an answer; at most 20 characters, got 31")
    'Choose an answer; at most 20 characters, got 31'
    """
    if isinstance(text, FileText):
        return say(text)
    if isinstance(text, Wording) and text.values:
        return "; ".join(translated_errors(value) for value in text.values.values())
    parts = (part.partition(": ") for part in text.split("; "))
    return capfirst(
        "; ".join(
            (gettext(what) if what in ANSWER_ERRORS else what) + colon + rest for what, colon, rest in parts
        )
    )


@register.simple_tag(takes_context=True)
def material_image(context: template.Context, text: object) -> SafeString:
    """An image of the material, with an address for the person who is reading. ``text`` names it; see ``hit_types.images``.

    Where there is no reader or study (the style gallery), or the file was never uploaded, its alternative text is shown.
    Empty if the text names no image, and for other values of an item: a list, a number.
    """
    image = read_image(text) if isinstance(text, str) else text
    if not isinstance(image, ImageText):
        return SafeString("")
    user = getattr(context.get("request"), "user", None)
    study = context.get("study")
    url = ""
    if image.stored is not None and study is not None and user is not None and user.is_authenticated:
        url = image_url(user_pk=user.pk, study_pk=study.pk, digest=image.stored.digest)
    return render_to_string("components/image.html", {"image": image, "url": url})


@register.filter
def material_words(value: Any) -> Any:
    """A text of the material in one line for a list: an image as its alternative text and file name.

    >>> material_words("![An owl](owl.png)"), material_words("An owl?")
    ('[Image: An owl (owl.png)]', 'An owl?')
    """
    image = read_image(value) if isinstance(value, str) and value.startswith("![") else None
    return f"[Image: {image.alt} ({image.name})]" if image else value


@register.filter
def plain_value(value: Any) -> str:
    """A value of an item's payload as a researcher reads it.

    >>> plain_value(["a cat", "a dog"]), plain_value(True), plain_value(None), plain_value(3)
    ('a cat | a dog', 'yes', '', '3')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " | ".join(map(plain_value, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


#: The parts of a menu that differ between tasks. The rest depends only on which of these are given.
_MENU = ("flag_url", "ask_url", "skip_url", "more_time_url", "end_url", "csrf_token")
_SLOT = re.compile(r"slot-([a-z_]+)-tols")


@register.simple_tag(takes_context=True)
def menu(context: template.Context) -> SafeString:
    """The task's menu. Each combination of entries is rendered once per language; then only the slots are filled in."""
    given = {name: conditional_escape(context.get(name) or "") for name in _MENU}
    parts = _menu_parts(get_language(), context.get("mode", ""), *(name for name in _MENU if given[name]))
    return mark_safe("".join([given[part] if odd else part for odd, part in parts]))  # noqa: S308


@lru_cache(maxsize=100)
def _menu_parts(language: str | None, mode: str, *names: str) -> tuple[tuple[int, str], ...]:
    """Pairs of (1 for the name of a slot, 0 for text; the name or text)."""
    slots = {name: f"slot-{name}-tols" for name in names}
    parts = _SLOT.split(render_to_string("annotator/_menu.html", {"mode": mode, **slots}))
    return tuple((number % 2, part) for number, part in enumerate(parts))


@register.simple_tag
def place(letter: str, number: int) -> str:
    """A prefix for the ids of one of several components on a page: ``{% place "m" 3 as here %}`` gives "m3-"."""
    return f"{letter}{number}-"


@dataclass(frozen=True)
class Compared:
    """A question with the given and the correct answer; empty if the question was not reached."""

    label: str
    given: str
    correct: str

    @property
    def right(self) -> bool:
        return self.given == self.correct


@register.simple_tag
def compare(given: Iterable[tuple[str, str]], correct: Iterable[tuple[str, str]]) -> list[Compared]:
    """The given and the correct answers by question, in the order asked.

    >>> [(one.label, one.right) for one in compare([("A", "yes"), ("B", "no")], [("A", "yes"), ("C", "x")])]
    [('A', True), ('B', False), ('C', False)]
    """
    ours, theirs = dict(given), dict(correct)
    return [Compared(label, ours.get(label, ""), theirs.get(label, "")) for label in {**ours, **theirs}]


@dataclass(frozen=True)
class InstructionSection:
    """A section of the instructions. Each part has ``html``, or a worked example, its ``place`` and whether it is ``open``:
    the first of a section is, since twenty examples are 25 screens of a phone."""

    title: str
    parts: tuple[Mapping[str, Any], ...]
    language: str = ""


_HEADING = re.compile(r"<h2>(.*?)</h2>", re.DOTALL)


@register.simple_tag
def instruction_sections(parts: Iterable[Mapping[str, Any]]) -> list[InstructionSection]:
    """Split instructions at their second-level headings into collapsible sections.

    >>> found = instruction_sections([{"html": "<p>a</p><h2>B &amp; C</h2><p>d</p>"}, {"stage": 1}])
    >>> [(section.title, len(section.parts)) for section in found]
    [('', 1), ('B &amp; C', 2)]
    """
    sections: list[tuple[str, str, list[Mapping[str, Any]]]] = [("", "", [])]
    for number, part in enumerate(parts, start=1):
        if "html" not in part:
            first = all("html" in one for one in sections[-1][2])
            sections[-1][2].append({**part, "place": f"ex{number}-", "open": first})
            continue
        before, *rest = _HEADING.split(part["html"])
        language = part.get("language", "")
        if before.strip():
            sections[-1][2].append({"html": mark_safe(before), "language": language})  # noqa: S308 - was cleaned as a whole
        for title, html in zip(rest[::2], rest[1::2], strict=True):
            sections.append((mark_safe(title), language, []))  # noqa: S308
            if html.strip():
                sections[-1][2].append({"html": mark_safe(html), "language": language})  # noqa: S308
    return [
        InstructionSection(title, tuple(those), language)
        for title, language, those in sections
        if those or title
    ]


@register.filter
def markdown(text: str) -> SafeString:
    """Researchers' Markdown as safe HTML; see ``annotator.web.markdown``."""
    return markdown_html(text)


#: From this number of characters on, a block takes the whole width beside others.
_LONG_BLOCK = 90


@register.filter
def block_classes(block: Block) -> str:
    """The classes of a block's element, by what it is and how long its text is.

    >>> block_classes(Block("rule", "Rule", "Count each claim once.", voice="study"))
    'block block--study'
    """
    more = {
        "block--answer": block.kind == "answer",
        "block--long": block.length > _LONG_BLOCK,
        "block--study": block.voice == "study",
        "block--fold": bool(block.fold),
    }
    return " ".join(["block", *(name for name, applies in more.items() if applies)])


@register.filter
def seconds_until(moment: datetime | None) -> int | str:
    """Whole seconds from now until a moment, never below 0; empty for no moment."""
    if not moment:
        return ""
    return max(0, int((moment - timezone.now()).total_seconds()))


@register.filter
def percent(value: float) -> str:
    """A position on a scale from 0 to 1 as an SVG percentage, with a decimal point in every language.

    >>> percent(0.256)
    '25.6%'
    """
    return f"{min(max(float(value), 0.0), 1.0) * 100:.4g}%"


@register.filter
def hundred(share: float, direction: str = "") -> str:
    """A share as a coordinate from 0 to 100; ``down`` for an axis that starts at the bottom.

    >>> hundred(0.25), hundred(0.25, "down")
    ('25.0', '75.0')
    """
    return f"{100 * (1 - share if direction else share):.1f}"


@register.simple_tag(takes_context=True)
def page_languages(context: template.Context) -> tuple[Language, ...]:
    """The languages that the page's reader can choose; none where pages are in English only."""
    request = context.get("request")
    return () if request and request.path_info.startswith(ENGLISH_PATHS) else languages()


@register.simple_tag
def language_of(study: Study | None, name: str) -> SafeString:
    """``{% language_of study "title" %}``: the attribute ``lang`` of a title or summary in another language than the page."""
    code = other_language(study_text_language(study, name)) if study else ""
    return format_html(' lang="{}"', code) if code else SafeString("")


@register.simple_tag
def answer_language(answer: object, language: str = "") -> SafeString:
    """``{% answer_language answer study.language %}``: the attribute ``lang`` of an answer that is an option of the item, if the
    item's language isn't that of the page."""
    code = other_language(language) if getattr(answer, "of_item", False) else ""
    return format_html(' lang="{}"', code) if code else SafeString("")


@register.simple_tag
def material_language(block: Block, language: str = "") -> SafeString:
    """The attribute ``lang`` of a block on a page that shows it untranslated: of what the item says, not of what its type
    says."""
    texts = [text for text in (block.text, *block.items) if text]
    code = "" if all(isinstance(text, Wording) for text in texts) else other_language(language)
    return format_html(' lang="{}"', code) if code else SafeString("")


@register.filter
def shown(study: Study | None, name: str) -> str:
    """``{{ study|shown:"title" }}``: the title or summary of a study in the language of the page."""
    return study_text(study, name) if study else ""


@register.filter
def wording(text: str) -> str:
    """A text of a HIT type in the language of the page."""
    return wording_shown(text)


@register.filter
def material_markdown(text: str) -> SafeString:
    """Study material in Markdown as safe HTML."""
    return material_markdown_html(text)


@register.filter
def material_table(text: str) -> SafeString:
    """Study material that is a table as HTML."""
    return material_table_html(text)
