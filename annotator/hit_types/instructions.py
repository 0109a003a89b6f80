"""Instructions: Markdown with worked examples that the page shows as real task blocks.

A worked example is a fenced block named ``example`` that contains JSON::

    ```example
    {"title": "All birds fly", "payload": {...}, "response": {...}, "reasoning": "..."}
    ```

``payload`` and ``response`` are those of the HIT type. ``response`` may leave out fields if the example is about
the first step only. ``reasoning`` is Markdown: one text, or a list of paragraphs. ``title`` is optional; the page
numbers the examples in their order.

A HIT type marks what belongs to some studies only: to a variant (one of the four groups of properties), or to a part
that a study may leave out (looking for points in the article)::

    <!-- only: support, style -->
    ...
    <!-- end -->

A part of one variant is written ``news/input``. ``HitType.sections`` names what an item needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from annotator.hit_types.wording import translatable as _

JSON = dict[str, Any]

_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*([^\n`]*)$")
_ONLY = re.compile(
    r"^<!--[ \t]*only:[ \t]*([\w, /-]+?)[ \t]*-->[ \t]*\n(.*?)^<!--[ \t]*end[ \t]*-->[ \t]*(?:\n|\Z)",
    re.M | re.S,
)


@dataclass(frozen=True)
class Text:
    """A passage of Markdown."""

    markdown: str


@dataclass(frozen=True)
class Example:
    """A worked example: an item, its correct response and the reasoning (Markdown); ``title`` includes its number."""

    payload: JSON
    response: JSON
    reasoning: str
    title: str = ""


def instruction_parts(markdown: str) -> list[Text | Example]:
    """Split instructions into Markdown and worked examples, in order; the examples are numbered from 1.

    Fenced blocks with any other name stay in the text. Raises ``ValueError`` with the line number if an example
    is not closed, is not valid JSON, or lacks ``payload``, ``response`` or ``reasoning``.

    >>> parts = instruction_parts("Hello\\n```example\\n{\\"payload\\": {}, \\"response\\": {}, "
    ...     "\\"reasoning\\": \\"So.\\"}\\n```\\n")
    >>> [type(part).__name__ for part in parts]
    ['Text', 'Example']
    """
    parts: list[Text | Example] = []
    examples = 0
    held: list[str] = []
    lines = markdown.replace("\r\n", "\n").split("\n")
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is None:
            held.append(lines[number])
            number += 1
            continue
        end = _fence_end(lines, number, fence.group(1))
        if fence.group(2).strip() != "example":
            held += lines[number : (len(lines) if end is None else end + 1)]
            number = len(lines) if end is None else end + 1
            continue
        if end is None:
            raise ValueError(f"line {number + 1}: the example is not closed with {fence.group(1)}")
        _keep_text(parts, held)
        examples += 1
        parts.append(_example("\n".join(lines[number + 1 : end]), line=number + 1, place=examples))
        number = end + 1
    _keep_text(parts, held)
    return parts


def examples_changed(markdown: str, change: Callable[[JSON], JSON]) -> str:
    """Instructions whose worked examples have their payloads changed by a function; one that can't be read stays as it is.

    >>> text = '```example\\n{"payload": {"a": 1}, "response": {}, "reasoning": "So."}\\n```'
    >>> examples_changed(text, lambda payload: {"b": 2}).splitlines()[1]
    '{"payload": {"b": 2}, "response": {}, "reasoning": "So."}'
    """
    lines, number = markdown.replace("\r\n", "\n").split("\n"), 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        end = _fence_end(lines, number, fence.group(1)) if fence else None
        if fence is None or end is None:
            number += 1
            continue
        if fence.group(2).strip() == "example":
            with suppress(ValueError, RecursionError, KeyError, TypeError):
                raw = json.loads("\n".join(lines[number + 1 : end]))
                raw = {**raw, "payload": change(raw["payload"])}
                lines[number + 1 : end] = [json.dumps(raw, ensure_ascii=False)]
                end = number + 2
        number = end + 1
    return "\n".join(lines)


def for_variant(markdown: str, *names: str) -> str:
    """The instructions as a study of these variants or parts shows them; everything if none is named.

    A variant includes all its parts, and a part includes what its whole variant reads.

    >>> for_variant("All.\\n<!-- only: news -->\\nNews.\\n<!-- end -->\\nEnd.", "medical")
    'All.\\nEnd.'
    >>> for_variant("<!-- only: news/input -->\\nArticle.\\n<!-- end -->\\nEnd.", "news/output")
    'End.'
    """
    asked = {name for name in names if name}

    def kept(found: re.Match[str]) -> str:
        marked = {name.strip() for name in found.group(1).split(",")}
        if not asked or any(_covers(a, b) or _covers(b, a) for a in asked for b in marked):
            return found.group(2)
        return ""

    return _ONLY.sub(kept, markdown.replace("\r\n", "\n"))


def _covers(name: str, other: str) -> bool:
    return other == name or other.startswith(f"{name}/")


def _fence_end(lines: list[str], start: int, fence: str) -> int | None:
    closing = re.compile(rf"^{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
    return next((n for n in range(start + 1, len(lines)) if closing.match(lines[n])), None)


def _keep_text(parts: list[Text | Example], held: list[str]) -> None:
    text = "\n".join(held).strip("\n")
    held.clear()
    if text.strip():
        parts.append(Text(text))


def _example(source: str, *, line: int, place: int) -> Example:
    try:
        raw = json.loads(source)
    except (ValueError, RecursionError) as error:
        at = line + getattr(error, "lineno", 1)
        reason = getattr(error, "msg", "nested too deeply")
        raise ValueError(f"line {at}: the example is not valid JSON: {reason}") from None
    if not isinstance(raw, dict):
        raise ValueError(f"line {line}: an example has to be a JSON object")
    for name, kind in (("payload", dict), ("response", dict), ("reasoning", (str, list))):
        if not isinstance(raw.get(name), kind):
            raise ValueError(f"line {line}: the example needs {name!r}")
    reasoning = raw["reasoning"]
    return Example(
        payload=raw["payload"],
        response=raw["response"],
        reasoning=reasoning if isinstance(reasoning, str) else "\n\n".join(map(str, reasoning)),
        title=_("Example {number}: {title}", number=place, title=raw["title"])
        if raw.get("title")
        else _("Example {number}", number=place),
    )
