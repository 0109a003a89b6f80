"""Forms that load a new page, without a connection and while a new version of the service worker arrives."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from annotator.models import Participation
from annotator.web.views import offline
from tests.e2e import keyboard
from tests.factories import make_participation, make_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "a-long-password-7"


def login_filled(page: Page, base: str) -> None:
    make_participation(make_study(items=2, launched=True), make_user("second"))
    page.goto(f"{base}/login/")
    page.locator("[name=username]").fill("second")
    page.locator("[name=password]").fill(PASSWORD)


@pytest.mark.parametrize("lost", ["the connection", "the server", "one reply of the proxy"])
def test_a_form_that_cannot_be_sent_keeps_what_was_typed(
    lone_page: Page, live_server: LiveServer, lost: str
) -> None:
    page = lone_page
    page.clock.install()
    login_filled(page, live_server.url)
    if lost != "the connection":
        page.clock.fast_forward("02:00")
    if lost == "the connection":
        page.context.set_offline(True)
    elif lost == "the server":
        page.route("**/*", lambda route: route.abort("connectionrefused"))
    else:
        page.route("**/livez", lambda route: route.fulfill(status=502))
    notice = page.locator("[data-not-sent]")
    expect(notice).to_be_hidden()
    page.locator("[name=password]").press("Enter")
    expect(notice).to_be_visible()
    expect(notice).to_contain_text("What you entered is still here")
    assert page.locator("[name=password]").input_value() == PASSWORD
    page.context.set_offline(False)
    page.unroute_all()
    page.locator("[name=password]").press("Enter")
    page.wait_for_url(f"{live_server.url}/me/")


def test_the_pressed_button_is_sent_too(lone_page: Page, live_server: LiveServer) -> None:
    study = make_study(items=2, launched=True, consent_text="Please.")
    page = lone_page
    page.clock.install()
    page.goto(f"{live_server.url}/join/{study.join_token}/")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/consent/")
    page.clock.fast_forward("02:00")
    page.get_by_role("button", name="I don't want to take part").click()
    page.get_by_role("button", name="I don't want to take part").click()
    expect(page.get_by_role("heading", name="You're not taking part")).to_be_visible()
    assert study.participations.get().state == Participation.State.LEFT


def test_a_form_pressed_twice_is_sent_once(lone_page: Page, live_server: LiveServer) -> None:
    page = lone_page
    page.clock.install()
    login_filled(page, live_server.url)
    page.clock.fast_forward("02:00")
    sent: list[Route] = []
    page.route("**/livez", lambda route: sent.append(route))
    page.evaluate("() => { for (const n of [1, 2]) document.querySelector('form.form').requestSubmit() }")
    page.wait_for_timeout(300)
    assert len(sent) == 1
    sent[0].continue_()
    page.wait_for_url(f"{live_server.url}/me/")


def test_a_form_is_sent_while_a_new_worker_waits(
    page: Page, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study(items=2, launched=True)
    page.goto(f"{live_server.url}/join/{study.join_token}/")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Continue").click()
    keyboard.wait_ready(page)
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.context.clear_cookies()
    login_filled(page, live_server.url)

    draw = offline.render

    def changed(*arguments: Any, **named: Any) -> HttpResponse:
        response = draw(*arguments, **named)
        response.content += b"\n/* the next version */\n"
        return response

    monkeypatch.setattr(offline, "render", changed)
    waits = page.evaluate(
        """async () => {
            const found = await navigator.serviceWorker.ready;
            await found.update();
            const next = found.installing ?? found.waiting;
            await new Promise(done => {
                const look = () => ['installed', 'activated', 'redundant'].includes(next.state) && done();
                next.addEventListener('statechange', look);
                look();
            });
            return next.state;
        }"""
    )
    assert waits == "installed", "it takes over when the last page is closed"
    page.locator("[name=password]").press("Enter")
    page.wait_for_url(f"{live_server.url}/me/")
