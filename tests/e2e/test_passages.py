"""Passages of a text are marked with the mouse, by touch and with the keyboard alone; the box has what the server reads."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from annotator.hit_types.base import FieldErrors
from annotator.hit_types.declaration.document import document_read
from annotator.hit_types.declaration.making import case_of
from tests.annotator.hit_types.declaration.files import MORE_FILE, more_kinds
from tests.e2e.passages import drag_over, word_box
from tests.e2e.task_screens import show

pytestmark = pytest.mark.browser

PAYLOAD, GOLD = case_of(more_kinds(), document_read(MORE_FILE.read_bytes()).value["examples"][0])
#: Selects these words of the text, as a browser does by itself.
SELECT = """(words) => {
    const place = document.querySelector('[data-block=story] .block__text');
    const point = (at) => {
        const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            if (at <= walker.currentNode.length) return [walker.currentNode, at];
            at -= walker.currentNode.length;
        }
    };
    const start = place.textContent.indexOf(words);
    getSelection().setBaseAndExtent(...point(start), ...point(start + words.length));
}"""


def test_passages_are_marked_by_mouse_and_keyboard(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = more_kinds()
    show(style, page, monkeypatch, kind.stages(PAYLOAD)[0])
    question = page.locator("[data-asked]", has=page.locator("textarea[name=errors]"))
    box = page.locator("textarea[name=errors]")
    expect(question.get_by_role("button", name="Spelling")).to_be_disabled()
    # With the mouse: drag over two words, choose a category.
    drag_over(page, "story", "teh mat", "mat")
    question.get_by_role("button", name="Spelling").click()
    expect(box).to_have_value('spelling/minor @13-20: "teh mat"')
    # By two taps, on the first and the last word; it overlaps the other passage.
    for word in ("mat", "Teh"):
        left, _, y = word_box(page, "story", word)
        page.mouse.click(left + 2, y)
    question.get_by_role("combobox").select_option("major")
    question.get_by_role("button", name="Wrong fact").click()
    expect(box).to_have_value('spelling/minor @13-20: "teh mat"\nfact/major @17-25: "mat. Teh"')
    # With the keyboard alone: the first word and the next one; a number marks.
    page.evaluate("getSelection().removeAllRanges()")
    page.locator("[data-block=story] .block__text").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("1")
    expect(question.get_by_role("listitem")).to_have_count(3)
    first = box.input_value().split("\n")[0]
    assert first == 'spelling/major @0-9: "Zoë 😀 sat"'
    # Nothing of the text has changed, and the server reads what is in the box.
    assert page.locator("[data-block=story] .block__text").evaluate("e => e.textContent") == PAYLOAD["story"]
    sent = GOLD | {"errors": box.input_value()}
    assert kind.parse_response(PAYLOAD, sent, 0)["errors"] == box.input_value()
    # A passage is removed, and lines can be written by hand.
    question.get_by_role("button", name="Remove").first.click()
    expect(question.get_by_role("listitem")).to_have_count(2)
    question.get_by_text("Edit as text").click()
    box.fill('fact/minor: "best"')
    expect(question.get_by_role("listitem")).to_contain_text("best")
    expect(question.get_by_role("listitem")).to_contain_text("Wrong fact · Minor")
    # The slider answers only once it is moved.
    slider = page.get_by_role("slider")
    expect(page.locator("textarea[name=sure]")).to_have_value("")
    slider.press("ArrowRight")
    expect(page.locator("textarea[name=sure]")).to_have_value("55")
    with pytest.raises(FieldErrors, match="steps of 5"):
        kind.parse_response(PAYLOAD, sent | {"sure": "52"}, 0)


def test_in_arabic_the_next_word_is_to_the_left(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = PAYLOAD | {"story": "القطة نامت على السجادة."}
    show(style, page, monkeypatch, more_kinds().stages(payload)[0])
    story, box = page.locator("[data-block=story] .block__text"), page.locator("textarea[name=errors]")
    assert story.evaluate("one => getComputedStyle(one).direction") == "rtl"
    story.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("1")
    expect(box).to_have_value('spelling/minor @6-14: "نامت على"')
    first, _, y = word_box(page, "story", "القطة")
    page.mouse.click(first + 2, y)
    page.keyboard.press("1")
    expect(page.locator("[data-asked]", has=box).get_by_role("listitem")).to_have_count(2)
    sent = GOLD | {"errors": box.input_value()}
    assert more_kinds().parse_response(payload, sent, 0)["errors"].startswith('spelling/minor @0-5: "القطة"')


def test_passages_are_marked_by_a_long_press_on_a_phone(
    style: str, phone: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chromium selects nothing by a long press here; what a phone selects, and its handles, are a selection by script."""
    show(style, phone, monkeypatch, more_kinds().stages(PAYLOAD)[0])
    question = phone.locator("[data-asked]", has=phone.locator("textarea[name=errors]"))
    box, story = phone.locator("textarea[name=errors]"), phone.locator("[data-block=story]")
    story.scroll_into_view_if_needed()
    # Where the browser selects nothing, the word is the first one; the next tap is on the last one.
    left, _, y = word_box(phone, "story", "teh mat")
    press = {"x": left + 4, "y": y, "duration": 1_500, "gestureSourceType": "touch"}
    phone.context.new_cdp_session(phone).send("Input.synthesizeTapGesture", press)
    expect(question.locator(".passages__now")).to_have_text("“teh”")
    left, _, y = word_box(phone, "story", "mat")
    phone.touchscreen.tap(left + 4, y)
    expect(question.locator(".passages__now")).to_have_text("“teh mat”")
    question.get_by_role("button", name="Spelling").tap()
    expect(box).to_have_value('spelling/minor @13-20: "teh mat"')
    # What the browser has selected is marked as it is, with its handles where they were left.
    story.scroll_into_view_if_needed()
    left, _, y = word_box(phone, "story", "best")
    phone.touchscreen.tap(left + 4, y)
    phone.evaluate(SELECT, "teh best")
    expect(question.locator(".passages__now")).to_have_text("“teh best”")
    question.get_by_role("button", name="Wrong fact").tap()
    expect(question.get_by_role("listitem")).to_have_count(2)
    assert box.input_value().endswith('"teh best"')
