"""``violations`` finds what it's asked for, in the part of a page that it's asked about."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.e2e.axe import violations

pytestmark = pytest.mark.browser
PAGE = """<!doctype html><html lang="en"><title>Lamps</title><main><h1>Lamps</h1><img src="data:,">
<p class="faint" style="color: #aaa; background: #fff">Faint</p></main></html>"""


def ids(found: list[str]) -> set[str]:
    return {one.partition(":")[0] for one in found}


def test_violations_are_found_by_rule_by_part_and_after_a_change(page: Page) -> None:
    page.set_content(PAGE)
    assert ids(violations(page)) == {"color-contrast", "image-alt"}
    assert ids(violations(page, "image-alt")) == {"image-alt"}
    assert ids(violations(page, within=".faint")) == {"color-contrast"}
    assert ids(violations(page, every_rule=True)) == {"color-contrast", "image-alt"}
    page.evaluate("document.querySelector('img').alt = 'A lamp'")
    page.evaluate("document.querySelector('.faint').style.color = '#000'")
    assert violations(page) == []
    page.set_content(PAGE)
    assert any("Faint" in one or ".faint" in one for one in violations(page))
