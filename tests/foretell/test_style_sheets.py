"""Style sheets: every brace is closed, and system colours are used only where the visitor's system sets them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSS = Path(__file__).resolve().parents[2] / "static" / "css"
FORCED = "@media (forced-colors: active)"
SYSTEM = re.compile(r":[^;{}]*\b(CanvasText|Highlight|HighlightText|ButtonText|LinkText)\b")


def declarations(text: str) -> list[tuple[list[str], str]]:
    """Each piece of text between braces and semicolons, with the heads of the blocks around it."""
    around: list[str] = []
    found = []
    for piece, end in re.findall(r"([^{};]*)([{};])", re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
        if end == "{":
            around.append(" ".join(piece.split()))
            continue
        found.append((list(around), piece.strip()))
        if end == "}":
            around.pop()
    assert around == [], f"not closed: {around}"
    return found


@pytest.mark.parametrize("file", sorted(CSS.rglob("*.css")), ids=lambda file: str(file.relative_to(CSS)))
def test_system_colours_are_used_in_forced_colours_only(file: Path) -> None:
    used = [(around, one) for around, one in declarations(file.read_text()) if SYSTEM.search(one)]
    assert [one for around, one in used if not any(head.startswith(FORCED) for head in around)] == []


def test_a_system_colour_outside_forced_colours_is_found() -> None:
    ((around, one),) = [found for found in declarations(".bar { fill: Highlight; }") if found[1]]
    assert (around, bool(SYSTEM.search(one))) == ([".bar"], True)


@pytest.mark.parametrize("folder", ["admin", "annotator", "evaluation", "components"])
def test_text_that_is_only_read_aloud_is_hidden_by_a_sheet_of_the_page(folder: str) -> None:
    """A class without a rule shows the text: the admin's pages have sheets of their own."""
    sheet = CSS / ("researcher/frame.css" if folder == "admin" else "base.css")
    rules = sheet.read_text(encoding="utf-8")
    used = {
        name
        for path in (CSS.parents[1] / "templates" / folder).rglob("*.html")
        for name in re.findall(r'class="([\w-]*(?:hidden|sr-only))"', path.read_text(encoding="utf-8"))
    }
    assert {name for name in used if f".{name}" not in rules} == set()
