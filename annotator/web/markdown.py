"""Researchers' Markdown as safe HTML: no raw HTML, no images, links only to http(s) and mail."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import nh3
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from annotator.hit_types.base import Example, HitType
from annotator.hit_types.formats import table_rows
from annotator.selectors.study_texts import TextHere
from annotator.web.wording import other_language, say, stage_shown, wording_shown

_TAGS = {"p", "br", "strong", "em", "ul", "ol", "li", "h2", "h3", "h4", "blockquote", "code", "pre", "hr", "a", "table", "thead", "tbody", "tr", "th", "td"}  # fmt: skip
_HEADING = re.compile(r"<h[1-6]>(.*?)</h[1-6]>", re.DOTALL)


@lru_cache(maxsize=512)
def markdown_html(text: str) -> SafeString:
    """Convert Markdown to HTML that can't run or load anything.

    >>> markdown_html("**Hello** <script>alert(1)</script>")
    '<p><strong>Hello</strong> &lt;script&gt;alert(1)&lt;/script&gt;</p>\\n'
    """
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    clean = nh3.clean(html, tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https", "mailto"})
    return mark_safe(clean)  # noqa: S308 - cleaned on the line above


@lru_cache(maxsize=512)
def material_markdown_html(text: str) -> SafeString:
    """Markdown of study material: as above, with headings as bold lines, since the page has its own headings.

    >>> material_markdown_html("# Drums")
    '<p><strong>Drums</strong></p>\\n'
    """
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    clean = nh3.clean(
        _HEADING.sub(r"<p><strong>\1</strong></p>", html),
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        set_tag_attribute_values={"a": {"target": "_blank"}},  # so that a link doesn't replace the task
    )
    return mark_safe(clean)  # noqa: S308 - cleaned on the line above


@lru_cache(maxsize=512)
def material_table_html(text: str) -> SafeString:
    """A table of study material; see ``annotator.hit_types.formats.table_rows``."""
    head, *rows = table_rows(text)
    top = format_html_join("", '<th scope="col">{}</th>', ((cell,) for cell in head))
    body = format_html_join(
        "", "<tr>{}</tr>", ((format_html_join("", "<td>{}</td>", ((cell,) for cell in row)),) for row in rows)
    )
    return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", top, body)


def instructions_context(kind: HitType, shown: TextHere) -> list[dict[str, Any]]:
    """Instructions split into text and worked examples, in the order in which the page shows them.

    Each says its ``language`` if it isn't that of the page.
    """
    language = other_language(shown.language)
    parts: list[dict[str, Any]] = []
    for part in kind.read_instructions(shown.text):
        if isinstance(part, Example):
            parts.append(
                {
                    "title": wording_shown(part.title),
                    "stage": stage_shown(kind.question_stage(part.payload, part.response), shown.language),
                    "response": part.response,
                    "lines": kind.describe(part.payload, part.response, translate=say),
                    "reasoning_html": markdown_html(part.reasoning),
                    "language": language,
                }
            )
        else:
            parts.append({"html": markdown_html(part.markdown), "language": language})
    return parts
