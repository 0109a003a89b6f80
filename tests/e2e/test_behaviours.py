"""The scripts of the task page against a fake server: submitting, time left, undo, signals."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, Route, expect

from annotator.web.style_gallery.samples import screens
from annotator.web.style_gallery.stages import BEFORE
from tests.e2e.fake_server import (
    Server,
    html,
    open_task,
    reply,
    soon,
)

pytestmark = pytest.mark.browser


def test_a_hidden_step_is_not_sent(
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
    soon(lambda: waiting, page)
    html(BEFORE)(waiting[0])
    expect(page.get_by_text("Stonehenge")).to_be_visible()
    assert len(server.of("submit")) == 1


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


def test_undo_disappears_after_its_time(style: str, lone_page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    began = datetime(2026, 3, 1, 12, tzinfo=UTC)
    lone_page.clock.install(time=began)
    lone_page.clock.pause_at(
        began + timedelta(seconds=1)
    )  # or a busy machine takes longer than the time for undo
    open_task(style, lone_page, monkeypatch, saved=True, undo_url="/fake/undo")
    assert lone_page.get_by_role("button", name="Undo").is_visible()
    lone_page.clock.fast_forward(10_500)
    assert not lone_page.get_by_role("button", name="Undo").is_visible()


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
