"""Find in the text: in material that scrolls within the page, by keys and by touch, and never part of an answer."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.task_screens import show, stages_of

pytestmark = pytest.mark.browser

#: Whether the marked match lies within the window and within every text that scrolls, and nothing covers it.
SEEN = """() => {
    const [range] = CSS.highlights.get('find-current');
    const box = range.getBoundingClientRect();
    const at = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return Boolean(at) && range.startContainer.parentElement.contains(at);
}"""


def test_a_word_is_found_in_a_long_article_by_keys_alone(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages, number, _ = list(stages_of("atomic_units", "long"))[1]
    show(style, page, monkeypatch, stages[number])
    first = page.evaluate("document.querySelector('[data-current] input').name")
    page.keyboard.press("/")
    box = page.get_by_role("searchbox", name="Find in the text")
    expect(box).to_be_focused()
    page.keyboard.type("HARBOUR of the old")
    count = page.locator("[data-find-count]")
    expect(count).to_have_text("1 of 106")
    for wanted in ("2 of 106", "3 of 106"):
        page.keyboard.press("Enter")
        expect(count).to_have_text(wanted)
        assert page.evaluate(SEEN)
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(count).to_have_text("106 of 106")
    assert page.evaluate(SEEN)
    assert page.evaluate("CSS.highlights.get('find').size") == 106
    page.keyboard.type("no such words")
    expect(count).to_have_text("Nothing found")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    assert page.evaluate("CSS.highlights.size") == 0
    page.keyboard.press("1")
    assert page.locator(f"[name={first}]").first.is_checked()
    sent = page.evaluate("[...new FormData(document.querySelector('form[data-task]')).values()].join(' ')")
    assert "harbour" not in sent.lower()


def test_find_on_a_phone(style: str, phone: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    stages, number, _ = list(stages_of("atomic_units", "long"))[1]
    show(style, phone, monkeypatch, stages[number])
    phone.get_by_role("button", name="Find in the text").tap()
    phone.get_by_role("searchbox", name="Find in the text").fill("lamps")
    phone.get_by_role("button", name="Next match").tap()
    expect(phone.locator("[data-find-count]")).to_have_text("2 of 106")
    assert phone.evaluate(SEEN)
    phone.set_viewport_size({"width": 320, "height": 640})
    assert phone.evaluate("document.documentElement.scrollWidth") <= 320
    phone.get_by_role("button", name="Close search").tap()
    expect(phone.get_by_role("searchbox", name="Find in the text")).to_be_hidden()


def test_there_is_no_search_where_the_material_is_short_or_keys_are_off(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages, number, _ = next(stages_of("simulation", "short"))
    show(style, page, monkeypatch, stages[number])
    expect(page.locator("[data-find-open]")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("[data-find]")).to_be_hidden()
    stages, number, _ = list(stages_of("atomic_units", "long"))[1]
    page.evaluate("localStorage.setItem('foretell.keys-off', 'true')")
    show(style, page, monkeypatch, stages[number])
    page.keyboard.press("/")
    expect(page.locator("[data-find]")).to_be_hidden()
    page.get_by_role("button", name="Find in the text").click()
    expect(page.get_by_role("searchbox", name="Find in the text")).to_be_focused()
