"""What a file says about its questions, in a browser: messages of its own, conditions that compare."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.web.style_gallery.samples import Screen, task
from tests.annotator.hit_types.declaration.files import own_rules
from tests.e2e.task_screens import show

pytestmark = pytest.mark.browser

WALK = {"walk": "They met an owl, and went home at once because it looked at them."}


def test_a_missing_answer_is_told_in_the_files_words_until_it_is_given(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(style, page, monkeypatch, own_rules().stages(WALK)[0])
    words = page.locator("#a-pleasant-missing")
    expect(words).to_be_hidden()
    page.keyboard.press("Enter")
    expect(words).to_be_visible()
    expect(
        page.locator("[role=status], [aria-live]").get_by_text("Say whether the walk was pleasant.")
    ).to_have_count(1)
    assert "a-pleasant-missing" in (page.locator("#a-pleasant").get_attribute("aria-describedby") or "")
    page.keyboard.press("1")
    expect(words).to_be_hidden()
    assert page.locator("#a-pleasant").get_attribute("aria-describedby") is None


def test_questions_unfold_as_their_conditions_compare(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(style, page, monkeypatch, own_rules().stages(WALK)[0])
    tired, long, shorter, sang, seen = (
        page.locator(f"#a-{name}") for name in ("tired", "long", "shorter", "sang", "seen")
    )
    length = page.locator("textarea[name=length]")
    for one in (tired, long, shorter, sang, seen):
        expect(one).to_be_hidden()
    length.fill("12,6 km")
    expect(tired).to_be_visible()
    expect(tired.get_by_text("Only if")).to_be_hidden()
    expect(long).to_be_hidden()
    page.get_by_text("Partly").click()
    expect(long).to_be_visible()
    page.locator("[name=long][value='4']").check()
    expect(shorter).to_be_visible()
    length.fill("20")
    expect(long).to_be_hidden()
    expect(shorter).to_be_hidden()
    length.fill("twelve")
    expect(tired).to_be_hidden()
    page.locator("[name=birds][value=jay]").check()
    expect(sang).to_be_visible()
    expect(seen).to_be_visible()
    page.locator("[name=birds][value=owl]").check()
    expect(sang).to_be_visible()
    expect(seen).to_be_hidden()


def test_without_a_script_lists_fold_and_numbers_are_told(
    style: str, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen("in-view", "In view", "annotator/task.html", task(own_rules().stages(WALK)[0]))
    monkeypatch.setattr("annotator.web.style_gallery.views.screens", lambda: [screen])
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(style + "in-view/")
    expect(
        page.locator("#a-tired").get_by_text("Only if “How long was it?” is more than 12.5 km.")
    ).to_be_visible()
    expect(page.locator("#a-sang")).to_be_hidden()
    page.locator("[name=birds][value=wren]").check()
    expect(page.locator("#a-sang")).to_be_visible()
    expect(page.locator("#a-long")).to_be_hidden()
    page.locator("[name=pleasant][value=yes]").check()
    expect(page.locator("#a-long").get_by_text("Only if")).to_be_visible()
    context.close()


def test_a_block_is_folded_by_keyboard_and_without_a_script(
    style: str, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = own_rules().parse_item(WALK | {"rule": "Long from 10 km on.", "weather": "It rained."}).payload
    screen = Screen("in-view", "In view", "annotator/task.html", task(own_rules().stages(payload)[0]))
    monkeypatch.setattr("annotator.web.style_gallery.views.screens", lambda: [screen])
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(style + "in-view/")
    rule, weather = page.get_by_text("Long from 10 km on."), page.get_by_text("It rained.")
    expect(rule).to_be_hidden()
    expect(weather).to_be_visible()
    page.locator("[data-block=rule] > summary").press("Enter")
    expect(rule).to_be_visible()
    page.locator("[data-block=weather] > summary").click()
    expect(weather).to_be_hidden()
    assert page.locator("[data-block=rule] > summary").bounding_box()["height"] >= 44  # type: ignore[index]
    fonts = [
        page.locator(f"[data-block={name}] .block__text").evaluate("one => getComputedStyle(one).fontFamily")
        for name in ("walk", "rule")
    ]
    assert fonts[0] != fonts[1]
    assert fonts[1] == page.locator(".asked__label").first.evaluate("one => getComputedStyle(one).fontFamily")
    context.close()
