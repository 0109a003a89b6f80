"""Every link between the documentation's pages leads to a page and a heading that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from foretell import env

PAGES = sorted([*env.ROOT.glob("*.md"), *(env.ROOT / "docs").glob("*.md")])
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    text = _CODE.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))
    for target in _LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert not heading or heading in anchors(linked), target


def test_every_page_is_in_the_list_of_the_readme() -> None:
    readme = (env.ROOT / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"\(docs/([\w-]+\.md)\)", readme))
    assert {page.name for page in PAGES if page.parent.name == "docs"} - listed <= {
        "access.md",
        "validation.md",
    }
