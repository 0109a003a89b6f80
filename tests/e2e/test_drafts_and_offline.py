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
