"""Every link of the documentation leads to a page and a heading, every page is in the navigation, and the checks find what is wrong."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from foretell import env


def script(name: str) -> ModuleType:
    """A module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", env.ROOT / "docs" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check, navigation = script("check"), script("navigation")


def test_the_documentation_has_no_problems() -> None:
    """Links, headings, pictures, navigation; docs/llms.txt is up to date: `python docs/check.py` says the same."""
    assert check.problems() == []


def test_the_first_page_leads_to_every_page_and_the_readme_to_the_first() -> None:
    """But single statistics, which their own list has. The README itself fits on one screen and a half."""
    readme = (env.ROOT / "README.md").read_text(encoding="utf-8")
    assert "(docs/index.md)" in readme
    assert len(readme.splitlines()) <= 100
    first = (env.ROOT / "docs/index.md").read_text(encoding="utf-8")
    pages = {page.path for page in navigation.listed() if not page.path.startswith("statistics/")}
    assert pages - set(re.findall(r"\]\(([\w/-]+\.md)\)", first)) == {"index.md"}


def test_the_list_for_language_models_has_its_form_and_every_page() -> None:
    text = navigation.LLMS.read_text(encoding="utf-8")
    title, about, *_ = text.split("\n\n")
    assert title == "# Foretell"
    assert about.startswith("> ")
    linked = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", text, re.MULTILINE)
    assert sorted(linked) == sorted(page.path for page in navigation.listed())
    assert "(operations.md): For the person who runs an installation." in text


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "zensical.toml").write_text(
        '[project]\nsite_name = "A"\nsite_description = "B"\nnav = [{ "Home" = "index.md" }]\n'
    )
    (docs / "index.md").write_text("# Home page\n\nWhat it is about.\n\n[up](#home-page)\n")
    (docs / "llms.txt").write_text("# A\n\n> B\n\n## Start\n\n- [Home](index.md): What it is about.\n")
    (tmp_path / "README.md").write_text("[docs](docs/index.md#home-page) `[no](link.md)`\n")
    return tmp_path


def test_a_small_checkout_is_right(checkout: Path) -> None:
    assert check.problems(checkout) == []


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        ("[a](b.md)", "docs/index.md:6: b.md: no such file"),
        ("![a](b.png)", "docs/index.md:6: b.png: no such file"),
        ("[a](index.md#none)", "docs/index.md:6: index.md#none: index.md has no such heading"),
        (
            "[a](../README.md)",
            "docs/index.md:6: ../README.md: is outside docs/, where the site has no page; name the file as code instead",
        ),
        ("Text\n- item", "docs/index.md:7: a list needs an empty line before it"),
        ("\n- item\n  - inner", "docs/index.md:8: an item of an inner list needs four spaces before it"),
    ],
)
def test_what_is_wrong_on_a_page_is_found_with_its_line(checkout: Path, added: str, problem: str) -> None:
    page = checkout / "docs/index.md"
    page.write_text(page.read_text() + added + "\n\n```\n[not](a-link.md)\n```\n")
    assert check.problems(checkout) == [problem]


def test_a_page_that_is_not_in_the_navigation_or_is_only_there_is_found(checkout: Path) -> None:
    (checkout / "docs/other.md").write_text("# Other\n")
    assert check.problems(checkout) == ["zensical.toml: nav: docs/other.md is missing"]
    (checkout / "docs/other.md").unlink()
    (checkout / "docs/index.md").unlink()
    assert "zensical.toml: nav: index.md: no such file in docs/" in check.problems(checkout)


def test_an_old_list_for_language_models_is_found(checkout: Path) -> None:
    (checkout / "docs/index.md").write_text("# Home page\n\nSomething else.\n")
    assert check.problems(checkout) == ["docs/llms.txt is out of date: run python docs/navigation.py"]


def test_a_built_site_loads_nothing_from_elsewhere_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@font-face { src: url(https://fonts.example/a.woff2) }")
    (tmp_path / "b.html").write_text('<h1 id="top">B</h1>')
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="a.css"><script src="https://cdn.example/a.js"></script><img src="data:image/png;base64,">'
        '<a href="https://example.org/">allowed</a><a href="b.html#top">right</a><a href="b.html#end">wrong</a><a href="c.html">wrong</a>'
    )
    assert check.site_problems(tmp_path) == [
        "index.html: a browser would load https://cdn.example/a.js",
        "index.html: b.html#end: no such heading",
        "index.html: c.html: no such file",
        "a.css: a browser would load https://fonts.example/a.woff2",
    ]


def test_the_site_is_configured_without_requests_to_other_servers() -> None:
    """No fonts of a public server, and the script that search needs in opened files is our own copy."""
    settings = navigation.project()
    assert settings["theme"]["font"] is False
    (polyfill,) = settings["extra"]["polyfills"]
    assert (env.ROOT / "docs" / polyfill["path"]).is_file()
    assert "iframe-worker" in polyfill["path"]  # Zensical adds a public address if none has this name
    assert "offline" in settings["plugins"]
    assert {one.get("scheme") for one in settings["theme"]["palette"]} >= {"default", "slate"}
