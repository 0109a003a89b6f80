"""The pages of the documentation in their order, and docs/llms.txt, which is made from it.

    python docs/navigation.py            writes docs/llms.txt

`nav` in zensical.toml is the only list of pages. llms.txt (https://llmstxt.org) tells language models where each page is as Markdown;
the site has every page as HTML and as Markdown, under the same name.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LLMS = ROOT / "docs" / "llms.txt"


class Listed(NamedTuple):
    """A page of the navigation: the headings above it, its title there, and its file below ``docs``."""

    section: tuple[str, ...]
    title: str
    path: str


def project(root: Path = ROOT) -> dict[str, Any]:
    """The settings of the site."""
    found: dict[str, Any] = tomllib.loads((root / "zensical.toml").read_text(encoding="utf-8"))["project"]
    return found


def listed(root: Path = ROOT) -> list[Listed]:
    """The pages of the navigation, in its order."""
    return list(_listed(project(root)["nav"], ()))


def _listed(entries: list[dict[str, Any]], section: tuple[str, ...]) -> Iterator[Listed]:
    for entry in entries:
        for title, value in entry.items():
            if isinstance(value, str):
                yield Listed(section, title, value)
            else:
                yield from _listed(value, (*section, title))


def first_sentence(text: str) -> str:
    """What a page begins with after its heading, without comments, links and pictures; empty if that isn't a sentence."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^(#|!\[).*$", "", text, flags=re.MULTILINE).strip()
    paragraph = " ".join(text.partition("\n\n")[0].split())
    if re.match(r"[|`\-*\d]|```", paragraph):
        return ""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
    found = re.match(r".+?[.?!:](?= [A-Z`*]|$)", plain)
    return re.sub(r":$", ".", found[0]) if found else ""


def llms(root: Path = ROOT) -> str:
    """The text of llms.txt: a title, what the project is, and the pages by section with their first sentence."""
    settings = project(root)
    parts = [f"# {settings['site_name']}", f"> {settings['site_description']}"]
    lines: dict[str, list[str]] = {}
    for page in listed(root):
        section = ": ".join(page.section[-1:]) or "Start"
        about = first_sentence((root / "docs" / page.path).read_text(encoding="utf-8"))
        lines.setdefault(section, []).append(
            f"- [{page.title}]({page.path})" + (f": {about}" if about else "")
        )
    for section, entries in lines.items():
        parts += [f"## {section}", "\n".join(entries)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    LLMS.write_text(llms(), encoding="utf-8")
    sys.exit(0)
