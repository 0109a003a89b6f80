"""The scripts of the task page against a fake server: drafts, lost connections, reloads."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from annotator.web.style_gallery.stages import BEFORE
from tests.e2e.fake_server import (
    Server,
    chosen,
    gone,
    html,
    open_task,
    reply,
    until,
    until_sent,
    worker_ready,
)

pytestmark = pytest.mark.browser


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


def answered_offline(style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.replies = {"draft": gone, "submit": gone}
    open_task(style, page, monkeypatch)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.locator("[data-network]")).to_contain_text("saved on this device")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_answer_interrupted_by_a_login_is_kept_and_sent_later(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    answered_offline(style, page, server, monkeypatch)
    server.replies = {"draft": reply({"version": 1}), "submit": reply({"stored": False}, status)}
    page.get_by_role("button", name="Try now").click()
    line = page.locator("[data-network]")
    expect(line).to_contain_text("You're no longer logged in. Your answer is saved on this device")
    assert "next=%2Fstyle" in (line.get_by_role("link", name="Log in").get_attribute("href") or "")
    expect(page.locator("input[name=answer][value=no]")).to_be_checked()
    expect(page.locator("[data-words]")).to_have_text("Submit")
    server.replies["submit"] = reply({"stored": True})
    page.reload()
    until_sent(page)
    assert server.of("submit")[-1]["answer"] == ["no"]


def test_the_reason_is_shown_when_an_answer_sent_later_is_refused(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered_offline(style, page, server, monkeypatch)
    refused = {
        "stored": False,
        "kind": "removed",
        "message": "The researchers have ended your participation.",
    }
    server.replies = {"draft": reply({"version": 1}), "submit": reply(refused, 409)}
    page.get_by_role("button", name="Try now").click()
    until_sent(page)
    expect(page.locator("[data-network]")).to_contain_text(
        "The answer saved on this device couldn't be submitted. The researchers have ended your participation."
    )


def test_the_next_page_says_that_an_answer_was_sent(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered_offline(style, page, server, monkeypatch)
    server.replies = {"draft": reply({"version": 1}), "submit": reply({"stored": True})}
    page.evaluate("window.before = true")
    page.get_by_role("button", name="Try now").click()
    until(page, "!window.before && document.readyState === 'complete'")
    expect(page.locator("[data-network]")).to_contain_text("Your answer has been sent")


def test_an_answer_kept_by_an_earlier_version_is_sent(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"submit": reply({"stored": True})}
    open_task(style, page, monkeypatch)
    page.evaluate(
        """localStorage.setItem('foretell.outbox', JSON.stringify([
            { task: '77', stage: '0', url: '/fake/submit', fields: [['stage', '0'], ['answer', 'no']], at: Date.now() }]))"""
    )
    page.reload()
    until_sent(page)
    assert [data["answer"] for data in server.of("submit")] == [["no"]]


def test_two_tabs_send_a_kept_answer_once(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered_offline(style, page, server, monkeypatch)
    server.replies["submit"] = reply({}, 503)
    other = page.context.new_page()
    other.route("**/fake/*", server.answer)
    open_task(style, other, monkeypatch)
    expect(other.locator("[data-network]")).to_contain_text("saved on this device")
    server.sent.clear()
    held: list[Route] = []
    server.replies["submit"] = held.append
    for tab in (page, other):
        tab.get_by_role("button", name="Try now").click()
    page.wait_for_timeout(500)
    assert len(held) == 1, "the other tab waits"
    server.replies["submit"] = reply({"stored": True})
    reply({"stored": True})(held[0])
    for tab in (page, other):
        until_sent(tab)
        until(tab, "!document.querySelector('[data-waiting]')")
    assert len(server.of("submit")) == 1


def test_a_tab_that_is_closed_in_the_middle_of_sending_loses_nothing(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered_offline(style, page, server, monkeypatch)
    other = page.context.new_page()
    other.route("**/fake/*", server.answer)
    sending: list[Route] = []
    server.sent.clear()
    server.replies = {"draft": reply({"version": 1}), "submit": sending.append}
    page.get_by_role("button", name="Try now").click()
    for _ in range(2400):
        if sending:
            break
        page.wait_for_timeout(50)
    page.close()
    server.replies["submit"] = reply({"stored": True})
    open_task(style, other, monkeypatch)
    until_sent(other)
    assert [data["answer"] for data in server.of("submit")] == [["no"], ["no"]], (
        "the server recognises the second"
    )


def test_a_page_that_is_being_closed_begins_to_send_nothing(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered_offline(style, page, server, monkeypatch)
    server.sent.clear()
    page.evaluate("['pagehide', 'online'].forEach(name => window.dispatchEvent(new Event(name)))")
    page.wait_for_timeout(3000)
    assert server.of("submit") == []
    server.replies["submit"] = reply({"stored": True})
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    until_sent(page)


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


def test_a_reload_before_the_server_has_the_draft_keeps_the_answer(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Route] = []
    server.replies = {"draft": waiting.append}
    open_task(style, page, monkeypatch)
    page.keyboard.press("4")
    page.reload()
    assert chosen(page) == ["helpful=yes", "answer=no"]


def test_a_reload_without_a_connection_says_so(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": reply({"version": 1}), "submit": html(BEFORE)}
    open_task(style, page, monkeypatch)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Stonehenge")).to_be_visible()
    worker_ready(page)
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


def test_a_reload_without_a_connection_before_the_first_answer_says_so(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_task(style, page, monkeypatch)
    worker_ready(page)
    page.context.set_offline(True)
    page.reload()
    expect(page.get_by_role("heading", name="You're offline")).to_be_visible()
    page.context.set_offline(False)


def test_the_button_does_not_say_submitting_while_there_is_no_connection(
    style: str, page: Page, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.replies = {"draft": gone, "submit": gone}
    open_task(style, page, monkeypatch)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.locator("[data-words]")).to_have_text("Waiting for the connection")
    expect(page.locator("[data-network]")).to_contain_text("Your answer is saved on this device")
