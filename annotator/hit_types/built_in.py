"""The translations that come with a HIT type: its instructions, practice and exam in other languages than English.

A type's folder has them in ``languages/<code>``, in files of the same names and order as the English ones:
``instructions.md``, ``practice.json``, ``exam.json``, and those of its control arms in ``arms/<arm>``. Questions have the
form of a study's translations: ``key``, ``payload`` and ``reason``; the correct answer is that of the English question.

A translation stands for the English text that it was made from, word for word. A study shows its instructions in
another language if each of their passages is one of the type's, in whatever selection; a question if its item and its
reason are the type's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from annotator.hit_types.contract import HitType
from annotator.hit_types.registry import hit_type_get
from annotator.hit_types.shapes import JSON, Question

#: The language in which types are written.
WRITTEN_IN = "en"
_MARKER = re.compile(r"<!--[ \t]*(only:[^>]*|end[ \t]*)-->[ \t]*$")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*([-*+]|\d+\.)[ \t]+\S|#{1,6}[ \t]")


def passages(markdown: str) -> list[str]:
    """The passages of instructions: headings, paragraphs, items of lists and fenced blocks, without what marks variants.

    >>> passages("## Task\\n\\nRead it\\ntwice.\\n\\n- **Yes**: good\\n- **No**: bad\\n<!-- end -->\\n")
    ['## Task', 'Read it\\ntwice.', '- **Yes**: good', '- **No**: bad']
    """
    return [text for text, is_passage in _pieces(markdown) if is_passage]


def _pieces(markdown: str) -> Iterator[tuple[str, bool]]:
    """Passages (True), and what is between them (False): joined with line breaks, they are the text."""
    held: list[str] = []
    fence = ""
    for line in markdown.replace("\r\n", "\n").split("\n"):
        if fence:
            held.append(line)
            if line.startswith(fence) and not line.strip(fence[0] + " \t"):
                yield "\n".join(held), True
                held, fence = [], ""
            continue
        opened = _FENCE.match(line)
        between = not line.strip() or _MARKER.match(line)
        if held and (opened or between or _ITEM.match(line)):
            yield "\n".join(held), True
            held = []
        if between:
            yield line, False
        else:
            held.append(line)
            fence = opened.group(1) if opened else ""
            if line.startswith("#"):
                yield line, True
                held = []
    if held:
        yield "\n".join(held), True


def instructions_in(hit_type: str, code: str, text: str) -> str:
    """Instructions in another language; empty unless every passage is one of the type's and has a translation.

    ``code``: ISO 639-1. ``text``: the instructions that a study shows, in English, for its variants and control arms.
    """
    known = _passages_in(hit_type, code)
    found = []
    for piece, is_passage in _pieces(text) if known else ():
        parts = _parts(piece, known) if is_passage else []
        if parts is None:
            return ""
        found += [known[part] for part in parts] if is_passage else [piece]
    return "\n".join(found)


def _parts(passage: str, known: Collection[str]) -> list[str] | None:
    """The known passages that make up this one, line by line: two that follow each other once what stood between them is
    left out. None if it has anything else.

    >>> _parts("Read it.\\nJudge it.", {"Read it.", "Judge it."})
    ['Read it.', 'Judge it.']
    """
    if passage in known:
        return [passage]
    lines = passage.split("\n")
    for end in range(len(lines) - 1, 0, -1):
        first = "\n".join(lines[:end])
        if first in known and (rest := _parts("\n".join(lines[end:]), known)) is not None:
            return [first, *rest]
    return None


def question_in(hit_type: str, code: str, which: str, question: Question) -> JSON | None:
    """The translation of a question of the ``exam`` or the ``practice``: ``key``, ``payload``, ``reason``.

    None if there is none, or if the question isn't word for word the type's own.
    """
    original, translation = _questions_in(hit_type, code, which).get(question.key, (None, None))
    same = original is not None and (original["payload"], original["reason"]) == (
        question.payload,
        question.reason,
    )
    return translation if same else None


def comes_in(hit_type: str, code: str) -> bool:
    """Whether the instructions of a type come with a translation into this language."""
    return bool(_passages_in(hit_type, code))


def is_own_question(hit_type: str, which: str, question: Question) -> bool:
    """Whether a question is word for word one of the type's own, which are in English."""
    return any(
        (one["key"], one["payload"], one["reason"]) == (question.key, question.payload, question.reason)
        for folder in _folders(_known(hit_type))
        for one in _json(folder / f"{which}.json")
    )


def is_own_text(hit_type: str, text: str) -> bool:
    """Whether instructions consist of the type's own passages only."""
    own = _own_passages(hit_type)
    return all(_parts(passage, own) is not None for passage in passages(text))


def _known(hit_type: str) -> HitType | None:
    try:
        return hit_type_get(hit_type)
    except KeyError:  # a study of a type that this server doesn't have
        return None


def _folders(kind: HitType | None) -> list[Path]:
    """The folders with the English texts of a type and of its control arms."""
    if kind is None or kind.external:
        return []
    return [kind.folder, *(kind.folder / "arms" / arm for arm in kind.control_arms)]


def _translated(folder: Path, code: str) -> Path:
    """The folder with the translations of the texts in this one, which is a type's or in its ``arms``."""
    own = folder.parents[1] if folder.parent.name == "arms" else folder
    return own / "languages" / code / folder.relative_to(own)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _json(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(_text(path) or "[]")
    return found


@lru_cache(maxsize=100)
def _own_passages(hit_type: str) -> frozenset[str]:
    return frozenset(
        one for folder in _folders(_known(hit_type)) for one in passages(_text(folder / "instructions.md"))
    )


@lru_cache(maxsize=100)
def _passages_in(hit_type: str, code: str) -> Mapping[str, str]:
    """English passage -> its translation. Files that don't correspond passage by passage aren't used; tests report them."""
    found: dict[str, str] = {}
    for folder in _folders(_known(hit_type)):
        english = passages(_text(folder / "instructions.md"))
        other = passages(_text(_translated(folder, code) / "instructions.md"))
        if len(english) == len(other):
            found |= dict(zip(english, other, strict=True))
    return found


@lru_cache(maxsize=200)
def _questions_in(hit_type: str, code: str, which: str) -> Mapping[str, tuple[JSON, JSON]]:
    """Key -> the English question and its translation."""
    found: dict[str, tuple[JSON, JSON]] = {}
    for folder in _folders(_known(hit_type)):
        english = {one["key"]: one for one in _json(folder / f"{which}.json")}
        for one in _json(_translated(folder, code) / f"{which}.json"):
            if one["key"] in english:
                found[one["key"]] = (english[one["key"]], one)
    return found
