"""The scripts of the task page against a fake server: keys, the instructions drawer, the menu."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from annotator.web.style_gallery.stages import BEFORE, PLAUSIBILITY
from tests.e2e.fake_server import (
    Server,
    chosen,
    html,
    open_task,
    reply,
    until,
)

pytestmark = pytest.mark.browser


def test_single_keys_answer_both_steps_and_enter_submits(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": reply({"version": 1}), "submit": html(BEFORE, saved=True)}
    open_task(style, page, monkeypatch)
    second = page.get_by_text("What will the robot answer to the follow-up question?")
    assert not second.is_visible()
    page.keyboard.press("4")
    assert chosen(page) == ["helpful=yes", "answer=no"]
    assert second.is_visible()
    page.keyboard.press("1")
    assert chosen(page)[0] == "helpful=no"
    assert not second.is_visible()
    page.keyboard.press("3")
    assert chosen(page) == ["helpful=yes", "answer=yes"]
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.get_by_text("Did the builders of Stonehenge know the wheel?")).to_be_visible()
    data = server.of("submit")[0]
    assert (data["helpful"], data["answer"], data["stage"]) == (["yes"], ["yes"], ["0"])
    assert json.loads(data["signals"][0])["keys"] == 3
    expect(page.locator("#live")).to_have_text("Task 12 saved.")


def test_keys_move_from_question_to_question(style: str, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    open_task(style, page, monkeypatch, PLAUSIBILITY)
    expect(page.locator("[data-words]")).to_have_text("Questions left: 4")
    for key in "2131":
        page.keyboard.press(key)
    assert chosen(page) == ["v0=moderate", "v1=yes", "v2=no", "v3=yes"]
    expect(page.locator("[data-send]")).to_contain_text("Submit")


def marked(page: Page) -> list[str]:
    """The names of the fields that are marked as the current question."""
    return page.eval_on_selector_all(
        "[data-current]", "all => all.map(one => one.querySelector('input, textarea').name)"
    )


def shown_keys(page: Page) -> list[str]:
    """The visible key caps, in order."""
    return page.eval_on_selector_all(
        "[data-asked] .key",
        "all => all.filter(one => getComputedStyle(one).visibility === 'visible').map(one => one.textContent)",
    )


def test_number_keys_answer_the_marked_question_which_moves_on_and_with_tab(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = replace(PLAUSIBILITY, blocks=PLAUSIBILITY.blocks[:-2], fields=PLAUSIBILITY.fields[:2])
    open_task(style, page, monkeypatch, two)
    assert (marked(page), shown_keys(page)) == (["v0"], ["1", "2", "3"])
    page.keyboard.press("3")
    assert (chosen(page), marked(page)) == (["v0=no"], ["v1"])
    page.keyboard.press("Shift+Tab")  # from the answer back to the page
    page.locator("[name=v0]").first.focus()
    assert marked(page) == ["v0"], "the focus moves the mark"
    page.keyboard.press("2")
    assert (chosen(page), marked(page)) == (["v0=moderate"], ["v1"])
    page.keyboard.press("1")
    assert chosen(page) == ["v0=moderate", "v1=yes"]
    page.keyboard.press("2")
    assert chosen(page) == ["v0=moderate", "v1=moderate"], "the last answer can be changed at once"
    edge = page.eval_on_selector("[data-current]", "one => getComputedStyle(one, '::before').inlineSize")
    assert float(edge.removesuffix("px")) >= 3, "the mark is drawn"


def test_a_second_step_is_part_of_its_question(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_task(style, page, monkeypatch)
    assert marked(page) == ["helpful", "answer"]
    page.keyboard.press("3")
    assert chosen(page) == ["helpful=yes", "answer=yes"]
    assert shown_keys(page) == ["1", "2", "3", "4"]


def test_keys_can_be_switched_off_and_stay_off(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_task(style, page, monkeypatch)
    page.keyboard.press("?")
    page.get_by_label("Use keyboard shortcuts").uncheck()
    page.get_by_role("button", name="Close").click()
    page.reload()
    page.keyboard.press("2")
    assert chosen(page) == []
    assert not page.locator(".option .key").first.is_visible()


def test_letters_typed_into_a_text_field_are_not_shortcuts(style: str, page: Page) -> None:
    page.goto(style + "task-multi/")
    page.locator(".asked__text").click()
    page.keyboard.type("12 i.?")
    assert page.locator(".asked__text").input_value() == "12 i.?"
    assert chosen(page) == ["faults=false", "faults=gap"]
    page.locator("h1").click()
    page.keyboard.press("1")
    assert chosen(page) == ["faults=gap"]


def test_instructions_open_beside_the_task_and_remember_the_place(style: str, page: Page) -> None:
    page.goto(style + "task-chosen/")
    page.keyboard.press("i")
    drawer = page.get_by_role("complementary", name="Instructions")
    expect(drawer.get_by_text("Your task", exact=True)).to_be_visible()
    covered = drawer.bounding_box()
    for option in page.locator("#task-region .option:has(:checked)").all():
        box = option.bounding_box()
        assert covered
        assert box
        assert box["x"] + box["width"] <= covered["x"]
    body = page.locator("[data-drawer-body]")
    # Again and again, because the place is restored a moment after the text has been loaded.
    scrolled = "document.querySelector('[data-drawer-body]').scrollTop = 200"
    until(
        page,
        f"{scrolled}, Object.keys(sessionStorage).some((name) => sessionStorage.getItem(name) === '200')",
    )
    page.keyboard.press("Escape")
    assert not drawer.is_visible()
    page.keyboard.press("i")
    assert body.evaluate("e => e.scrollTop") == 200
    page.reload()
    page.keyboard.press("i")
    expect(drawer.get_by_text("Your task", exact=True)).to_be_attached()
    expect.soft(body).to_have_js_property("scrollTop", 200)


def test_instructions_do_not_cover_the_answers_on_a_phone(style: str, phone: Page) -> None:
    phone.goto(style + "task-chosen/")
    phone.get_by_role("button", name="Instructions").tap()
    drawer = phone.get_by_role("complementary", name="Instructions")
    expect(drawer.get_by_text("Your task", exact=True)).to_be_visible()
    covered, panel = drawer.bounding_box(), phone.locator(".panel").bounding_box()
    assert covered
    assert panel
    assert covered["y"] + covered["height"] <= panel["y"] + 1


def test_the_menu_opens_by_key_and_returns_the_focus(style: str, page: Page) -> None:
    page.goto(style + "task/")
    page.keyboard.press(".")
    assert page.get_by_text("Ask the researcher").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_text("Ask the researcher").is_visible()
    expect(page.locator("[data-menu] > summary")).to_be_focused()


def test_undo_has_a_key_that_is_shown_beside_it(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"undo": html(response={"helpful": "no"})}
    open_task(style, page, monkeypatch, BEFORE, saved=True, undo_url="/fake/undo")
    expect(page.get_by_role("button", name="Undo").locator(".key")).to_have_text("U")
    page.keyboard.press("u")
    expect(page.locator("input[name=helpful][value=no]")).to_be_checked()
    assert len(server.of("undo")) == 1


def test_the_key_cap_of_the_instructions_cannot_be_read_as_a_bar(style: str, page: Page) -> None:
    page.goto(style + "task/")
    family = "one => getComputedStyle(one).fontFamily"
    assert "Serif" in page.locator(".top .key", has_text="I").evaluate(family).split(",")[0]
