"""Checks the documentation: links, headings, pictures, the navigation and llms.txt.

python docs/check.py          the Markdown files; needs nothing but Python, and less than a second
python docs/check.py site     a built site: its links, and that a browser loads nothing from elsewhere
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent))
from navigation import ROOT, listed, llms

_LINK = re.compile(r"!?\[[^\]\n]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^( *)(`{3,}).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_ITEM = re.compile(r"^( *)(?:[-*+]|\d+\.) ")


def _blank(found: re.Match[str]) -> str:
    """As many lines as what was found, so that line numbers stay right."""
    return "\n" * found[0].count("\n")


def without_code(text: str) -> str:
    """Markdown without blocks of code and quoted code, on the same lines."""
    return _CODE.sub("", _FENCED.sub(_blank, text))


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub(_blank, page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def page_problems(page: Path, docs: Path) -> Iterator[str]:
    """Links of one Markdown file that lead nowhere, or from the site to outside it; lists that the site shows as text."""
    lines = without_code(page.read_text(encoding="utf-8")).splitlines()
    for number, line in enumerate(lines, start=1):
        for target in _LINK.findall(line):
            if problem := link_problem(page, target, docs):
                yield f"{page}:{number}: {target}: {problem}"
    if docs in page.parents:
        for number, problem in list_problems(lines):
            yield f"{page}:{number}: {problem}"


def link_problem(page: Path, target: str, docs: Path) -> str:
    """What is wrong with a link of a Markdown file; empty if nothing is."""
    if re.match(r"[a-z]+:", target):
        return ""
    path, _, heading = target.partition("#")
    linked = (page.parent / unquote(path)).resolve() if path else page
    if not linked.exists():
        return "no such file"
    if docs in page.parents and docs not in linked.parents:
        return "is outside docs/, where the site has no page; name the file as code instead"
    if heading and heading not in anchors(linked):
        return f"{linked.name} has no such heading"
    return ""


def list_problems(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Lists that GitHub recognizes and the site doesn't: Python-Markdown needs a blank line before, and four spaces inside."""
    before = ""
    for number, line in enumerate(lines, start=1):
        item = _ITEM.match(line)
        if item and len(item[1]) % 4 > 0:
            yield number, "an item of an inner list needs four spaces before it"
        plain = before and not _ITEM.match(before) and not before.startswith((" ", "#"))
        if item and not item[1] and plain:
            yield number, "a list needs an empty line before it"
        before = line


def problems(root: Path = ROOT) -> list[str]:
    """All problems of the Markdown files, the navigation and llms.txt of a checkout; each says where it is."""
    docs = root / "docs"
    pages = sorted([*root.glob("*.md"), *docs.rglob("*.md")])
    found = [problem for page in pages for problem in page_problems(page, docs)]
    names = [page.path for page in listed(root)]
    there = {str(page.relative_to(docs)) for page in docs.rglob("*.md")}
    found += [f"zensical.toml: nav: {name}: no such file in docs/" for name in names if name not in there]
    found += [f"zensical.toml: nav: docs/{name} is missing" for name in sorted(there - set(names))]
    found += [
        f"zensical.toml: nav: {name}: listed twice"
        for name in sorted({n for n in names if names.count(n) > 1})
    ]
    if there >= set(names):
        file = docs / "llms.txt"
        if not file.exists() or file.read_text(encoding="utf-8") != llms(root):
            found.append("docs/llms.txt is out of date: run python docs/navigation.py")
    return [problem.replace(f"{root}/", "") for problem in found]


class Built(HTMLParser):
    """What one page of the built site links to, loads, and can be linked by."""

    #: Tag -> the attribute that a browser loads without being asked.
    LOADS = {
        "script": "src",
        "img": "src",
        "iframe": "src",
        "source": "src",
        "video": "src",
        "audio": "src",
        "embed": "src",
    }

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and given.get("href") and given.get("rel") not in ("canonical", "describedby"):
            self.loads.append(given["href"])
        if value := given.get(self.LOADS.get(tag, "")):
            self.loads.append(value)
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", given.get("style", ""))


def site_problems(site: Path) -> list[str]:
    """Links of a built site that lead nowhere, and what a browser would load from another server."""
    pages = {page: Built(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    if not pages:
        return [f"{site} has no pages"]
    found = []
    for page, built in pages.items():
        name = page.relative_to(site)
        for address in [*built.loads, *built.links]:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if address in built.loads:
                    found.append(f"{name}: a browser would load {address}")
                continue
            # 404.html is shown under any address, so its links begin at the site's root.
            start = site if parts.path.startswith("/") else page.parent
            linked = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else page.resolve()
            linked = linked / "index.html" if linked.is_dir() else linked
            if not linked.exists():
                found.append(f"{name}: {address}: no such file")
            elif parts.fragment and linked.suffix == ".html":
                there = pages[site / linked.relative_to(site.resolve())].ids
                if unquote(parts.fragment) not in there:
                    found.append(f"{name}: {address}: no such heading")
    for sheet in sorted(site.rglob("*.css")):
        outside = re.findall(
            r"(?:@import\s+|url\()['\"]?((?:https?:)?//[^'\")\s]+)", sheet.read_text(encoding="utf-8")
        )
        found += [f"{sheet.relative_to(site)}: a browser would load {address}" for address in outside]
    return found


def main() -> int:
    found = site_problems(Path(sys.argv[1])) if len(sys.argv) > 1 else problems()
    print(
        "\n".join(found) if found else "documentation: all links lead somewhere",
        file=sys.stderr if found else sys.stdout,
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
