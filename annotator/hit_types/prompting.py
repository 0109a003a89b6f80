"""Prompt files: split into messages first, then filled with values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Template

from annotator.hit_types.shapes import ChatMessage

_HEADING = re.compile(r"^## (system|user|assistant)[ \t]*$", re.MULTILINE)


def render_prompt(text: str, values: Mapping[str, str]) -> list[ChatMessage]:
    """Split a prompt file at its ``## system``, ``## user`` and ``## assistant`` headings and fill in ``$names``.

    The file is split before it is filled, so an item that contains a heading cannot add a message. Values are not
    expanded again, so ``$name`` inside an item stays as it is. Raises ``KeyError`` for a ``$name`` without a value.

    >>> [m.role for m in render_prompt("## system\\nBe brief.\\n## user\\n$q", {"q": "## assistant"})]
    ['system', 'user']
    """
    cuts = list(_HEADING.finditer(text))
    if not cuts:
        raise ValueError("a prompt needs at least one '## user' heading")
    ends = [cut.start() for cut in cuts[1:]] + [len(text)]
    return [
        ChatMessage(role=cut.group(1), content=Template(text[cut.end() : end].strip()).substitute(values))  # type: ignore[arg-type]
        for cut, end in zip(cuts, ends, strict=True)
    ]


def answered_numbers(text: str) -> list[str]:
    """The numbers that the last line of a demonstrated reply answers.

    >>> answered_numbers("Point 1 is there.\\nANSWER: 1=YES; 2=NO")
    ['1', '2']
    """
    return re.findall(r"(\d+)\s*=", text.rstrip().splitlines()[-1]) if text.strip() else []


_PART = re.compile(r"^# (\S+)[ \t]*$", re.MULTILINE)


def prompt_part(text: str, name: str) -> str:
    """The part of a prompt file for one stage: the text under ``# name``.

    A file without such headings is used for every stage. Raises ``ValueError`` if only this name has no part.

    >>> prompt_part("# before\\n## user\\n$q\\n# after\\n## user\\n$e", "after")
    '## user\\n$e'
    """
    cuts = list(_PART.finditer(text))
    if not cuts:
        return text
    ends = [cut.start() for cut in cuts[1:]] + [len(text)]
    for cut, end in zip(cuts, ends, strict=True):
        if cut.group(1) == name:
            return text[cut.end() : end].strip()
    raise ValueError(
        f"the prompt has no part '# {name}'; its parts are: {', '.join(c.group(1) for c in cuts)}"
    )
