"""Each small script in a real browser, against a fake server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, Request, Route, expect

from annotator.web.style_gallery.samples import BEFORE, PLAUSIBILITY, Screen, screens, task
from tests.e2e.style_server import served

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def style() -> Iterator[str]:
    with served() as address:
        yield f"{address}/style/screen/"


class Server:
    """Answer the requests of a task in the browser and record what was sent."""

    def __init__(self, page: Page) -> None:
        self.sent: list[tuple[str, dict[str, list[str]]]] = []
        self.replies: dict[str, Callable[[Route], None]] = {}
        page.route("**/fake/*", self.answer)

    def answer(self, route: Route, request: Request) -> None:
        name = request.url.rsplit("/", 1)[1]
        self.sent.append((name, parse_qs(request.post_data or "", keep_blank_values=True)))
        self.replies[name](route)

    def of(self, name: str) -> list[dict[str, list[str]]]:
        return [data for other, data in self.sent if other == name]


@pytest.fixture
def server(page: Page) -> Server:
    return Server(page)


def html(stage: Any = None, status: int = 200, **changes: Any) -> Callable[[Route], None]:
    body = render_to_string("annotator/_task.html", fake(stage, **changes) | {"csrf_token": "t"})
    return lambda route: route.fulfill(status=status, body=body, content_type="text/html")


def reply(data: Any, status: int = 200, **headers: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(
        status=status, body=json.dumps(data), content_type="application/json", headers=headers
    )


def gone(route: Route) -> None:
    route.abort("internetdisconnected")


def fake(stage: Any = None, **changes: Any) -> dict[str, Any]:
    """A task whose URLs are those of the fake server."""
    urls = {
        f"{name}_url": f"/fake/{name}"
        for name in ("submit", "draft", "undo", "more_time", "flag", "ask", "skip")
    }
    return task(*([stage] if stage else []), **(urls | {"undo_url": ""} | changes))


def open_task(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch, stage: Any = None, **changes: Any
) -> None:
    """Show this task in the style gallery under the name `task`."""
    made = Screen("task", "Task", "annotator/task.html", fake(stage, **changes))
    monkeypatch.setattr(
        "annotator.web.style_gallery.views.screens",
        lambda: [*(s for s in screens() if s.name != "task"), made],
    )
    page.goto(style + "task/")


def until_sent(page: Page) -> None:
    """Wait by polling: the policy forbids the eval that Playwright's own waiting needs."""
    until(page, "localStorage.getItem('foretell.outbox') === null")


def until(page: Page, condition: str) -> None:
    for _ in range(600):
        with suppress(PlaywrightError):  # the page may be on its way to the next one
            if page.evaluate(condition):
                return
        page.wait_for_timeout(50)
    raise AssertionError(f"after 30 s it is still not so: {condition}")


def chosen(page: Page) -> list[str]:
    return page.eval_on_selector_all(
        "[data-asked] :checked", "all => all.map(one => `${one.name}=${one.value}`)"
    )


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
    expect(page.locator("#live")).to_have_text("Saved.")


def test_a_step_that_is_folded_away_is_not_sent(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": reply({"version": 1}), "submit": html(BEFORE)}
    open_task(style, page, monkeypatch)
    for key in ("4", "1", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_text("Stonehenge")).to_be_visible()
    assert "answer" not in server.of("submit")[0]


def test_an_incomplete_answer_is_not_sent_and_the_button_says_what_is_missing(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_task(style, page, monkeypatch)
    button = page.locator("[data-send]")
    expect(page.locator("[data-words]")).to_have_text("Choose an answer first")
    expect(button).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Enter")
    button.click(force=True)
    assert server.sent == []
    expect(page.locator("input[value=no]").first).to_be_focused()


def test_two_presses_send_one_answer(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Route] = []
    server.replies = {"draft": reply({"version": 1}), "submit": waiting.append}
    open_task(style, page, monkeypatch)
    page.keyboard.press("1")
    for _ in range(3):
        page.keyboard.press("Enter")
    expect(page.locator("[data-words]")).to_have_text("Submitting…")
    page.locator("[data-send]").click()
    html(BEFORE)(waiting[0])
    expect(page.get_by_text("Stonehenge")).to_be_visible()
    assert len(server.of("submit")) == 1


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
    """The key caps that can be seen, in order."""
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
    body.evaluate("e => e.scrollTop = 200")
    until(page, "Object.keys(sessionStorage).some((name) => sessionStorage.getItem(name) === '200')")
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


def test_answers_are_saved_as_drafts(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = iter((1, 2))
    server.replies = {"draft": lambda route: reply({"version": next(versions)})(route)}
    open_task(style, page, monkeypatch)
    page.keyboard.press("2")
    expect(page.locator("[data-save-state]")).to_have_text("Draft saved")
    page.keyboard.press("3")
    expect(page.locator("[name=draft_version]")).to_have_value("2")
    assert [data["draft_version"] for data in server.of("draft")] == [["0"], ["1"]]
    assert server.of("draft")[1]["answer"] == ["yes"]


@pytest.mark.parametrize(("choice", "left"), [("Keep this answer", "no"), ("Use the other answer", "yes")])
def test_two_tabs_do_not_overwrite_each_other(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch, choice: str, left: str
) -> None:
    theirs = {"version": 7, "response": {"helpful": "yes", "answer": "yes"}}
    server.replies = {"draft": reply(theirs, 409)}
    open_task(style, page, monkeypatch)
    page.keyboard.press("1")
    notice = page.locator("[data-conflict]")
    expect(notice).to_be_visible()
    assert chosen(page) == ["helpful=no"]
    page.keyboard.press("2")
    page.keyboard.press("1")
    page.wait_for_timeout(900)
    assert len(server.of("draft")) == 1
    server.replies = {"draft": reply({"version": 8})}
    page.get_by_role("button", name=choice).click()
    assert not notice.is_visible()
    assert chosen(page)[0] == f"helpful={left}"
    assert page.locator("[name=draft_version]").input_value() in ("7", "8")


def test_an_answer_given_offline_is_kept_and_sent_once_later(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": gone, "submit": gone}
    open_task(style, page, monkeypatch)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    line = page.locator("[data-network]")
    expect(line).to_contain_text("Your answer is saved on this device")
    assert len(server.of("submit")) == 1
    server.replies = {"submit": html(BEFORE), "draft": reply({"version": 1})}
    open_task(style, page, monkeypatch, BEFORE)
    until_sent(page)
    data = server.of("submit")[1]
    assert (data["helpful"], data["answer"], data["stage"]) == (["yes"], ["no"], ["0"])
    page.wait_for_timeout(300)
    assert len(server.of("submit")) == 2


def test_an_answer_interrupted_by_a_login_is_restored(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": gone, "submit": gone}
    open_task(style, page, monkeypatch)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.locator("[data-network]")).to_contain_text("saved on this device")
    server.replies = {"draft": reply({"version": 1}), "submit": reply({}, 403)}
    page.get_by_role("button", name="Try now").click()
    until_sent(page)
    expect(page.locator("input[name=answer][value=no]")).to_be_checked()


def test_no_answer_is_lost_when_the_server_fails(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": reply({}, 503), "submit": reply({}, 503)}
    open_task(style, page, monkeypatch)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("[data-network]")).to_contain_text("saved on this device")
    assert chosen(page) == ["helpful=no"]


def test_a_draft_made_offline_is_restored_on_reload(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": gone}
    open_task(style, page, monkeypatch)
    page.keyboard.press("4")
    expect(page.locator("[data-save-state]")).to_have_text("Draft saved on this device")
    page.reload()
    assert chosen(page) == ["helpful=yes", "answer=no"]


def test_the_last_minutes_are_shown_and_can_be_extended(style: str, page: Page, server: Server) -> None:
    page.goto(style + "task/")
    assert not page.locator("[data-lease]").is_visible()
    page.route(
        "**/nowhere/", reply({"lease_until": "2030-01-01T00:30:00Z"}, Date="Tue, 01 Jan 2030 00:00:00 GMT")
    )
    page.goto(style + "task-time/")
    expect(page.locator("[data-lease]")).to_contain_text("Time left for this task")
    page.get_by_role("button", name="I need more time").click()
    expect(page.locator("[data-lease]")).not_to_be_visible()
    expect(page.locator("#live")).to_have_text("You have more time.")


def test_undo_disappears_after_its_time(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.clock.install()
    open_task(style, page, monkeypatch, saved=True, undo_url="/fake/undo")
    assert page.get_by_role("button", name="Undo").is_visible()
    page.clock.fast_forward(10_500)
    assert not page.get_by_role("button", name="Undo").is_visible()


def test_undo_brings_the_task_back(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"undo": html(response={"helpful": "no"})}
    open_task(style, page, monkeypatch, BEFORE, saved=True, undo_url="/fake/undo")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("input[name=helpful][value=no]")).to_be_checked()


def test_a_refusal_is_shown_at_its_question(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = html(status=422, response={"helpful": "yes"}, errors={"answer": "choose an answer"})
    server.replies = {"draft": reply({"version": 1}), "submit": refused}
    open_task(style, page, monkeypatch)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Choose an answer", exact=True)).to_be_visible()
    expect(page.locator("input[name=answer]").first).to_be_focused()


def test_leaving_the_page_and_pasting_are_only_counted(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": reply({"version": 1}), "submit": html(BEFORE)}
    multi = next(one.context["stage"] for one in screens() if one.name == "task-multi")
    open_task(style, page, monkeypatch, multi)
    page.keyboard.press("1")
    page.locator(".asked__text").evaluate(
        "e => { const data = new DataTransfer(); data.setData('text', 'secret');"
        " e.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true})) }"
    )
    page.locator("[data-send]").click()
    expect(page.get_by_text("Stonehenge")).to_be_visible()
    signals = json.loads(server.of("submit")[0]["signals"][0])
    assert (signals["pastes"], signals["pasted"]) == (1, 6)
    assert signals["page_ms"] >= 0
    assert "secret" not in json.dumps(signals)


def test_a_reload_without_a_connection_says_so(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": reply({"version": 1}), "submit": html(BEFORE)}
    open_task(style, page, monkeypatch)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Stonehenge")).to_be_visible()
    assert page.evaluate("navigator.serviceWorker.ready.then(found => Boolean(found.active))")
    page.reload()
    page.context.set_offline(True)
    page.reload()
    expect(page.get_by_role("heading", name="You're offline")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(246, 244, 238)"
    page.context.set_offline(False)
    page.reload()
    expect(page.locator("form[data-task]")).to_be_visible()


def test_a_half_finished_exam_is_restored_on_reload(style: str, page: Page) -> None:
    page.goto(style + "exam/")
    page.keyboard.press("4")
    page.keyboard.press("1")
    page.reload()
    assert chosen(page) == ["q1-helpful=yes", "q1-answer=no", "q2-helpful=no"]
    page.goto(style + "exam-passed/")
    page.goto(style + "exam/")
    assert chosen(page) == []
